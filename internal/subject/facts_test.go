package subject_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// The facts P1 to P15: what the broker does with one small permission set. Each step states the measured answer; it is asked of an
// embedded server and of the model.

// step is one operation, "SUB foo", "QSUB foo q" or "PUB foo", and the answer: ok, refused or invalid. After an accepted
// subscription the messages are published by another user and must be delivered or withheld.
type step struct {
	do, answer         string
	delivers, withheld []string
}

const (
	ok      = "ok"
	refused = "refused"
	invalid = "invalid"
)

func pubAllow(entries ...string) subject.Texts { return subject.Texts{Allow: entries} }
func subLists(allow []string, deny ...string) subject.Texts {
	return subject.Texts{Allow: allow, Deny: deny}
}

func checkFact(t *testing.T, pub, sub subject.Texts, steps ...step) {
	t.Helper()
	s := natstest.Start(t)
	r := s.Raw(t, s.User(t, jwtPerms(pub, sub)))
	other := s.Raw(t, s.User(t, jwt.Permissions{}))
	model, _ := subject.Read(pub, sub)
	if len(steps) == 0 {
		t.Fatal("got no steps, want at least one")
	}
	for _, st := range steps {
		f := strings.Fields(st.do)
		var decision subject.Decision
		var line, queue string
		switch f[0] {
		case "PUB":
			decision, line = model.CanPublish(f[1]), natstest.PubOp(f[1], "", "")
		default:
			queue = strings.Join(f[2:], "")
			decision, line = model.CanSubscribe(f[1], queue), natstest.SubOp(f[1], queue, "1")
		}
		reply := r.Do(line)[0]
		if diff := cmp.Diff([]string{st.answer, st.answer}, []string{answer(reply.Errs), modelAnswer(decision)}); diff != "" {
			t.Errorf("%s: broker and model (-want +got):\n%s%q %+v", st.do, diff, reply.Errs, decision)
		}
		for _, m := range st.delivers {
			checkDelivery(t, r, other, model, f[1], queue, m, true)
		}
		for _, m := range st.withheld {
			checkDelivery(t, r, other, model, f[1], queue, m, false)
		}
		r.Do("UNSUB 1")
	}
}

func answer(errs []string) string {
	switch {
	case len(errs) == 0:
		return ok
	case errs[0] == "Invalid Subject":
		return invalid
	case strings.HasPrefix(errs[0], "Permissions Violation"):
		return refused
	}
	return errs[0]
}

func modelAnswer(d subject.Decision) string {
	switch {
	case d.Allowed:
		return ok
	case d.List == subject.Protocol:
		return invalid
	}
	return refused
}

func checkDelivery(t *testing.T, r, other *natstest.Raw, model subject.Permissions, sub, queue, message string, want bool) {
	t.Helper()
	if errs := other.Do(natstest.PubOp(message, "", "x"))[0].Errs; len(errs) > 0 {
		t.Fatalf("PUB %s by another user: %q", message, errs)
	}
	got := r.Flush().Msgs
	if (len(got) == 1) != want || model.Delivers(sub, queue, message) != want {
		t.Errorf("%s to SUB %s %s: broker delivers %d, model says %v, want delivery %v",
			message, sub, queue, len(got), model.Delivers(sub, queue, message), want)
	}
}

func TestP1(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{"foo.*"}),
		step{"SUB foo.>", ok, []string{"foo.a", "foo.a.b"}, nil},
		step{do: "SUB foo.a", answer: ok},
		step{do: "SUB foo.a.b", answer: refused},
		step{do: "SUB >", answer: refused},
	)
	checkFact(t, subject.Texts{}, subLists([]string{"*.*", "x.y.*"}), // trailing stars generally
		step{"SUB *.>", ok, []string{"a.b", "a.b.c.d"}, []string{"a"}},
		step{"SUB x.y.>", ok, []string{"x.y.z.z"}, nil},
		step{do: "SUB x.y", answer: ok},
		step{do: "SUB x.q.z", answer: refused},
	)
}

func TestP2(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{"foo.*"}, "foo.*.>"),
		step{"SUB foo.>", ok, []string{"foo.a"}, []string{"foo.a.b", "foo.a.b.c"}},
		step{"SUB foo.*", ok, []string{"foo.a"}, []string{"foo.a.b"}},
	)
	checkFact(t, subject.Texts{}, subLists([]string{"foo.* q"}, "foo.*.> q"),
		step{"QSUB foo.> q", ok, []string{"foo.a"}, []string{"foo.a.b"}},
		step{do: "QSUB foo.> r", answer: refused},
	)
	closing, _ := subject.Closing(subject.Entry{Pattern: "foo.*", Queue: "q"})
	if got := closing.String(); got != "foo.*.> q" {
		t.Errorf("closing deny: got %q, want the one that was measured", got)
	}
}

