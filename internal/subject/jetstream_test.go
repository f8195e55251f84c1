package subject_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// The facts P12 and J1 to J6: what a publish permission conveys once JetStream answers.

func TestP12(t *testing.T) {
	t.Parallel()
	checkFact(t, pubAllow("foo.*"), subject.Texts{},
		step{do: "PUB foo.*", answer: ok},
		step{do: "PUB foo.>", answer: ok},
		step{do: "PUB foo.b*b", answer: ok},
		step{do: "PUB foo.\x00", answer: ok},
		step{do: "PUB foo.\xff\xfe", answer: ok},
		step{do: "PUB foo.a.b", answer: refused},
	)
	checkFact(t, subject.Texts{}, subLists([]string{"foo.>"}),
		step{"SUB foo.bar", ok, []string{"foo.bar"}, []string{"foo.*", "foo.>"}},
		step{"SUB foo.*", ok, []string{"foo.bar", "foo.*", "foo.>", "foo.\x00"}, nil},
	)
}

func TestP12Captured(t *testing.T) {
	t.Parallel()
	b := newBench(t, []string{"foo.*", "tr.*", "rp.*"},
		jetstream.StreamConfig{Name: "S", Subjects: []string{"foo.*"}},
		jetstream.StreamConfig{Name: "T", Subjects: []string{"tr.*"}, SubjectTransform: &jetstream.SubjectTransformConfig{Source: "tr.*", Destination: "out.{{wildcard(1)}}"}},
		jetstream.StreamConfig{Name: "R", Subjects: []string{"rp.*"}, RePublish: &jetstream.RePublish{Source: "rp.*", Destination: "again.{{wildcard(1)}}"}},
	)
	republished := b.server.Raw(t, b.server.User(t, jwt.Permissions{}))
	republished.Do(natstest.SubOp("again.*", "", "1"))
	b.checkStored("S", "foo.*", "foo.*")
	b.checkStored("S", "foo.>", "foo.>")
	b.checkStored("S", "foo.bar", "foo.bar")
	b.checkStored("T", "tr.x", "out.x")
	b.checkStored("T", "tr.*", "tr.*")
	b.checkStored("R", "rp.*", "rp.*")
	b.checkStored("R", "rp.x", "rp.x")
	// The republished copies come in the order of the stream: only the literal one arrives, although it was sent last.
	if got := republished.Await().Msgs[0].Subject; got != "again.x" {
		t.Errorf("republished: got %q, want only %q", got, "again.x")
	}
	c := b.durable("S", jetstream.ConsumerConfig{Durable: "d", FilterSubject: "foo.bar"})
	if got := c.CachedInfo().NumPending; got != 1 {
		t.Errorf("messages for a consumer on foo.bar: got %d, want 1", got)
	}
}

const createN = "$JS.API.CONSUMER.CREATE.S.n."

func chatStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: "S", Subjects: []string{"c.chat.>"}}
}

func TestJ1(t *testing.T) {
	t.Parallel()
	b := newBench(t, []string{createN + "c.chat.*.*.team.*"}, chatStream())
	b.publish("c.chat.a.b.team.x", "c.chat.a.b.team.x.deep", "c.chat.a.b.other.x")
	b.checkCreates(
		[3]string{createN + "c.chat.*.*.other.x", `{"stream_name":"S","config":{"name":"n","filter_subject":"c.chat.*.*.other.x"}}`, refused},
		[3]string{createN + "c.chat.*.*.team.x.deep", `{"stream_name":"S","config":{"name":"n","filter_subject":"c.chat.*.*.team.x.deep"}}`, refused},
	)
	got, cfg := b.create(createN+"c.chat.*.*.team.>", `{"stream_name":"S","config":{"name":"n","filter_subject":"c.chat.*.*.team.>"}}`)
	if got != ok || cfg.FilterSubject != "c.chat.*.*.team.>" {
		t.Errorf("create with a final >: got %s with filter %q, want ok", got, cfg.FilterSubject)
	}
	c, err := b.js.Consumer(t.Context(), "S", "n")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.CachedInfo().NumPending; got != 2 {
		t.Errorf("history under the filter: got %d messages, want 2 (one beyond the grant)", got)
	}
}

func TestJ2(t *testing.T) {
	t.Parallel()
	b := newBench(t, []string{createN + "c.chat.a"}, chatStream())
	b.checkCreates(
		[3]string{createN + "c.chat.a", `{"stream_name":"S","config":{"name":"n","filter_subject":"c.chat.b"}}`, "10131"},
		[3]string{createN + "c.chat.a", `{"stream_name":"S","config":{"name":"n","filter_subjects":["c.chat.a","c.chat.b"]}}`, "10137"},
		[3]string{createN + "c.chat.a", `{"stream_name":"S","config":{"name":"n","filter_subject":"c.chat.a"}}`, ok},
	)
}

