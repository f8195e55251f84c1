package audit

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// What A014 to A027 say that a grant conveys, tried on a broker; beside each, the narrower grant that does not fire does its own
// work and is refused the power.

// powerBench is a broker with a stream S on o.> that holds o.a and o.b, and somebody who may do everything.
type powerBench struct {
	t       *testing.T
	s       *natstest.Server
	nc      *nats.Conn
	js      jetstream.JetStream
	holders int
}

func newPowerBench(t *testing.T, edit ...func(*natsserver.Options)) *powerBench {
	t.Helper()
	b := &powerBench{t: t, s: natstest.Start(t, edit...)}
	b.nc = b.s.Connect(t, b.s.User(t, jwt.Permissions{}))
	var err error
	if b.js, err = jetstream.New(b.nc); err != nil {
		t.Fatal(err)
	}
	if _, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"o.>"}, AllowDirect: true}); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"o.a", "o.b"} {
		if _, err := b.js.Publish(t.Context(), subject, []byte("data of "+subject)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// durable makes a consumer of somebody else.
func (b *powerBench) durable(name, filter string) {
	b.t.Helper()
	if _, err := b.js.CreateConsumer(b.t.Context(), "S", jetstream.ConsumerConfig{Durable: name, FilterSubject: filter, AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		b.t.Fatal(err)
	}
}

// holder is a connection that publishes what is granted and hears its own inbox.
type holder struct {
	t     *testing.T
	inbox string
	raw   *natstest.Raw
	perms jwt.Permissions
}

func (b *powerBench) holder(grants ...string) *holder {
	b.t.Helper()
	b.holders++
	inbox := fmt.Sprintf("_INBOX_h%d", b.holders)
	perms := jwt.Permissions{Pub: jwt.Permission{Allow: grants}, Sub: jwt.Permission{Allow: jwt.StringList{inbox + ".>"}}}
	h := &holder{t: b.t, inbox: inbox + ".r", raw: b.s.Raw(b.t, b.s.User(b.t, perms)), perms: perms}
	h.raw.Do(natstest.SubOp(inbox+".>", "", "1"))
	return h
}

// codes is what the audit says of the holder without a contract.
func (h *holder) codes() []string {
	h.t.Helper()
	uc := user(h.t, testContract(h.t), "worker", worker(), func(uc *jwt.UserClaims) { uc.Permissions, uc.Tags = h.perms, nil })
	r, err := Bytes(Config{}, "u", signed(h.t, uc))
	if err != nil {
		h.t.Fatal(err)
	}
	return codes(r)
}

// fires fails unless the audit finds the code, or finds it not.
func (h *holder) fires(code string, want bool) {
	h.t.Helper()
	if got := h.codes(); slices.Contains(got, code) != want {
		h.t.Errorf("%v: codes %v, want %s among them: %t", h.perms.Pub.Allow, got, code, want)
	}
}

// ask sends a request and returns the answer.
func (h *holder) ask(subject, body string) natstest.Msg {
	h.t.Helper()
	return h.answer(natstest.PubOp(subject, h.inbox, body))
}

func (h *holder) answer(op string) natstest.Msg {
	h.t.Helper()
	reply := h.raw.Do(op)[0]
	if len(reply.Errs) > 0 {
		h.t.Fatalf("%.80s: %v", op, reply.Errs)
	}
	if len(reply.Msgs) == 0 {
		reply = h.raw.Await()
	}
	return reply.Msgs[0]
}

// refused makes sure that a subject is not the holder's.
func (h *holder) refused(subject string) {
	h.t.Helper()
	if errs := h.raw.Do(natstest.PubOp(subject, h.inbox, ""))[0].Errs; len(errs) == 0 {
		h.t.Errorf("%v publishes %s too", h.perms.Pub.Allow, subject)
	}
}

// headerOp is a publish with one header.
func (h *holder) headerOp(subject, key, value string) string {
	head := "NATS/1.0\r\n" + key + ": " + value + "\r\n\r\n"
	return fmt.Sprintf("HPUB %s %s %d %d\r\n%s%s", subject, h.inbox, len(head), len(head)+1, head, "x")
}

func TestUnpinnedCreateIsReal(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	for _, tt := range []struct{ code, grant, subject, body string }{
		{codeUnpinned, apiRoot + "CONSUMER.CREATE.S", apiRoot + "CONSUMER.CREATE.S", `{"stream_name":"S","config":{"name":"x1","filter_subjects":["o.a","o.b"]}}`},
		{codeUnpinned, apiRoot + "CONSUMER.CREATE.S.x2", apiRoot + "CONSUMER.CREATE.S.x2", `{"stream_name":"S","config":{"name":"x2","filter_subjects":["o.a","o.b"]}}`},
		{codeUnpinned, apiRoot + "CONSUMER.CREATE.S.x3.*", apiRoot + "CONSUMER.CREATE.S.x3.>", `{"stream_name":"S","config":{"name":"x3","filter_subject":">"}}`},
		{codeDurable, apiRoot + "CONSUMER.DURABLE.CREATE.S.x4", apiRoot + "CONSUMER.DURABLE.CREATE.S.x4", `{"stream_name":"S","config":{"durable_name":"x4","ack_policy":"explicit"}}`},
	} {
		h := b.holder(tt.grant)
		h.fires(tt.code, true)
		if m := h.ask(tt.subject, tt.body); strings.Contains(m.Data, `"error"`) || !strings.Contains(m.Data, `"num_pending":2`) {
			t.Errorf("%s: got %s, want a consumer of both messages", tt.grant, m.Data)
		}
	}
	own := b.holder(apiRoot + "CONSUMER.CREATE.S.mine.o.a")
	own.fires(codeUnpinned, false)
	own.fires(codeDurable, false)
	for _, other := range []string{"CONSUMER.CREATE.S", "CONSUMER.CREATE.S.mine", "CONSUMER.CREATE.S.mine.>", "CONSUMER.DURABLE.CREATE.S.mine"} {
		own.refused(apiRoot + other)
	}
	if m := own.ask(apiRoot+"CONSUMER.CREATE.S.mine.o.a", `{"stream_name":"S","config":{"name":"mine","filter_subject":"o.a"}}`); !strings.Contains(m.Data, `"num_pending":1`) {
		t.Errorf("own consumer: got %s, want the one message", m.Data)
	}
}

func TestForeignConsumerIsReal(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	b.durable("trusted", "o.a")
	body := func(name string) string {
		return `{"stream_name":"S","config":{"name":"` + name + `","durable_name":"` + name + `","filter_subject":"o.b","ack_policy":"explicit"}}`
	}
	h := b.holder(apiRoot + "CONSUMER.CREATE.S.*.o.b")
	h.fires(codeForeign, true)
	if m := h.ask(apiRoot+"CONSUMER.CREATE.S.trusted.o.b", body("trusted")); !strings.Contains(m.Data, `"filter_subject":"o.b"`) || strings.Contains(m.Data, `"error"`) {
		t.Errorf("got %s, want the durable of another with a new filter", m.Data)
	}
	own := b.holder(apiRoot + "CONSUMER.CREATE.S.mine.o.b")
	own.fires(codeForeign, false)
	own.refused(apiRoot + "CONSUMER.CREATE.S.trusted.o.b")
	if m := own.ask(apiRoot+"CONSUMER.CREATE.S.mine.o.b", body("mine")); strings.Contains(m.Data, `"error"`) {
		t.Errorf("own consumer: got %s", m.Data)
	}
}

func TestAckIsNext(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	b.durable("c", "o.>")
	for _, grant := range []string{"$JS.ACK.S.c.>", "$JS.ACK.*.*.S.c.>"} {
		h := b.holder(grant)
		h.fires(codeAckNext, true)
		h.refused(apiRoot + "CONSUMER.MSG.NEXT.S.c")
		head := "$JS.ACK.S.c"
		if grant != "$JS.ACK.S.c.>" {
			head = "$JS.ACK._." + accountHash(b.s.Account.PublicKey()) + ".S.c"
		}
		if m := h.ask(head+".1.1.1.1.0", `+NXT {"batch":1}`); !strings.HasPrefix(m.Data, "data of o.") {
			t.Errorf("%s: got %+v, want a message of the stream", grant, m)
		}
	}
	// What looks like the stream "_" and one consumer of it, pull and all, is every consumer of the account.
	hash := accountHash(b.s.Account.PublicKey())
	for i, tail := range []string{".>", ".*.*.>"} {
		name := fmt.Sprint("every", i)
		b.durable(name, "o.>")
		every := b.holder("$JS.ACK._."+hash+tail, apiRoot+"CONSUMER.MSG.NEXT._."+hash)
		every.fires(codeForeign, true)
		every.fires(codeAckNext, true)
		if m := every.ask("$JS.ACK._."+hash+".S."+name+".1.1.1.1.0", `+NXT {"batch":1}`); !strings.HasPrefix(m.Data, "data of o.") {
			t.Errorf("%s: got %+v, want a message of the stream", tail, m)
		}
	}
	b.durable("d", "o.>")
	own := b.holder("$JS.ACK.S.d.>", apiRoot+"CONSUMER.MSG.NEXT.S.d")
	own.fires(codeAckNext, false)
	own.refused("$JS.ACK.S.c.1.1.1.1.0")
	if m := own.ask(apiRoot+"CONSUMER.MSG.NEXT.S.d", `{"batch":1}`); m.Data != "data of o.a" {
		t.Errorf("own pull: got %+v", m)
	}
}

// accountHash is nats-server's getHash of an account's name, which the longer shape carries.
func accountHash(name string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	out := make([]byte, 8)
	for i := range out {
		out[i] = digits[int(sum[i])%len(digits)]
	}
	return string(out)
}

func TestPushConsumerRefusesNext(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	if _, err := b.js.CreatePushConsumer(t.Context(), "S", jetstream.ConsumerConfig{Durable: "p", DeliverSubject: "elsewhere", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	if m := b.holder("$JS.ACK.S.p.>").ask("$JS.ACK.S.p.1.1.1.1.0", `+NXT {"batch":1}`); strings.HasPrefix(m.Data, "data of") {
		t.Errorf("got %+v, want no message: the hint of A019 says that a push consumer gives none", m)
	}
}

func TestWholeStreamReadIsReal(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	h := b.holder(apiRoot+"DIRECT.GET.S", apiRoot+"STREAM.MSG.GET.S")
	h.fires(codeWhole, true)
	for seq, want := range map[int]string{1: "data of o.a", 2: "data of o.b"} {
		if m := h.ask(apiRoot+"DIRECT.GET.S", fmt.Sprintf(`{"seq":%d}`, seq)); m.Data != want {
			t.Errorf("direct get of %d: got %+v, want %q", seq, m, want)
		}
		if m := h.ask(apiRoot+"STREAM.MSG.GET.S", fmt.Sprintf(`{"seq":%d}`, seq)); strings.Contains(m.Data, `"error"`) {
			t.Errorf("message get of %d: got %s", seq, m.Data)
		}
	}
	star := b.holder(apiRoot + "DIRECT.GET.S.>")
	star.fires(codeWhole, true)
	if m := star.ask(apiRoot+"DIRECT.GET.S.>", ""); m.Data != "data of o.b" {
		t.Errorf("key >: got %+v, want the last message of all", m)
	}
	own := b.holder(apiRoot + "DIRECT.GET.S.o.a")
	own.fires(codeWhole, false)
	own.refused(apiRoot + "DIRECT.GET.S")
	own.refused(apiRoot + "DIRECT.GET.S.o.b")
	if m := own.ask(apiRoot+"DIRECT.GET.S.o.a", ""); m.Data != "data of o.a" {
		t.Errorf("own subject: got %+v", m)
	}
}

func TestMetadataAndManagementAreReal(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	h := b.holder(apiRoot + "STREAM.INFO.S")
	h.fires(codeMetadata, true)
	if m := h.ask(apiRoot+"STREAM.INFO.S", `{"subjects_filter":">"}`); !strings.Contains(m.Data, `"o.b":1`) {
		t.Errorf("info: got %s, want every subject", m.Data)
	}
	own := b.holder(apiRoot + "DIRECT.GET.S.o.a")
	own.fires(codeMetadata, false)
	own.fires(codeManage, false)
	own.refused(apiRoot + "STREAM.INFO.S")
	own.refused(apiRoot + "STREAM.PURGE.S")
	purger := b.holder(apiRoot + "STREAM.PURGE.S")
	purger.fires(codeManage, true)
	if m := purger.ask(apiRoot+"STREAM.PURGE.S", `{"filter":"o.b"}`); !strings.Contains(m.Data, `"purged":1`) {
		t.Errorf("purge: got %s, want the message of another gone", m.Data)
	}
	if m := own.ask(apiRoot+"DIRECT.GET.S.o.a", ""); m.Data != "data of o.a" {
		t.Errorf("own subject: got %+v", m)
	}
}

// TestDenyBelowTheAPIIsWalkedAround: what a deny withholds by name, a request gets by a wildcard.
func TestDenyBelowTheAPIIsWalkedAround(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	for _, tt := range []struct{ code, grant, deny, subject, body, want string }{
		{codeWhole, "DIRECT.GET.S.o.>", "DIRECT.GET.S.o.b", "DIRECT.GET.S.o.>", "", "data of o.b"},
		{codeUnpinned, "CONSUMER.CREATE.S.me.o.>", "CONSUMER.CREATE.S.me.o.b", "CONSUMER.CREATE.S.me.o.>",
			`{"stream_name":"S","config":{"name":"me","filter_subject":"o.>"}}`, `"num_pending":2`},
		{codeUnpinned, "CONSUMER.CREATE.S.me2.>", "CONSUMER.CREATE.S.me2.*", "CONSUMER.CREATE.S.me2.*.>",
			`{"stream_name":"S","config":{"name":"me2","filter_subject":"*.>"}}`, `"num_pending":2`},
	} {
		h := b.holder(apiRoot + tt.grant)
		h.perms.Pub.Deny = jwt.StringList{apiRoot + tt.deny}
		h.raw = b.s.Raw(t, b.s.User(t, h.perms))
		h.raw.Do(natstest.SubOp(strings.TrimSuffix(h.inbox, "r")+">", "", "1"))
		h.fires(tt.code, true)
		h.refused(strings.Replace(apiRoot+tt.deny, "*", "o", 1))
		if m := h.ask(apiRoot+tt.subject, tt.body); !strings.Contains(m.Data, tt.want) {
			t.Errorf("%s: got %+v, want %s", tt.subject, m, tt.want)
		}
	}
}

// TestRequestsAreOverheard: a subscription below the API hears the inbox of who asks; the advisories hold request and answer.
func TestRequestsAreOverheard(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	b.durable("c", "o.>")
	next, info := apiRoot+"CONSUMER.MSG.NEXT.S.c", apiRoot+"STREAM.INFO.S"
	ear := b.holder("elsewhere")
	ear.perms.Sub.Allow = append(ear.perms.Sub.Allow, next, "$JS.EVENT.ADVISORY.API")
	ear.raw = b.s.Raw(t, b.s.User(t, ear.perms))
	ear.fires(codeMetadata, true)
	ear.raw.Do(natstest.SubOp(next, "", "1"), natstest.SubOp("$JS.EVENT.ADVISORY.API", "", "2"))
	asker := b.holder(next, info)
	asker.ask(next, `{"batch":1}`)
	if got := ear.raw.Await().Msgs; len(got) != 1 || got[0].ReplyTo != asker.inbox {
		t.Errorf("got %+v, want the request with its inbox", got)
	}
	asker.ask(info, "")
	if got := ear.raw.Await().Msgs; len(got) != 1 || !strings.Contains(got[0].Data, "stream_info_response") {
		t.Errorf("got %+v, want the answer of another", got)
	}
	b.holder("elsewhere").fires(codeMetadata, false)
}
