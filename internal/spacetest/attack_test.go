package spacetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/spacetest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// thief holds one credential of a compromised profile in one account, and turns against the space what its grants convey. The
// allow-all client of the same account stocks what is to be delivered and waits until the server is done.
type thief struct {
	*spacetest.Holder
	t       *testing.T
	set     *compile.PermissionSet
	nc      *nats.Conn
	js      nats.JetStreamContext
	streams []nats.StreamConfig
	actor   string
	n       int
}

// witness is where a redirected answer is known to land: a stream of the thief's own account.
const witness = "WITNESS"

// thieves are the credentials of a profile in every account in which it may publish.
func thieves(t *testing.T, s *spacetest.Space, profile string, values map[string]any) []*thief {
	t.Helper()
	values = merged(values, map[string]any{"connId": "thief0123456789abcdefghij"})
	var out []*thief
	for _, account := range s.Topology.Accounts {
		set := s.Grants(t, account, profile, values)
		if set.Pub.Mode != compile.ModePatterns {
			continue
		}
		actor, _ := values["actor"].(string)
		out = append(out, newThief(t, s, s.OpenIn(t, account, profile, values), set, actor))
	}
	if len(out) == 0 {
		t.Fatalf("%s may publish nowhere", profile)
	}
	return out
}

func newThief(t *testing.T, s *spacetest.Space, holder *spacetest.Holder, set *compile.PermissionSet, actor string) *thief {
	t.Helper()
	h := &thief{t: t, set: set, actor: actor, Holder: holder, nc: s.Servers[0].Connect(t, s.Account(t, set.Account).User(t, everything))}
	var err error
	if h.js, err = h.nc.JetStream(nats.MaxWait(spacetest.Patience)); err != nil {
		t.Fatal(err)
	}
	stream := &nats.StreamConfig{Name: witness, Subjects: []string{"witness.>"}, Storage: nats.MemoryStorage}
	if _, err := h.js.AddStream(stream); err != nil {
		t.Fatal(err)
	}
	for info := range h.js.Streams() {
		h.streams = append(h.streams, info.Config)
	}
	return h
}

// landed counts what has arrived at the witness.
func (h *thief) landed() uint64 {
	h.t.Helper()
	h.barrier("witness.barrier")
	info, err := h.js.StreamInfo(witness)
	if err != nil {
		h.t.Fatal(err)
	}
	return info.State.Msgs
}

// id is a token that nothing else of the account has.
func (h *thief) id() string {
	h.n++
	return fmt.Sprintf("%s%s%d", h.set.Profile[:3], h.actor, h.n)
}

// fill makes a literal subject of a pattern.
func fill(pattern, id string) string {
	tokens := strings.Split(pattern, ".")
	for i, token := range tokens {
		if token == "*" || token == ">" {
			tokens[i] = id
		}
	}
	return strings.Join(tokens, ".")
}

// barrier returns once the stream behind a subject has taken all that was sent to it before, and has sent out its answers: it
// refuses a message that asks for a sequence which does not come, in turn, and stores nothing.
func (h *thief) barrier(target string) {
	h.t.Helper()
	barrier(h.t, h.nc, target)
}

func barrier(t *testing.T, nc *nats.Conn, target string) {
	t.Helper()
	msg := nats.NewMsg(target)
	msg.Header.Set(nats.ExpectedLastSeqHdr, "999999999")
	answer, err := nc.RequestMsg(msg, spacetest.Patience)
	if err != nil || !strings.Contains(string(answer.Data), `"error"`) {
		t.Fatalf("barrier on %s: got %v %v, want the stream's refusal", target, answer, err)
	}
}

// must fails unless the broker admitted the line: it comes from a grant.
func (h *thief) must(op string) {
	h.t.Helper()
	if errs := h.Do(op)[0].Errs; len(errs) != 0 {
		h.t.Fatalf("%s: %s: %v", h.set.Profile, op, errs)
	}
}

// hpub is a publish with one header line.
func hpub(to, reply, header, data string) string {
	head := "NATS/1.0\r\n" + header + "\r\n\r\n"
	return fmt.Sprintf("HPUB %s %s %d %d\r\n%s%s", to, reply, len(head), len(head)+len(data), head, data)
}

// redirect is one way to have the server send something where the holder says; run does so for every target.
type redirect struct {
	kind string
	run  func(targets []string)
}