func TestP3(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{"foo.*", "bar"}, "foo.>"),
		step{do: "SUB foo.*", answer: refused},
		step{do: "SUB foo.a", answer: refused},
		step{"SUB bar", ok, []string{"bar"}, nil},
	)
}

func TestP4(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{"foo.bar"}),
		step{do: "SUB foo.*", answer: refused},
		step{"SUB foo.bar", ok, []string{"foo.bar"}, nil},
	)
}

func TestP5(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{"chat.*.*.team"}),
		step{do: "SUB chat.*.*.>", answer: refused},
		step{"SUB chat.*.*.team", ok, []string{"chat.a.b.team"}, []string{"chat.a.b.other"}},
	)
}

func TestP6(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{"foo q"}),
		step{do: "SUB foo", answer: refused},
		step{"QSUB foo q", ok, []string{"foo"}, nil},
		step{do: "QSUB foo other", answer: refused},
	)
	checkFact(t, subject.Texts{}, subLists([]string{"foo v1.*"}), // a queue part takes wildcards
		step{do: "QSUB foo v1.a", answer: ok},
		step{do: "QSUB foo v1.*", answer: ok},
		step{do: "QSUB foo v1.>", answer: refused},
		step{do: "QSUB foo v2.a", answer: refused},
	)
}

func TestP7(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{"foo"}),
		step{"QSUB foo q", ok, []string{"foo"}, nil},
		step{do: "QSUB bar q", answer: refused},
		step{do: "QSUB foo _sys_", answer: refused},
	)
}

func TestP8(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{"foo q", "foo"}),
		step{do: "QSUB foo other", answer: refused},
		step{do: "QSUB foo q", answer: ok},
		step{do: "SUB foo", answer: ok},
	)
}

func TestP9(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{">"}, "foo.secret"),
		step{"SUB foo.*", ok, []string{"foo.open"}, []string{"foo.secret"}},
		step{do: "SUB foo.secret", answer: refused},
	)
}

func TestP10(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{"ep.all.e.cmd.>"}),
		step{do: "SUB ep.*.e.cmd.>", answer: refused},
		step{"SUB ep.all.e.cmd.>", ok, []string{"ep.all.e.cmd.x"}, nil},
	)
}

func TestP11(t *testing.T) {
	t.Parallel()
	checkFact(t, pubAllow("a"), subject.Texts{},
		step{"SUB anything", ok, []string{"anything"}, nil},
		step{do: "PUB a", answer: ok},
		step{do: "PUB b", answer: refused},
	)
	checkFact(t, subject.Texts{}, subLists([]string{"a"}),
		step{do: "PUB anything", answer: ok},
		step{do: "SUB b", answer: refused},
	)
	checkFact(t, subject.Texts{}, subLists(nil, ">"), // none
		step{do: "SUB anything", answer: refused},
		step{do: "SUB _INBOX.x", answer: refused},
		step{do: "PUB anything", answer: ok},
	)
	checkFact(t, subject.Texts{}, subLists([]string{"_INBOX.me.>"}, ">"), // never beside an inbox
		step{do: "SUB _INBOX.me.*", answer: refused},
	)
	checkFact(t, subject.Texts{}, subLists([]string{"_INBOX.me.>"}), // inbox only
		step{"SUB _INBOX.me.*", ok, []string{"_INBOX.me.1"}, nil},
		step{do: "SUB anything", answer: refused},
	)
}

func TestP13(t *testing.T) {
	t.Parallel()
	checkFact(t, pubAllow("dec_u-*"), subject.Texts{},
		step{do: "PUB dec_u-1", answer: refused},
		step{do: "PUB dec_u-*", answer: ok},
	)
}

func TestP14(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{Allow: []string{"foo.>"}, Deny: []string{"foo.a.x"}}, subject.Texts{},
		step{do: "PUB foo.*.x", answer: ok},
		step{do: "PUB foo.a.x", answer: refused},
		step{do: "PUB foo.b.x", answer: ok},
	)
}

func TestP15(t *testing.T) {
	t.Parallel()
	checkFact(t, subject.Texts{}, subLists([]string{"foo.*.bar", "a.b.x"}, "a.>.x"),
		step{do: "SUB foo.>.bar", answer: invalid},
		step{do: "SUB foo.a.bar", answer: ok},
		step{"SUB a.b.x", ok, []string{"a.b.x"}, nil}, // the deny is ignored
	)
	_, ignored := subject.Read(subject.Texts{}, subLists([]string{"a.b.x"}, "a.>.x"))
	want := `[sub.deny: the broker ignores this: permission entry "a.>.x": subject "a.>.x": got ">" in token 2, want it in the last place only]`
	if got := fmt.Sprint(ignored); got != want {
		t.Errorf("ignored: got %s, want %s", got, want)
	}
	checkFact(t, subject.Texts{}, subLists([]string{"a.>.x"}), // an allow list of which nothing is left
		step{do: "SUB a.b.x", answer: refused},
		step{do: "SUB b", answer: refused},
		step{do: "PUB b", answer: ok},
	)
}
