package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/shape"
)

// The ids of these checks that other ones refer to.
const (
	idSchedules = "D011"
	idStreams   = "D030"
	idReplicas  = "D032"

	idUndeclared = "D033"
)

// The checks of the space's streams and buckets.
func streamChecks() []check {
	return []check{
		{idSchedules, "schedules usable", judgeSchedules},
		{idStreams, "streams present", judgeStreams},
		{"D031", "stream settings", judgeSettings},
		{idReplicas, "stream replicas", judgeReplicas},
		{idUndeclared, "undeclared streams", judgeUndeclared},
	}
}

// finding is what a check has to say of one account beside a pass.
type finding struct {
	rows   []Result
	got    string    // of the pass where there is nothing else to say
	unseen blindness // what the check could not look at
}

// perHolding is a check's rows for every account of the space: those that look has, and a skip for what it could not look at, else a
// pass. A check with nothing to look at in any account is not listed.
func (j *judging) perHolding(want string, look func(h *holding) finding) []Result {
	if j.expect.Shape == nil {
		return nil
	}
	var out []Result
	for _, h := range j.holdings() {
		f := finding{unseen: h.unseen}
		if !h.absent {
			f = look(h)
		}
		whole := Result{Object: "account " + h.account, Status: Skip, Got: f.unseen.why, Want: want, Hint: f.unseen.hint}
		for _, r := range f.rows {
			if r.Want == "" {
				r.Want = want
			}
			out = append(out, r)
		}
		switch {
		case f.unseen.why != "":
			out = append(out, whole)
		case !slices.ContainsFunc(f.rows, func(r Result) bool { return r.Status != Pass }) && f.got != "":
			whole.Status, whole.Got = Pass, f.got
			out = append(out, whole)
		}
	}
	return out
}

// perDeclared is perHolding for what can only be said of an account with declared streams.
func (j *judging) perDeclared(want string, look func(h *holding) finding) []Result {
	return j.perHolding(want, func(h *holding) finding {
		if len(j.declared(h)) == 0 {
			return finding{}
		}
		return look(h)
	})
}

// declared are the streams of an account, by name.
func (j *judging) declared(h *holding) []shape.Stream {
	var out []shape.Stream
	for _, s := range j.expect.Shape.Streams {
		if s.Account == h.account {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b shape.Stream) int { return compareText(a.Name, b.Name) })
	return out
}

// at is a row's server; "" is none.
func at(server string) *string {
	if server == "" {
		return nil
	}
	return &server
}

// judgeStreams asks whether every declared stream exists. One that no server shows may stand on a server that was not heard.
func judgeStreams(j *judging) []Result {
	return j.perDeclared("every declared stream and bucket", func(h *holding) finding {
		var f finding
		declared := j.declared(h)
		for _, d := range declared {
			if h.streams[d.Name] != nil {
				continue
			}
			r := Result{Object: "stream " + d.Name, Status: Fail, Got: "absent",
				Hint: "cotalctl provision space makes it anew, without what it held: find out first who deleted it"}
			if h.unseen.why != "" {
				r.Status, r.Got, r.Hint = Skip, "not seen: "+h.unseen.why, h.unseen.hint
			}
			f.rows = append(f.rows, r)
		}
		f.got = plural(len(declared), "stream") + " present"
		return f
	})
}

// judgeSettings compares what the leader of every declared stream holds with the declaration, and what every other server holds with
// the leader's. Schedules that are off are D011's to say.
func judgeSettings(j *judging) []Result {
	return j.perDeclared("the declared settings (held → declared)", func(h *holding) finding {
		f := finding{unseen: h.unseen}
		n := 0
		for _, d := range j.declared(h) {
			s := h.streams[d.Name]
			if s == nil {
				continue
			}
			held, server := s.any()
			if held == nil || s.offline() != "" {
				continue // D032 says so
			}
			n++
			if r, differs := drift(d, held.Config); differs {
				r.Server = at(server)
				f.rows = append(f.rows, r)
			}
			for _, c := range s.copies {
				changes := shape.Diff(c.Config, held.Config)
				if c.server == server || len(changes) == 0 {
					continue
				}
				f.rows = append(f.rows, Result{Object: "stream " + d.Name, Status: Fail, Server: at(c.server), Got: texts(changes, nil),
					Want: "the settings of its leader" + on(server) + " (held → the leader's)",
					Hint: "its copy is stale: restart this server, and see whether it follows the leader then"})
			}
		}
		if n > 0 { // D030 says why there is none
			f.got = plural(n, "stream") + " as declared"
		}
		return f
	})
}

func on(server string) string {
	if server == "" {
		return ""
	}
	return " on " + server
}

