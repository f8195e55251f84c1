package subject_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

var long = flag.Bool("long", false, "run the long form of the differential against the broker")

// jwtPerms writes permissions as a user JWT holds them.
func jwtPerms(pub, sub subject.Texts) jwt.Permissions {
	return jwt.Permissions{
		Pub: jwt.Permission{Allow: pub.Allow, Deny: pub.Deny},
		Sub: jwt.Permission{Allow: sub.Allow, Deny: sub.Deny},
	}
}

// dice draws permission lists and operations over a small alphabet.
type dice struct{ *rand.Rand }

func (d dice) one(from ...string) string { return from[d.IntN(len(from))] }

func (d dice) pattern() string {
	tokens := make([]string, 1+d.IntN(3))
	for i := range tokens {
		tokens[i] = d.one("a", "a", "b", "*", "*")
	}
	switch d.IntN(12) {
	case 0, 1, 2:
		tokens[len(tokens)-1] = ">"
	case 3:
		tokens[0] = d.one("a*", ">", "*b") // a literal star, or an entry that the broker ignores when more follows
	}
	return strings.Join(tokens, ".")
}

func (d dice) list(most int, queues bool) []string {
	out := make([]string, d.IntN(most+1))
	for i := range out {
		out[i] = d.pattern()
		if queues && d.IntN(5) < 2 {
			out[i] += " " + d.one("q", "q", "r", "v.1", "v.*", "*", ">", "*.1")
		}
	}
	return out
}

// tally counts what the broker answered.
type tally struct{ allowed, denied, delivered, withheld, ignored, ops int }

// TestDecisionsAgainstBroker draws permission sets and holds every decision of the model against an embedded server: publishing
// and subscribing by a user with both lists, deliveries to a user with the subscribe list only, which publishes to itself.
func TestDecisionsAgainstBroker(t *testing.T) {
	t.Parallel()
	sets := 1000
	if *long {
		sets = 50000
	}
	s := natstest.Start(t)
	// A second account: a closed connection may keep its queue subscriptions, and so take messages, for a moment.
	deliveries := s.NewAccount(t, "DELIVERIES")
	d := dice{rand.New(rand.NewPCG(1, 2))}
	var n tally
	for range sets {
		pub := subject.Texts{Allow: d.list(3, false), Deny: d.list(3, false)}
		sub := subject.Texts{Allow: d.list(3, true), Deny: d.list(3, true)}
		model, ignored := subject.Read(nilIfEmpty(pub), nilIfEmpty(sub))
		n.ignored += len(ignored)
		accepted := checkDecisions(t, s.Raw(t, s.User(t, jwtPerms(pub, sub))), d, &n, model)
		own := deliveries.User(t, jwtPerms(subject.Texts{}, sub))
		checkDeliveries(t, s.Raw(t, own), d, &n, model, accepted)
		if t.Failed() {
			t.Fatalf("permissions: pub %q, sub %q", pub, sub)
		}
	}
	if min(n.allowed, n.denied, n.delivered, n.withheld, n.ignored) == 0 || n.ops < 100*sets {
		t.Errorf("got %+v, want every outcome and at least %d operations", n, 100*sets)
	}
	t.Logf("%d permission sets: %+v", sets, n)
}

// nilIfEmpty is what jwt/v2 makes of an empty list: it leaves it out.
func nilIfEmpty(x subject.Texts) subject.Texts {
	if len(x.Allow) == 0 {
		x.Allow = nil
	}
	return x
}

// operation is one SUB or PUB.
type operation struct{ subject, queue string }

func checkDecisions(t *testing.T, r *natstest.Raw, d dice, n *tally, model subject.Permissions) []operation {
	t.Helper()
	var lines []string
	var want []subject.Decision
	var subs []operation
	for _, text := range slices.Concat(words(2, "a", "b", "*", ">"), sample(d, words(3, "a", "b", "*", ">")[20:], 16)) {
		op := operation{text, d.one("", "", "q", "r", "v.1", "v.*", "*", ">", "x", "v..1", "v.>")}
		lines = append(lines, natstest.SubOp(op.subject, op.queue, fmt.Sprint(len(lines))))
		want = append(want, model.CanSubscribe(op.subject, op.queue))
		subs = append(subs, op)
	}
	for _, text := range slices.Concat(words(2, "a", "b", "*", ">"), sample(d, words(3, "a", "b", "*"), 12), []string{"a..b", ".a", "a.", "a*", "a*.b", "$GR.x", "$NRG.x"}) {
		lines = append(lines, natstest.PubOp(text, "", ""))
		want = append(want, model.CanPublish(text))
	}
	defer r.Close()
	var accepted []operation
	for i, reply := range r.Do(lines...) {
		n.ops++
		got := len(reply.Errs) == 0
		if got != want[i].Allowed {
			t.Errorf("%q: broker says %v %q, model says %+v", lines[i], got, reply.Errs, want[i])
		}
		switch {
		case got && i < len(subs):
			accepted = append(accepted, subs[i])
			n.allowed++
		case got:
			n.allowed++
		default:
			n.denied++
		}
		checkReason(t, lines[i], reply.Errs, want[i])
	}
	return accepted
}

// checkReason holds the kind of refusal against the broker's error text, and the entries against the decision.
func checkReason(t *testing.T, line string, errs []string, d subject.Decision) {
	t.Helper()
	invalid := slices.Contains(errs, "Invalid Subject")
	if invalid != (d.List == subject.Protocol) {
		t.Errorf("%q: broker says %q, model says %+v", line, errs, d)
	}
	listed := d.List == subject.PubAllow || d.List == subject.SubAllow
	denied := d.List == subject.PubDeny || d.List == subject.SubDeny
	if (d.Allowed && listed || denied) && len(d.By) == 0 || d.Allowed && denied || d.Why == "" {
		t.Errorf("%q: got %+v, want the entries that decided", line, d)
	}
}

// checkDeliveries makes each accepted subscription alone on one connection, whose deny filter stays loaded once it is.
func checkDeliveries(t *testing.T, r *natstest.Raw, d dice, n *tally, model subject.Permissions, accepted []operation) {
	t.Helper()
	type expect struct {
		sub     operation
		subject string
	}
	var lines []string
	want := map[int]expect{}
	for _, op := range accepted {
		lines = append(lines, natstest.SubOp(op.subject, op.queue, "1"))
		for _, text := range slices.Concat(words(1, "a", "b", "z", "*"), sample(d, words(4, "a", "b", "z", "*")[4:], 10)) {
			want[len(lines)] = expect{op, text}
			lines = append(lines, natstest.PubOp(text, "", ""))
		}
		lines = append(lines, "UNSUB 1")
	}
	defer r.Close()
	for i, reply := range r.Do(lines...) {
		n.ops++
		e, isPub := want[i]
		if len(reply.Errs) > 0 {
			t.Errorf("%q: got %q, want no error", lines[i], reply.Errs)
		}
		got := len(reply.Msgs) == 1 && reply.Msgs[0].Subject == e.subject
		switch {
		case !isPub:
			continue
		case got != model.Delivers(e.sub.subject, e.sub.queue, e.subject):
			t.Errorf("%q to %+v: broker delivers %v, model says %v", e.subject, e.sub, got, !got)
		case got:
			n.delivered++
		case subject.Pattern(e.sub.subject).Matches(e.subject):
			n.withheld++
		}
	}
}

func sample(d dice, from []string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = from[d.IntN(len(from))]
	}
	return out
}
