package subject_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// bench is a server with streams made by an unrestricted owner, and one restricted user.
type bench struct {
	t      *testing.T
	server *natstest.Server
	js     jetstream.JetStream
	user   *natstest.Raw
	model  subject.Permissions
	rest   []natstest.Msg // of the last answer to the user, after the first message
}

// newBench starts a server with the streams; the user may publish these subjects and subscribe all.
func newBench(t *testing.T, pub []string, streams ...jetstream.StreamConfig) *bench {
	t.Helper()
	return startBench(t, pub, streams)
}

func startBench(t *testing.T, pub []string, streams []jetstream.StreamConfig, edit ...func(*server.Options)) *bench {
	t.Helper()
	s := natstest.Start(t, edit...)
	js, err := jetstream.New(s.Connect(t, s.User(t, jwt.Permissions{})))
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range streams {
		cfg.Storage = jetstream.MemoryStorage
		if _, err := js.CreateStream(t.Context(), cfg); err != nil {
			t.Fatalf("stream %s: %v", cfg.Name, err)
		}
	}
	model, _ := subject.Read(subject.Texts{Allow: pub}, subject.Texts{})
	b := &bench{t: t, server: s, js: js, model: model, user: s.Raw(t, s.User(t, jwtPerms(subject.Texts{Allow: pub}, subject.Texts{})))}
	b.user.Do(natstest.SubOp("in", "", "1"))
	return b
}

func (b *bench) publish(subjects ...string) {
	b.t.Helper()
	for _, s := range subjects {
		if _, err := b.js.Publish(b.t.Context(), s, []byte("to "+s)); err != nil {
			b.t.Fatalf("publish %s: %v", s, err)
		}
	}
}

func (b *bench) durable(stream string, cfg jetstream.ConsumerConfig) jetstream.Consumer {
	b.t.Helper()
	c, err := b.js.CreateConsumer(b.t.Context(), stream, cfg)
	if err != nil {
		b.t.Fatalf("consumer %s: %v", cfg.Durable, err)
	}
	return c
}

// ask publishes a request of the user with the reply "in" and returns the first answer; false when the permissions refuse it. The
// model must say the same about the permission.
func (b *bench) ask(subject, body string) (natstest.Msg, bool) {
	b.t.Helper()
	reply := b.user.Do(natstest.PubOp(subject, "in", body))[0]
	allowed := answer(reply.Errs) == ok
	if decision := b.model.CanPublish(subject); decision.Allowed != allowed {
		b.t.Errorf("PUB %s: broker says %v %q, model says %+v", subject, allowed, reply.Errs, decision)
	}
	switch {
	case !allowed:
		return natstest.Msg{}, false
	case len(reply.Msgs) == 0:
		reply = b.user.Await()
	}
	b.rest = reply.Msgs[1:]
	return reply.Msgs[0], true
}

// create asks for a consumer and returns "refused", the API's error code, or "ok" and the configuration made.
func (b *bench) create(subject, body string) (string, server.ConsumerConfig) {
	b.t.Helper()
	msg, allowed := b.ask(subject, body)
	if !allowed {
		return refused, server.ConsumerConfig{}
	}
	var made server.JSApiConsumerCreateResponse
	if err := json.Unmarshal([]byte(msg.Data), &made); err != nil {
		b.t.Fatalf("answer to %s: %v: %q", subject, err, msg)
	}
	if made.Error != nil {
		return fmt.Sprint(made.Error.ErrCode), server.ConsumerConfig{}
	}
	return ok, *made.Config
}

// checkCreates asks for each consumer; a row is the subject, the body and the answer that is wanted.
func (b *bench) checkCreates(rows ...[3]string) {
	b.t.Helper()
	for _, row := range rows {
		if got, _ := b.create(row[0], row[1]); got != row[2] {
			b.t.Errorf("create %s %s: got %s, want %s", row[0], row[1], got, row[2])
		}
	}
}

// checkStored publishes as the user and reads back the subject under which the stream has the message.
func (b *bench) checkStored(stream, subject, want string) {
	b.t.Helper()
	msg, allowed := b.ask(subject, "x")
	var ack struct {
		Stream string `json:"stream"`
		Seq    uint64 `json:"seq"`
	}
	if err := json.Unmarshal([]byte(msg.Data), &ack); err != nil || !allowed || ack.Stream != stream {
		b.t.Fatalf("PUB %s: got %v %q, want an acknowledgement of %s", subject, allowed, msg, stream)
	}
	s, err := b.js.Stream(b.t.Context(), stream)
	if err != nil {
		b.t.Fatal(err)
	}
	stored, err := s.GetMsg(b.t.Context(), ack.Seq)
	if err != nil {
		b.t.Fatal(err)
	}
	if stored.Subject != want {
		b.t.Errorf("PUB %s: got it stored under %q, want %q", subject, stored.Subject, want)
	}
}
