package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/shape"
)

const idPush = "D036"

// The checks of the consumers of the space.
func consumerChecks() []check {
	return []check{
		{"D034", "durables", judgeDurables},
		{"D035", "undeclared consumers", judgeUndeclaredConsumers},
		{idPush, "push consumers", judgePush},
		{"D037", "consumer health", judgeConsumerHealth},
	}
}

func (c heldConsumer) object() string { return "consumer " + c.stream + "/" + c.Name }

// eachConsumer calls look for every consumer that was seen on the streams that pass, and says what was not seen.
func (h *holding) eachConsumer(pass func(stream string) bool, look func(c heldConsumer)) (unseen blindness) {
	unseen = h.unseen
	for _, name := range h.names() {
		if !pass(name) {
			continue
		}
		s := h.streams[name]
		for _, c := range s.consumers {
			look(c)
		}
		if unseen.why == "" {
			unseen = s.unseen
		}
	}
	return unseen
}

// known says which streams of an account are declared.
func (j *judging) known(h *holding) func(stream string) bool {
	names := map[string]bool{}
	for _, d := range j.declared(h) {
		names[d.Name] = true
	}
	return func(stream string) bool { return names[stream] }
}

// judgeDurables asks whether every durable that stands with the space is there, and whether every consumer with a declared name is
// what its declaration makes of that name. Those that push are D036's.
func judgeDurables(j *judging) []Result {
	return j.perDeclared("every declared durable, with its settings (held → declared)", func(h *holding) finding {
		var f finding
		n := 0
		f.unseen = h.eachConsumer(j.known(h), func(c heldConsumer) {
			declared := j.expect.Shape.Recognize(h.account, c.stream, c.Name)
			if len(declared) == 0 || c.push() != "" {
				return
			}
			n++
			d, changes := closest(declared, c.Config)
			if len(changes) == 0 {
				return
			}
			f.rows = append(f.rows, Result{Object: c.object(), Status: Fail, Server: at(c.server), Got: texts(changes, nil),
				Want: "what " + d.ID + " declares (held → declared)",
				Hint: "find out who made it so; delete it, and have its owner, or cotalctl provision, make it anew"})
		})
		for _, d := range j.expect.Shape.Durables {
			if d.Account == h.account {
				f.rows = append(f.rows, h.standing(d)...)
			}
		}
		f.got = plural(n, "consumer") + " as declared"
		return f
	})
}

// closest is the declaration that a configuration differs from the least.
func closest(declared []shape.Consumer, held shape.Config) (*shape.Consumer, []shape.Change) {
	best, changes := &declared[0], differs(&declared[0], held)
	for i := range declared {
		if c := differs(&declared[i], held); len(c) < len(changes) {
			best, changes = &declared[i], c
		}
	}
	return best, changes
}

// differs are the differences of a consumer from its declaration. Whoever makes an ephemeral one for a single read may read less than
// all, and may have it end sooner.
func differs(d *shape.Consumer, held shape.Config) []shape.Change {
	return slices.DeleteFunc(d.Diff(held), func(c shape.Change) bool {
		switch c.Field {
		case "deliver_policy", "opt_start_seq", "opt_start_time":
			return d.Ephemeral
		case "inactive_threshold":
			return d.Ephemeral && shape.Number(c.Old) > 0 && shape.Number(c.Old) < shape.Number(c.New)
		}
		return false
	})
}

// standing is the row of a durable that stands with the space and is not there.
func (h *holding) standing(d shape.Consumer) []Result {
	r := Result{Object: "consumer " + d.Stream + "/" + d.Name, Status: Skip}
	s := h.streams[d.Stream]
	switch {
	case s == nil:
		r.Got, r.Hint = "its stream is absent", "see "+idStreams
	case slices.ContainsFunc(s.consumers, func(c heldConsumer) bool { return c.Name == d.Name }):
		return nil
	case s.unseen.why != "":
		r.Got, r.Hint = "not seen: "+s.unseen.why, s.unseen.hint
	default:
		r.Status, r.Got = Fail, "absent"
		r.Hint = "cotalctl provision space makes it anew: find out first who deleted it, and what was not delivered since"
	}
	return []Result{r}
}