func TestJ3(t *testing.T) {
	t.Parallel()
	b := newBench(t, []string{createN + "c.chat.a"}, chatStream())
	b.checkCreates(
		[3]string{createN + "c.chat.a", `{"stream_name":"S","config":{"name":"n","durable_name":"other","filter_subject":"c.chat.a"}}`, "10017"},
		[3]string{createN + "c.chat.a", `{"stream_name":"S","config":{"name":"n","durable_name":"n","filter_subject":"c.chat.a"}}`, ok},
	)
	push := newBench(t, []string{createN + "c.chat.a"}, chatStream())
	got, cfg := push.create(createN+"c.chat.a", `{"stream_name":"S","config":{"name":"n","filter_subject":"c.chat.a","deliver_subject":"stolen"}}`)
	if got != ok || cfg.DeliverSubject != "stolen" {
		t.Errorf("create with a deliver subject: got %s %q, want ok %q", got, cfg.DeliverSubject, "stolen")
	}
}

func TestJ4(t *testing.T) {
	t.Parallel()
	grant := "$JS.API.CONSUMER.CREATE.S.*.c.chat.mine"
	b := newBench(t, []string{grant}, chatStream())
	b.durable("S", jetstream.ConsumerConfig{Durable: "trusted", FilterSubject: "c.chat.theirs", AckPolicy: jetstream.AckExplicitPolicy})
	b.checkCreates(
		[3]string{"$JS.API.CONSUMER.CREATE.S.trusted.c.chat.theirs", `{}`, refused},
		[3]string{"$JS.API.CONSUMER.CREATE.S.trusted.c.chat.mine",
			`{"stream_name":"S","config":{"name":"trusted","durable_name":"trusted","filter_subject":"c.chat.mine","ack_policy":"explicit","max_deliver":1}}`, ok},
	)
	c, err := b.js.Consumer(t.Context(), "S", "trusted")
	if err != nil {
		t.Fatal(err)
	}
	cfg := c.CachedInfo().Config
	if cfg.FilterSubject != "c.chat.mine" || cfg.MaxDeliver != 1 {
		t.Errorf("foreign durable: got filter %q and max_deliver %d, want it changed", cfg.FilterSubject, cfg.MaxDeliver)
	}
}

func TestJ4b(t *testing.T) {
	t.Parallel()
	get := "$JS.API.DIRECT.GET.KV_b.$KV.b."
	b := newBench(t, []string{get + "d.*"}, jetstream.StreamConfig{Name: "KV_b", Subjects: []string{"$KV.b.>"}, AllowDirect: true, MaxMsgsPerSubject: 1})
	b.publish("$KV.b.d.one.deep")
	if _, allowed := b.ask(get+"d.one.deep", ""); allowed {
		t.Error("direct get of the deep key: got an answer, want it refused")
	}
	msg, allowed := b.ask(get+"d.>", "")
	if !allowed || msg.Data != "to $KV.b.d.one.deep" || !strings.Contains(msg.Header, "Nats-Subject: $KV.b.d.one.deep\r\n") {
		t.Errorf("direct get with a final >: got %v %q, want the deep key", allowed, msg)
	}
}

func TestJ4c(t *testing.T) {
	t.Parallel()
	// The server sends one shape and takes both; which one it sends is a setting.
	for name, c := range map[string]struct {
		sendsLong bool
		grant     string
		ack       func(hash string) string
	}{
		"short":           {false, "$JS.ACK.S.c.>", func(string) string { return "$JS.ACK.S.c.1.1.1.1.0" }},
		"short, not sent": {true, "$JS.ACK.S.c.>", func(string) string { return "$JS.ACK.S.c.1.1.1.1.0" }},
		"long":            {true, "$JS.ACK.*.*.S.c.>", func(hash string) string { return "$JS.ACK._." + hash + ".S.c.1.1.1.1.0" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBench(t, []string{c.grant}, []jetstream.StreamConfig{chatStream()}, func(o *server.Options) {
				o.FeatureFlags = map[string]bool{server.FeatureFlagJsAckFormatV2: c.sendsLong}
			})
			consumer := b.durable("S", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy})
			b.publish("c.chat.1", "c.chat.2", "c.chat.3")
			msg, err := consumer.Next()
			if err != nil {
				t.Fatal(err)
			}
			tokens := strings.Split(msg.Reply(), ".")
			if long := len(tokens) >= 11; long != c.sendsLong {
				t.Fatalf("reply of a message: got %q, want the long shape %v", msg.Reply(), c.sendsLong)
			}
			b.checkNext(c.ack(tokens[3]))
		})
	}
}