// silent are the redirects that the server does not follow: there is nobody who could hear the request, and only its sender is told.
const silent = "no responders"

// fire redirects onto every target and returns once each of them has been sent something: a subscriber stands at each. The server
// answers API requests in no order, so that one answer says nothing about another.
func (h *thief) fire(r redirect, targets []string) {
	h.t.Helper()
	var taps []*nats.Subscription
	for _, target := range targets {
		tap, err := h.nc.SubscribeSync(target)
		if err != nil {
			h.t.Fatal(err)
		}
		defer tap.Unsubscribe() //nolint:errcheck // the connection ends with the test
		taps = append(taps, tap)
	}
	if err := h.nc.FlushTimeout(spacetest.Patience); err != nil {
		h.t.Fatal(err)
	}
	r.run(targets)
	if r.kind == silent || r.kind == "push" { // push waits itself, since not every target is open to it
		return
	}
	for _, tap := range taps {
		if _, err := tap.NextMsg(spacetest.Patience); err != nil {
			h.t.Fatalf("%s: nothing was sent to %s: %v", r.kind, tap.Subject, err)
		}
	}
}

// redirects are all that the thief's grants convey, in the order of the grants.
func (h *thief) redirects() []redirect {
	h.t.Helper()
	var out []redirect
	for _, e := range h.set.Pub.Allow {
		tokens := strings.Split(e.Pattern, ".")
		api := strings.TrimPrefix(e.Pattern, "$JS.API.")
		switch {
		case strings.HasPrefix(api, "CONSUMER.MSG.NEXT."):
			out = append(out, h.pulls(tokens[5], tokens[6])...)
		case strings.HasPrefix(api, "CONSUMER.CREATE."):
			out = append(out, h.asks("CONSUMER.CREATE", e.Pattern), h.pushes(e.Pattern))
		case api != e.Pattern:
			out = append(out, h.asks(verb(api), e.Pattern))
		case strings.HasPrefix(e.Pattern, "$JS.ACK."):
			out = append(out, h.ackPulls(tokens[2], tokens[3])...)
		case strings.HasPrefix(e.Pattern, "$JS.FC."): // a subject without an answer
		default:
			out = append(out, h.publishes(e.Pattern)...)
		}
	}
	return out
}

// verb is the part of an API subject before the stream: only the words of the API are all in capitals.
func verb(api string) string {
	var out []string
	for _, token := range strings.Split(api, ".") {
		if strings.ToUpper(token) != token {
			break
		}
		out = append(out, token)
	}
	return strings.Join(out, ".")
}

// captured is a subject of a grant that a stream of the account stores, with the stream.
func (h *thief) captured(pattern string) (own, stream string, ok bool) {
	for _, s := range h.streams {
		for _, captured := range s.Subjects {
			if both, ok := subject.Intersect(subject.Pattern(pattern), subject.Pattern(captured)); ok {
				return fill(string(both), h.id()), s.Name, true
			}
		}
	}
	return "", "", false
}

// publishes: the acknowledgement of a captured message, that of a duplicate, and the refusal of one. Where no stream captures it,
// the broker says that nobody hears.
func (h *thief) publishes(pattern string) []redirect {
	own, _, ok := h.captured(pattern)
	if !ok {
		return []redirect{{silent, func(targets []string) {
			for _, target := range targets {
				h.must(natstest.PubOp(fill(pattern, h.id()), target, "x"))
			}
		}}}
	}
	return []redirect{
		{"acknowledgement", func(targets []string) {
			for _, target := range targets {
				h.must(natstest.PubOp(own, target, "x"))
			}
		}},
		{"duplicate", func(targets []string) {
			for _, target := range targets {
				id := "Nats-Msg-Id: " + h.id()
				h.must(hpub(own, "_INBOX_nobody", id, "x"))
				h.must(hpub(own, target, id, "x"))
			}
		}},
		{"refusal", func(targets []string) {
			for _, target := range targets {
				h.must(hpub(own, target, nats.ExpectedLastSeqHdr+": 999999999", "x"))
			}
		}},
	}
}

// asks: the JSON answer of an API request, an error included.
func (h *thief) asks(kind, pattern string) redirect {
	return redirect{kind, func(targets []string) {
		for _, target := range targets {
			h.must(natstest.PubOp(fill(pattern, h.id()), target, `{"seq":1}`))
		}
	}}
}
