package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cotalctl/cotalctl/internal/shape"
)

// Floors are what every server must at least offer. A zero field asks for nothing, and its check is not listed.
type Floors struct {
	Version     string // lowest version, such as "2.12"
	Hardened    string // below this version a passed check carries a hint
	ControlLine int    // bytes: the largest CONNECT line with its margin
	Payload     int    // bytes
}

// Expect is what the operator knows about the deployment. A zero field asks for nothing, and its checks are not listed.
type Expect struct {
	Servers  int            // servers of the connection's cluster; 0: the answers must prove their own completeness
	Clusters map[string]int // the same for each further cluster by name
	Named    []string       // servers whose addresses the operator states: one that is none of them is a slip

	Shape        *shape.Space      // what the space's accounts hold
	Keys         map[string]string // public keys of these accounts, by the names of the topology
	Scratch      string            // stream in which a schedule is proved, see [Scratch]
	Proof        bool              // something relies on the single-server proof; where it does not hold is worth a note
	SingleServer bool              // the single-server proof must hold

	Accounts       []ExpectAccount // of those that were looked into
	SystemProfiles []string        // profiles of the contract that stand in the system account
	Credentials    []Credential    // files that the operator keeps

	Storage       int64           // bytes of files that the streams of the space with max_bytes may take on one server
	Memory        int64           // the same of memory
	AckPending    int             // largest max_ack_pending of a consumer
	Duplicates    time.Duration   // longest duplicate window of a stream
	HAAssets      int             // replicated streams and consumers of the space that may be on one server
	APILevel      int             // of JetStream, that what the contract uses needs
	AuthTimeout   time.Duration   // that an answer of the auth callout may need
	LeafAccounts  map[string]bool // by public key of an account of the space: it admits leaf nodes. Of one unknown, it may
	SystemAccount string          // public key
	Operator      string          // public key of the only operator to trust
	EqualConfig   bool            // every server is meant to have one and the same configuration file
}

// judging is what a check reads.
type judging struct {
	snap   *Snapshot
	view   *view
	floors Floors
	expect Expect

	space []*holding // what the space's accounts hold; nil: not read yet
	open  []string   // streams on which the contract leaves the names of consumers to whoever makes them
}

// check is one entry of the closed list of checks. judge gives no row where the check was not asked for or cannot apply.
type check struct {
	id, title string
	judge     func(j *judging) []Result
}

// checks are the closed list, by id.
func checks() []check {
	all := slices.Concat(fanOutChecks(), floorChecks(), settingsChecks(), accountChecks(), streamChecks(), consumerChecks(), proofChecks(),
		credentialChecks(), activeChecks())
	slices.SortFunc(all, func(a, b check) int { return compareText(a.id, b.id) })
	return all
}

// Judge compares a snapshot with the floors and with what is expected. It reads no clock and no network: the same input gives the
// same report.
func Judge(s *Snapshot, f Floors, e Expect) *Report {
	j := &judging{snap: s, view: newView(s), floors: f, expect: e}
	j.view.heed(s.Accounts)
	r := &Report{Schema: ReportSchema, Checks: []Result{}, Servers: []ReportServer{}}
	if !s.Taken.IsZero() {
		r.Taken = s.Taken.Format(time.RFC3339)
	}
	for _, m := range j.view.members {
		r.Servers = append(r.Servers, ReportServer{ID: m.ID, Name: m.Name, Version: m.Version})
	}
	why := blind(s, j.view)
	for _, c := range checks() {
		var rows []Result
		if why != "" {
			rows = j.unseen(c, why)
		} else {
			rows = c.judge(j)
		}
		slices.SortStableFunc(rows, func(a, b Result) int { return cmp.Compare(serverOf(a), serverOf(b)) })
		for _, row := range rows {
			row.ID, row.Title = c.id, c.title
			r.Checks = append(r.Checks, row)
		}
	}
	if why == "" {
		r.conclude(j)
	}
	return r
}

func serverOf(r Result) string {
	if r.Server == nil {
		return ""
	}
	return *r.Server
}

// conclude says how many servers there are and whether all of them answered.
func (r *Report) conclude(j *judging) {
	v := j.view
	r.Complete = true
	for _, c := range r.Checks {
		r.Complete = r.Complete && (c.ID != idFanOut || c.Status == Pass)
	}
	r.ExpectedServers = j.expect.of(v, v.home)
	if c := v.clusters[v.home]; r.ExpectedServers == 0 && r.Complete && c != nil {
		r.ExpectedServers = len(c.members)
	}
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

// unseen is the row of a check that was asked for and could not look, as it would have one with a server of whom nothing is known.
func (j *judging) unseen(c check, why string) []Result {
	nobody := &view{clusters: map[string]*cluster{}, members: []*member{{err: &APIError{}}}}
	probe := &judging{snap: j.snap, view: nobody, floors: j.floors, expect: j.expect}
	if len(c.judge(probe)) == 0 {
		return nil
	}
	hint := hintCredential
	if why == j.snap.Interrupted {
		hint = "run again; the log of the server may say why it hung up"
	}
	return []Result{{Status: Skip, Got: why, Want: "an answer of every server to " + j.snap.Varz.Subject, Hint: hint}}
}

// look reads one good VARZ answer: what was got, the status and what to do. An empty status is no row: the check cannot apply there.
type look func(m *member) (got string, status Status, hint string)

// perServer is a check's row for every server. An answer that cannot be read is no verdict on the setting.
func (j *judging) perServer(want string, look look) []Result {
	return j.rows(j.view.members, want, look)
}

// perServing is perServer without the leaf servers that serve no account of the space.
func (j *judging) perServing(want string, look look) []Result {
	return j.rows(j.serving(), want, look)
}

func (j *judging) rows(members []*member, want string, look look) []Result {
	var out []Result
	for _, m := range members {
		r := Result{Server: &m.Name, Want: want, Status: Skip}
		if r.Got, r.Hint = m.unreadable(); r.Got == "" {
			r.Got, r.Status, r.Hint = look(m)
		}
		if r.Status != "" {
			out = append(out, r)
		}
	}
	return out
}

// unreadable says why nothing that this server said counts, with what to do; "" where it counts.
func (m *member) unreadable() (why, hint string) {
	switch {
	case m.conflict:
		return "two differing answers", "see " + idFanOut
	case m.stranger:
		return "an answer of a server to which no connection leads", "see " + idFanOut
	case m.malformed != "":
		return "a malformed answer: " + m.malformed, "see " + idFanOut
	case m.err != nil:
		return fmt.Sprintf("error %d: %s", m.err.Code, m.err.Description), "the server answered with an error; its log says why"
	}
	return "", ""
}
