package doctor

import (
	"cmp"
	"fmt"
	"slices"
)

// Floors are what every server must at least offer. A zero field asks for nothing, and its check is not listed.
type Floors struct {
	Version     string // lowest version, such as "2.12"
	Hardened    string // below this version a passed check carries a hint
	ControlLine int    // bytes: the largest CONNECT line with its margin
	Payload     int    // bytes
}

// Expect is what the operator knows about the deployment.
type Expect struct {
	Servers  int            // servers of the connection's cluster; 0: the answers must prove their own completeness
	Clusters map[string]int // the same for each further cluster by name
}

// Judge compares a snapshot with the floors. It reads no clock and no network: the same input gives the same report.
func Judge(s *Snapshot, f Floors, e Expect) *Report {
	v := newView(s)
	r := &Report{Schema: ReportSchema, Checks: []Result{}, Servers: []ReportServer{}}
	for _, m := range v.members {
		r.Servers = append(r.Servers, ReportServer{ID: m.ID, Name: m.Name, Version: m.Version})
	}
	if why := blind(s, v); why != "" {
		r.skipAll(f, why)
		return r
	}
	r.Checks = append(r.Checks, judgeFanOut(s, v, e)...)
	r.Complete = r.Count(Pass) == len(r.Checks)
	r.ExpectedServers = e.of(v, v.home)
	if c := v.clusters[v.home]; r.ExpectedServers == 0 && r.Complete && c != nil {
		r.ExpectedServers = len(c.members)
	}
	for _, c := range perServer(f) {
		for _, m := range v.members {
			r.Checks = append(r.Checks, c.judge(m))
		}
	}
	slices.SortStableFunc(r.Checks, func(a, b Result) int { return cmp.Compare(a.ID, b.ID) })
	return r
}

// of is the number of servers that the operator states for a cluster; 0 is none.
func (e Expect) of(v *view, cluster string) int {
	if n := e.Clusters[cluster]; n > 0 {
		return n
	}
	if cluster == v.home {
		return e.Servers
	}
	return 0
}

// blind says why the snapshot shows nothing at all, or "".
func blind(s *Snapshot, v *view) string {
	switch {
	case s.Schema != SnapshotSchema:
		return fmt.Sprintf("snapshot schema %q is not %q", s.Schema, SnapshotSchema)
	case len(v.members) > 0 || len(s.Varz.Answers) > 0:
		return ""
	case s.Varz.Refused != "":
		return s.Varz.Refused
	case s.Interrupted != "":
		return s.Interrupted
	}
	return "no server answered within the timeout"
}

const hintCredential = "use a credential of the system account, with the permissions of the profile doctor"

func (r *Report) skipAll(f Floors, why string) {
	ids := []string{idFanOut}
	for _, c := range perServer(f) {
		ids = append(ids, c.id)
	}
	for _, id := range ids {
		r.Checks = append(r.Checks, Result{ID: id, Title: title(id), Status: Skip, Got: why,
			Want: "an answer of every server to " + SubjectVarz, Hint: hintCredential})
	}
}

// serverCheck is a check that reads one server's answer alone.
type serverCheck struct {
	id   string
	want string
	// look compares one good answer: what was got, whether it passes, and what to do.
	look func(m *member) (got string, status Status, hint string)
}

// perServer are the checks that the floors ask for, by id.
func perServer(f Floors) []serverCheck {
	var out []serverCheck
	if f.Version != "" {
		out = append(out, serverCheck{idFloor, ">= " + f.Version, func(m *member) (string, Status, string) {
			return lookFloor(m.Version, f.Version)
		}})
	}
	if f.Hardened != "" {
		out = append(out, serverCheck{idHardened, ">= " + f.Hardened + " (advice)", func(m *member) (string, Status, string) {
			return lookHardened(m.Version, f.Hardened)
		}})
	}
	if f.ControlLine > 0 {
		out = append(out, atLeast(idControlLine, f.ControlLine, "max_control_line", func(v *Varz) int { return v.MaxControlLine }))
	}
	if f.Payload > 0 {
		out = append(out, atLeast(idPayload, f.Payload, "max_payload", func(v *Varz) int { return v.MaxPayload }))
	}
	return append(out, serverCheck{idJetStream, "enabled", lookJetStream})
}

// atLeast compares a size of VARZ, in bytes, with its floor.
func atLeast(id string, floor int, setting string, read func(*Varz) int) serverCheck {
	return serverCheck{id, fmt.Sprintf(">= %d", floor), func(m *member) (string, Status, string) {
		got := read(m.varz)
		if got >= floor {
			return fmt.Sprint(got), Pass, ""
		}
		return fmt.Sprint(got), Fail, fmt.Sprintf("set %s: %d in this server's configuration, then reload or restart it", setting, floor)
	}}
}

func lookJetStream(m *member) (string, Status, string) {
	if m.varz.JetStream {
		return "enabled", Pass, ""
	}
	return "disabled", Fail, "add a jetstream block with a store_dir to this server's configuration and restart it"
}

// judge is the row of one server. An answer that cannot be read is no verdict on the setting.
func (c serverCheck) judge(m *member) Result {
	r := Result{ID: c.id, Title: title(c.id), Server: &m.Name, Want: c.want, Status: Skip}
	switch {
	case m.conflict:
		r.Got, r.Hint = "two differing answers", "see "+idFanOut
	case m.malformed != "":
		r.Got, r.Hint = "a malformed answer: "+m.malformed, "see "+idFanOut
	case m.err != nil:
		r.Got = fmt.Sprintf("error %d: %s", m.err.Code, m.err.Description)
		r.Hint = "the server answered with an error; its log says why"
	default:
		r.Got, r.Status, r.Hint = c.look(m)
	}
	return r
}
