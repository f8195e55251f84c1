package spacetest_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// stock makes n messages ready for a consumer, each on a subject of its own where its filter has room for one, and returns what the
// last of them says.
func (h *thief) stock(stream, consumer string, n int) (last string) {
	h.t.Helper()
	info, err := h.js.ConsumerInfo(stream, consumer)
	if err != nil {
		h.t.Fatalf("%s %s: %v", stream, consumer, err)
	}
	for range n {
		id := h.id()
		last = "stock " + id
		if _, err := h.js.Publish(fill(info.Config.FilterSubject, id), []byte(last)); err != nil {
			h.t.Fatal(err)
		}
	}
	return last
}

// upTo pulls until the message that says so: a consumer hears of what was stored a little after its publisher did.
func (h *thief) upTo(stream, consumer, last string) (out []*nats.Msg) {
	h.t.Helper()
	for len(out) == 0 || string(out[len(out)-1].Data) != last {
		out = append(out, h.Next(stream, consumer))
	}
	return out
}

// exists makes the consumer of a pull where its holder would create it first.
func (h *thief) exists(stream, consumer string) {
	h.t.Helper()
	for _, e := range h.set.Pub.Allow {
		filter, ok := strings.CutPrefix(e.Pattern, "$JS.API.CONSUMER.CREATE."+stream+"."+consumer+".")
		if _, err := h.js.ConsumerInfo(stream, consumer); !ok || err == nil {
			continue
		}
		if _, err := h.js.AddConsumer(stream, &nats.ConsumerConfig{Durable: consumer, FilterSubject: filter,
			AckPolicy: nats.AckExplicitPolicy}); err != nil {
			h.t.Fatal(err)
		}
	}
}

// drain leaves nothing that a consumer would deliver at once; ask is a subject that conveys its pull.
func (h *thief) drain(ask, verb string) {
	h.t.Helper()
	for {
		msg, err := h.Request(ask, []byte(verb+`{"batch":1,"no_wait":true}`), spacetest.Patience)
		if err != nil {
			h.t.Fatalf("%s: %v", ask, err)
		}
		if msg.Header.Get("Status") != "" {
			return
		}
	}
}