// checkNext pulls the second and third message with an acknowledgement, where MSG.NEXT is refused.
func (b *bench) checkNext(ack string) {
	b.t.Helper()
	if _, allowed := b.ask("$JS.API.CONSUMER.MSG.NEXT.S.c", ""); allowed {
		b.t.Error("MSG.NEXT: got an answer, want it refused")
	}
	first, allowed := b.ask(ack, `+NXT {"batch":2}`)
	if !allowed {
		b.t.Fatalf("PUB %s: got it refused, want an answer", ack)
	}
	got := []string{first.Data}
	if len(b.rest) == 0 {
		b.rest = b.user.Await().Msgs
	}
	got = append(got, b.rest[0].Data)
	if diff := cmp.Diff([]string{"to c.chat.2", "to c.chat.3"}, got); diff != "" {
		b.t.Errorf("messages by acknowledgement (-want +got):\n%s", diff)
	}
}

func TestJ5(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for given, want := range map[time.Duration]time.Duration{100 * time.Millisecond: 100 * time.Millisecond, 0: 120 * time.Second} {
		s, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: fmt.Sprintf("S%d", given), Subjects: []string{fmt.Sprintf("s%d", given)}, Duplicates: given, Storage: jetstream.MemoryStorage})
		if err != nil {
			t.Fatalf("duplicate window %v: %v", given, err)
		}
		if got := s.CachedInfo().Config.Duplicates; got != want {
			t.Errorf("duplicate window %v: got %v, want %v", given, got, want)
		}
	}
}

func TestJ6(t *testing.T) {
	t.Parallel()
	s := natstest.StartCluster(t, 3)[0]
	js, err := jetstream.New(s.Connect(t, s.User(t, jwt.Permissions{})))
	if err != nil {
		t.Fatal(err)
	}
	made, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "S", Subjects: []string{"s.>"}, Replicas: 3, AllowMsgSchedules: true, AllowMsgTTL: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	info := made.CachedInfo()
	if !info.Config.AllowMsgSchedules || info.Config.Replicas != 3 || len(info.Cluster.Replicas) != 2 {
		t.Errorf("stream: got schedules %v on %d replicas, want them on 3", info.Config.AllowMsgSchedules, info.Config.Replicas)
	}
}

// TestDenyFilterReachesPulledMessages: a message pulled from JetStream is withheld from the inbox by its original subject, but only
// after a wildcard or queue subscription has loaded the connection's deny filter.
func TestDenyFilterReachesPulledMessages(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	owner := s.Connect(t, s.User(t, jwt.Permissions{}))
	js, err := jetstream.New(owner)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, js: js}
	if _, err := js.CreateStream(t.Context(), chatStream()); err != nil {
		t.Fatal(err)
	}
	sub := subLists(nil, "c.chat.secret", "other.>")
	model, _ := subject.Read(subject.Texts{}, sub)
	b.model, b.user = model, s.Raw(t, s.User(t, jwtPerms(subject.Texts{}, sub)))
	b.publish("c.chat.secret", "c.chat.secret", "c.chat.open")
	b.durable("S", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckNonePolicy})
	const next = "$JS.API.CONSUMER.MSG.NEXT.S.c"
	b.user.Do(natstest.SubOp("in", "", "1"), natstest.SubOp("elsewhere.*", "", "2"))
	if model.LoadsDenyFilter("in", "") || model.LoadsDenyFilter("elsewhere.*", "") {
		t.Error("filter: got it loaded by subscriptions that overlap no deny")
	}
	if msg, _ := b.ask(next, ""); msg.Subject != "c.chat.secret" {
		t.Errorf("first pull: got %q, want the denied subject", msg)
	}
	b.user.Do(natstest.SubOp("c.*.elsewhere", "", "3"), natstest.SubOp("c.chat.*", "", "4"))
	if !model.LoadsDenyFilter("c.chat.*", "") || len(model.Withheld("c.chat.secret", "")) != 1 || len(model.Withheld("c.chat.open", "")) != 0 {
		t.Error("filter: got it not loaded by a subscription that overlaps a deny")
	}
	b.user.Do("UNSUB 4")
	if msg, _ := b.ask(next, `{"batch":2}`); msg.Subject != "c.chat.open" {
		t.Errorf("second pull: got %q, want the denied message withheld", msg)
	}
}