// judgeUndeclaredConsumers names the consumers of declared streams whose name fits no declaration. On a stream where the contract
// leaves the name to a client library, one without a durable name is that.
func judgeUndeclaredConsumers(j *judging) []Result {
	return j.perDeclared("consumers with declared names alone", func(h *holding) finding {
		var f finding
		n := 0
		f.unseen = h.eachConsumer(j.known(h), func(c heldConsumer) {
			switch {
			case c.push() != "" || len(j.expect.Shape.Recognize(h.account, c.stream, c.Name)) > 0:
			case slices.Contains(j.open, c.stream) && !c.durable():
				n++
			default:
				what := "ephemeral"
				if c.durable() {
					what = "durable"
				}
				f.rows = append(f.rows, Result{Object: c.object(), Status: Fail, Server: at(c.server), Got: what + ", " + filters(c.Config),
					Hint: "find out who made it, and delete it: it reads the stream, and no row of the contract lets anybody make it"})
			}
		})
		f.got = "none"
		if n > 0 {
			f.got += fmt.Sprintf("; %s under names of client libraries", plural(n, "ephemeral"))
		}
		return f
	})
}

// filters say what a consumer reads.
func filters(c shape.Config) string {
	var out []string
	if s, _ := c["filter_subject"].(string); s != "" {
		out = append(out, s)
	}
	list, _ := c["filter_subjects"].([]any)
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	if len(out) == 0 {
		return "reads everything"
	}
	return "reads " + strings.Join(out, ", ")
}

// judgePush names the consumers that deliver by themselves. A client library's watch does so, to its own inbox, where the contract
// leaves the name of a consumer to it.
func judgePush(j *judging) []Result {
	return j.perHolding("no consumer that delivers to a subject", func(h *holding) finding {
		var f finding
		n := 0
		f.unseen = h.eachConsumer(func(string) bool { return true }, func(c heldConsumer) {
			to := c.push()
			switch {
			case to == "":
			case slices.Contains(j.open, c.stream) && !c.durable() && strings.HasPrefix(to, "_INBOX"):
				n++
			default:
				f.rows = append(f.rows, Result{Object: c.object(), Status: Fail, Server: at(c.server), Got: "delivers to " + to,
					Hint: "find out who made it, and delete it: it sends what the stream holds to that subject with the broker's own authority"})
			}
		})
		f.got = "none"
		if n > 0 {
			f.got += fmt.Sprintf("; %s of client libraries", plural(n, "watcher"))
		}
		return f
	})
}

// judgeConsumerHealth asks of every durable whether it has a leader and fit replicas, and notes one whose holder is at its bound.
func judgeConsumerHealth(j *judging) []Result {
	return j.perDeclared(fmt.Sprintf("a leader, and every replica within %d operations of it", mostLag), func(h *holding) finding {
		var f finding
		n := 0
		var away blindness
		f.unseen = h.eachConsumer(j.known(h), func(c heldConsumer) {
			if !c.durable() {
				return
			}
			n++
			state := h.consumerState(c)
			switch {
			case len(state.faults) > 0:
				f.rows = append(f.rows, Result{Object: c.object(), Status: Fail, Server: at(c.server), Got: strings.Join(state.faults, "; "),
					Hint: "the log of the server that is named says why"})
			case state.away.why != "":
				away = state.away
			case c.AckPending > 0 && int64(c.AckPending) >= shape.Number(c.Config["max_ack_pending"]) && shape.Number(c.Config["max_ack_pending"]) > 0:
				f.rows = append(f.rows, Result{Object: c.object(), Status: Pass, Server: at(c.server),
					Got:  fmt.Sprintf("%d messages wait for an acknowledgement, its bound; %d more wait for that", c.AckPending, c.Pending),
					Hint: "see whether its holder is alive: nothing more is delivered until it acknowledges"})
			}
		})
		if f.unseen.why == "" {
			f.unseen = away
		}
		f.got = plural(n, "durable") + " led and current"
		return f
	})
}

// consumerState is the state of a durable's servers. A stream without a leader has none for its consumers either: D032 says so.
func (h *holding) consumerState(c heldConsumer) groupState {
	switch {
	case c.Group == nil:
		return groupState{} // on a server without a cluster
	case c.Group.Leader == "" || !c.leads:
		if state, _ := h.replicas(h.streams[c.stream]); len(state.faults) > 0 || state.away.why != "" {
			return groupState{away: blindness{"the stream of " + c.object() + " is not fit", "see " + idReplicas}}
		}
		if h.unseen.why != "" {
			return groupState{away: h.unseen}
		}
		if c.Group.Leader == "" {
			return groupState{faults: []string{"no leader"}}
		}
		return groupState{away: blindness{c.Group.Leader + " is named as the leader of " + c.object() + ", and does not lead", hintMoving}}
	}
	return h.group(c.Group, shape.Number(c.Config["num_replicas"]))
}
