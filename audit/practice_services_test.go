package audit

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// answers is whether a request of another to the holder is answered.
func answers(subject, queue string) func(*stage) bool {
	return func(st *stage) bool {
		if len(st.raw.Do(natstest.SubOp(subject, queue, "3"))[0].Errs) > 0 {
			return false
		}
		return st.answersOn("_INBOX.asker.1", subject)
	}
}

// answersOn lets another ask with a reply subject of its choice, and is whether the holder may publish there.
func (st *stage) answersOn(reply, subject string) bool {
	st.t.Helper()
	st.ear.Do(natstest.SubOp(reply, "", "4"))
	st.ear.Do(natstest.PubOp(subject, reply, "question"))
	st.raw.Await()
	if len(st.raw.Do(natstest.PubOp(reply, "", "answer"))[0].Errs) > 0 {
		return false
	}
	return st.ear.Await().Msgs[0].Subject == reply
}

// steered is whether a requester makes the holder publish where the requester says.
func steered(subject string) func(*stage) bool {
	return func(st *stage) bool {
		st.raw.Do(natstest.SubOp(subject, "", "3"))
		return st.answersOn("alarms.fire", subject)
	}
}

// requests is whether the holder gets the answer of a service of another.
func requests(subject string) func(*stage) bool {
	return func(st *stage) bool {
		sub, err := st.owner.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte("done")) })
		if err != nil {
			st.t.Fatal(err)
		}
		if err := errors.Join(sub.SetPendingLimits(-1, -1), st.owner.Flush()); err != nil {
			st.t.Fatal(err)
		}
		return st.client(func(ctx context.Context, _ jetstream.JetStream, nc *nats.Conn) error {
			_, err := nc.RequestWithContext(ctx, subject, nil)
			return err
		})
	}
}

// serves runs a service of the micro framework with the holder's credential, and asks it.
func serves(subject string) func(*stage) bool {
	return func(st *stage) bool {
		return st.client(func(ctx context.Context, _ jetstream.JetStream, nc *nats.Conn) error {
			_, err := micro.AddService(nc, micro.Config{Name: "calc", Version: "1.0.0", Endpoint: &micro.EndpointConfig{Subject: subject,
				Handler: micro.HandlerFunc(func(r micro.Request) { _ = r.Respond([]byte("42")) })}})
			if err != nil {
				return err
			}
			if err := nc.FlushWithContext(ctx); err != nil {
				return err
			}
			for _, asked := range []string{subject, "$SRV.PING.calc"} {
				if _, err := st.owner.RequestWithContext(ctx, asked, nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// leaf connects as a leaf node.
func leaf(st *stage) bool {
	_, ok := st.dialLeaf()
	return ok
}

// leafPublishes is whether a leaf node of the credential publishes what the entries do not grant.
func leafPublishes(subject string) func(*stage) bool {
	return func(st *stage) bool {
		write, ok := st.dialLeaf()
		if !ok || !write("LMSG "+subject+" 5\r\nhello") {
			return false
		}
		return st.ear.Await().Msgs[0].Subject == subject
	}
}

// leafHears is whether a leaf node of the credential hears what the entries do not grant.
func leafHears(sub, published string) func(*stage) bool {
	return func(st *stage) bool {
		write, ok := st.dialLeaf()
		if !ok || !write("LS+ "+sub) {
			return false
		}
		st.ear.Do(natstest.PubOp(published, "", "for another"))
		return write("PING") && strings.Contains(strings.Join(st.leafIn, ""), "for another")
	}
}