// drift is the row of a stream whose settings are not the declared ones.
func drift(d shape.Stream, held shape.Config) (Result, bool) {
	changes := slices.DeleteFunc(shape.Diff(held, d.Config), func(c shape.Change) bool { return c.Field == schedules && c.New == true })
	if len(changes) == 0 {
		return Result{}, false
	}
	r := Result{Object: "stream " + d.Name, Status: Fail, Got: texts(changes, d.Protect),
		Hint: "find out who changed it; cotalctl provision space --plan shows the same difference, and without --plan it is changed back"}
	if slices.ContainsFunc(changes, shape.Irreversible) {
		r.Hint = "the broker refuses to change this back: find out who made it so, move what it holds, and provision it anew"
	}
	return r, true
}

// texts writes changes for a person, those of protected settings as such.
func texts(changes []shape.Change, protected []string) string {
	var out []string
	for _, c := range changes {
		text := c.String()
		if slices.Contains(protected, c.Field) {
			text += " (protected)"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

const (
	schedules      = "allow_msg_schedules"
	schedulesLevel = 2 // the API level that admits schedules (nats-server jetstream_versioning.go)
)

// judgeSchedules asks of every stream that is declared with schedules whether it has them, on servers that admit them.
func judgeSchedules(j *judging) []Result {
	return j.perDeclared("schedules on, at API level 2 or above", func(h *holding) finding {
		var f finding
		n := 0
		for _, d := range j.declared(h) {
			if d.Config[schedules] != true {
				continue
			}
			n++
			f.rows = append(f.rows, j.scheduled(h, d)...)
		}
		if n == 0 {
			return finding{}
		}
		f.unseen, f.got = h.unseen, plural(n, "stream")+" with schedules"
		return f
	})
}

func (j *judging) scheduled(h *holding, d shape.Stream) []Result {
	row := Result{Object: "stream " + d.Name, Status: Skip}
	s := h.streams[d.Name]
	if s == nil {
		row.Got, row.Hint = "absent", "see "+idStreams
		return []Result{row}
	}
	held, server := s.any()
	if held == nil || s.offline() != "" {
		row.Got, row.Hint = "offline", "see "+idReplicas
		return []Result{row}
	}
	var out []Result
	if held.Config[schedules] != true {
		row.Status, row.Server, row.Got = Fail, at(server), "schedules off"
		row.Hint = "find out who turned them off and turn them on again: what a client schedules is refused, and what was armed does not fire"
		out = append(out, row)
	}
	for _, c := range s.copies {
		for _, m := range j.view.members {
			if m.Name != c.server || m.varz == nil || m.varz.JetStream == nil || m.varz.JetStream.APILevel >= schedulesLevel {
				continue
			}
			low := Result{Object: "stream " + d.Name, Status: Fail, Server: at(c.server), Got: fmt.Sprintf("API level %d", m.varz.JetStream.APILevel),
				Hint: "upgrade nats-server on this server: it would take the stream offline"}
			if _, status, _ := lookFloor(m.Version, j.floors.Version); j.floors.Version != "" && status != Pass {
				low.Status, low.Hint = Skip, "see D002"
			} else if j.expect.APILevel >= schedulesLevel {
				low.Status, low.Hint = Skip, "see D010"
			}
			out = append(out, low)
		}
	}
	return out
}

// judgeUndeclared names the streams of a space's account that the contract does not know.
func judgeUndeclared(j *judging) []Result {
	return j.perHolding("declared streams alone", func(h *holding) finding {
		f := finding{unseen: h.unseen, got: "none"}
		known := map[string]bool{}
		for _, d := range j.declared(h) {
			known[d.Name] = true
		}
		for _, name := range h.names() {
			if known[name] {
				continue
			}
			held, server := h.streams[name].any()
			r := Result{Object: "stream " + name, Status: Fail, Server: at(server), Got: "in account " + h.account,
				Hint: "find out who made it, and delete it: what it captures is acknowledged and kept where no row of the contract reaches"}
			if held != nil {
				r.Got += ", " + captures(held)
			}
			if name == j.expect.Scratch {
				r.Hint = "a schedule is being proved there, or a proof was killed: run cotalctl doctor --active once, which takes it and removes it"
			}
			f.rows = append(f.rows, r)
		}
		return f
	})
}

// captures says what a stream takes in.
func captures(s *Stream) string {
	for _, field := range []string{"mirror", "sources"} {
		if v := s.Config[field]; v != nil {
			return (shape.Change{Field: field, New: v}).String()
		}
	}
	subjects, _ := s.Config["subjects"].([]any)
	var out []string
	for _, v := range subjects {
		out = append(out, fmt.Sprint(v))
	}
	return "captures " + strings.Join(out, ", ")
}