// pulls: messages of a durable, and the three status answers.
func (h *thief) pulls(stream, consumer string) []redirect {
	next := "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer
	status := func(body string) func([]string) {
		return func(targets []string) {
			h.exists(stream, consumer)
			h.drain(next, "")
			for _, target := range targets {
				h.must(natstest.PubOp(next, target, body))
			}
			// Requests end in turn: once this one has, the others have.
			if _, err := h.Request(next, []byte(`{"batch":1,"expires":90000000}`), spacetest.Patience); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	return []redirect{
		{"message", func(targets []string) {
			h.exists(stream, consumer)
			h.stock(stream, consumer, len(targets))
			for _, target := range targets {
				h.must(natstest.PubOp(next, target, fmt.Sprintf(`{"batch":1,"expires":%d}`, spacetest.Patience.Nanoseconds())))
			}
		}},
		{"no message", status(`{"batch":1,"no_wait":true}`)},
		{"expiry", status(`{"batch":1,"expires":30000000}`)},
		{"heartbeat", status(`{"batch":1,"expires":60000000,"idle_heartbeat":20000000}`)},
	}
}

// ackPulls: an acknowledgement that asks for the next message conveys the same pull.
func (h *thief) ackPulls(stream, consumer string) []redirect {
	ack := "$JS.ACK." + stream + "." + consumer + ".1.1.1.0.0"
	run := func(body string, stock bool) func([]string) {
		return func(targets []string) {
			h.drain(ack, "+NXT ")
			if stock {
				h.stock(stream, consumer, len(targets))
			}
			for _, target := range targets {
				h.must(natstest.PubOp(ack, target, body))
			}
		}
	}
	return []redirect{{"+NXT message", run("+NXT", true)}, {"+NXT status", run(`+NXT {"batch":1,"no_wait":true}`, false)}}
}

// created is what the grant of a consumer create names; where it leaves the name and the filter free, a name of the thief's and all
// of the stream.
func (h *thief) created(pattern string) (stream, name, filter string) {
	h.t.Helper()
	tokens := strings.Split(pattern, ".")
	if len(tokens) > 6 {
		return tokens[4], tokens[5], strings.Join(tokens[6:], ".")
	}
	info, err := h.js.StreamInfo(tokens[4])
	if err != nil {
		h.t.Fatal(err)
	}
	return tokens[4], "evil", info.Config.Subjects[0]
}

// create makes a push consumer with a delivery subject of the thief's choice, in place of the one before; refused is why the server
// would not.
func (h *thief) create(stream, name, filter, deliver, policy string) (refused string) {
	h.t.Helper()
	_ = h.js.DeleteConsumer(stream, name) // none is as good
	body := fmt.Sprintf(`{"stream_name":%q,"config":{"name":%q,"filter_subject":%q,"deliver_subject":%q,"deliver_policy":%q,"ack_policy":"none",
		"mem_storage":true,"inactive_threshold":%d}}`, stream, name, filter, deliver, policy, time.Minute.Nanoseconds())
	answer, err := h.Request("$JS.API.CONSUMER.CREATE."+stream+"."+name+"."+filter, []byte(body), spacetest.Patience)
	if err != nil {
		h.t.Fatal(err)
	}
	if strings.Contains(string(answer.Data), `"error"`) {
		return string(answer.Data)
	}
	return ""
}

// pushes: a consumer that delivers where its creator says, which the server admits outside its own stream. A subscriber stands at
// the target, since it delivers only where somebody listens.
func (h *thief) pushes(pattern string) redirect {
	return redirect{"push", func(targets []string) {
		stream, name, filter := h.created(pattern)
		if _, err := h.js.Publish(fill(filter, h.id()), []byte("stock")); err != nil {
			h.t.Fatal(err)
		}
		sent := 0
		for _, target := range targets {
			heard := follow(h.t, h.nc, target, "")
			switch refused := h.create(stream, name, filter, target, "last"); {
			case refused == "":
				if _, err := heard.NextMsg(spacetest.Patience); err != nil {
					h.t.Fatalf("push consumer of %s to %s: %v", stream, target, err)
				}
				sent++
			case !strings.Contains(refused, "cycle"):
				h.t.Fatalf("push consumer of %s to %s: %s", stream, target, refused)
			}
			if err := heard.Unsubscribe(); err != nil {
				h.t.Fatal(err)
			}
		}
		if err := h.js.DeleteConsumer(stream, name); sent == 0 || err != nil {
			h.t.Fatalf("push consumer of %s: %d sent, %v", stream, sent, err)
		}
	}}
}

// pushed is what a consumer that the grant creates hands out, to an inbox of the thief's.
func (h *thief) pushed(pattern string) (out []*nats.Msg) {
	h.t.Helper()
	stream, name, filter := h.created(pattern)
	if _, err := h.js.Publish(fill(filter, h.id()), []byte("stock")); err != nil {
		h.t.Fatal(err)
	}
	inbox := follow(h.t, h.Conn, h.NewRespInbox(), "")
	if refused := h.create(stream, name, filter, inbox.Subject, "all"); refused != "" {
		h.t.Fatal(refused)
	}
	info, err := h.js.ConsumerInfo(stream, name)
	if err != nil {
		h.t.Fatal(err)
	}
	for range info.Delivered.Consumer + info.NumPending {
		msg, err := inbox.NextMsg(spacetest.Patience)
		if err != nil {
			h.t.Fatal(err)
		}
		out = append(out, msg)
	}
	if err := h.js.DeleteConsumer(stream, name); err != nil {
		h.t.Fatal(err)
	}
	return out
}
