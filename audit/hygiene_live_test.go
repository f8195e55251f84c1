package audit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestRollupErasesOtherKeys: the writer of one key of a bucket as clients create it erases the others; of one without roll-up it does not.
func TestRollupErasesOtherKeys(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	for _, open := range []bool{true, false} {
		name := fmt.Sprintf("bucket%t", open)
		kv, err := b.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: name})
		if err != nil {
			t.Fatal(err)
		}
		if !open {
			info, err := b.js.Stream(t.Context(), "KV_"+name)
			if err != nil {
				t.Fatal(err)
			}
			cfg := info.CachedInfo().Config
			cfg.AllowRollup = false
			if _, err := b.js.UpdateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := kv.PutString(t.Context(), "theirs", "v"); err != nil {
			t.Fatal(err)
		}
		h := b.holder("$KV." + name + ".mine")
		h.fires(codeHeaders, true) // without a contract nothing tells the two apart: a warning
		h.refused("$KV." + name + ".theirs")
		h.answer(h.headerOp("$KV."+name+".mine", "Nats-Rollup", "all"))
		if _, err := kv.Get(t.Context(), "theirs"); (err != nil) != open {
			t.Errorf("roll-up allowed %t: the other key: got %v", open, err)
		}
	}
}

func TestConnectionsAreSeen(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	if _, err := b.nc.SubscribeSync("secret.nonce"); err != nil {
		t.Fatal(err)
	}
	if err := b.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	h := b.holder("$SYS.REQ.ACCOUNT.PING.CONNZ")
	h.fires(codeSystem, true)
	if m := h.ask("$SYS.REQ.ACCOUNT.PING.CONNZ", `{"subscriptions":true}`); !strings.Contains(m.Data, "secret.nonce") {
		t.Errorf("CONNZ: got %.200s, want the subscription of another", m.Data)
	}
	own := b.holder("$SYS.REQ.USER.INFO")
	own.fires(codeSystem, false)
	own.refused("$SYS.REQ.ACCOUNT.PING.CONNZ")
	if m := own.ask("$SYS.REQ.USER.INFO", ""); !strings.Contains(m.Data, "_INBOX_h") {
		t.Errorf("USER.INFO: got %s, want its own permissions", m.Data)
	}
}

// TestSystemUserHearsRequests: a system user that may subscribe a request subject answers in a server's place.
func TestSystemUserHearsRequests(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	asker := s.Raw(t, s.System.User(t, jwt.Permissions{}))
	asker.Do(natstest.SubOp("_INBOX_a.>", "", "1"))
	hearer := s.Raw(t, s.System.User(t, jwt.Permissions{Sub: jwt.Permission{Allow: jwt.StringList{"$SYS.REQ.SERVER.PING.VARZ"}}}))
	hearer.Do(natstest.SubOp("$SYS.REQ.SERVER.PING.VARZ", "", "1"))
	asker.Do(natstest.PubOp("$SYS.REQ.SERVER.PING.VARZ", "_INBOX_a.r", ""))
	if m := hearer.Await().Msgs[0]; m.ReplyTo != "_INBOX_a.r" {
		t.Errorf("got %+v, want the request with its reply subject", m)
	}
	quiet := s.Raw(t, s.System.User(t, jwt.Permissions{Sub: jwt.Permission{Allow: jwt.StringList{"_INBOX_q.>"}}}))
	if errs := quiet.Do(natstest.SubOp("$SYS.REQ.SERVER.PING.VARZ", "", "1"))[0].Errs; len(errs) == 0 {
		t.Error("a system user with an inbox alone hears requests")
	}
}

func TestMuteHearsNothing(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	perms := jwt.Permissions{Pub: jwt.Permission{Allow: jwt.StringList{apiRoot + "DIRECT.GET.S.o.a"}}, Sub: jwt.Permission{Allow: jwt.StringList{"x.> q"}}}
	h := &holder{t: t, raw: b.s.Raw(t, b.s.User(t, perms)), perms: perms}
	h.fires(codeMute, true)
	for _, inbox := range []string{"_INBOX_h.>", "x.>", "x.r"} {
		if errs := h.raw.Do(natstest.SubOp(inbox, "", "1"))[0].Errs; len(errs) == 0 {
			t.Errorf("SUB %s is admitted, so it is not mute", inbox)
		}
	}
	if reply := h.raw.Do(natstest.PubOp(perms.Pub.Allow[0], "_INBOX_h.r", ""))[0]; len(reply.Errs) > 0 {
		t.Errorf("the request itself: got %v, want none", reply.Errs)
	}
	own := b.holder(perms.Pub.Allow...)
	own.fires(codeMute, false)
	if m := own.ask(perms.Pub.Allow[0], ""); m.Data != "data of o.a" {
		t.Errorf("with an inbox: got %+v", m)
	}
}

// TestHalvesFailInClients: what A026 says that a client asks first is what nats.go asks, and with it the call works.
func TestHalvesFailInClients(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	b.durable("c", "o.>")
	kv, err := b.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if _, err := b.js.Publish(t.Context(), "o.c", nil); err != nil {
			t.Fatal(err)
		}
	}
	get := func(ctx context.Context, js jetstream.JetStream) error {
		kv, err := js.KeyValue(ctx, "b")
		if err == nil {
			_, err = kv.Get(ctx, "k")
		}
		return err
	}
	pull := func(ctx context.Context, js jetstream.JetStream) error {
		c, err := js.Consumer(ctx, "S", "c")
		if err != nil {
			return err
		}
		batch, err := c.FetchNoWait(1)
		if err != nil {
			return err
		}
		for m := range batch.Messages() {
			return m.DoubleAck(ctx)
		}
		return fmt.Errorf("no message: %w", batch.Error())
	}
	for _, tt := range []struct {
		do     func(context.Context, jetstream.JetStream) error
		half   []string
		other  string // the missing half
		denied string
	}{
		{get, []string{apiRoot + "DIRECT.GET.KV_b.$KV.b.k"}, apiRoot + "STREAM.INFO.KV_b", "STREAM.INFO.KV_b"},
		{pull, []string{apiRoot + "CONSUMER.MSG.NEXT.S.c", "$JS.ACK.S.c.>"}, apiRoot + "CONSUMER.INFO.S.c", "CONSUMER.INFO.S.c"},
		{pull, []string{apiRoot + "CONSUMER.MSG.NEXT.S.c", apiRoot + "CONSUMER.INFO.S.c"}, "$JS.ACK.S.c.>", "$JS.ACK.S.c."},
	} {
		b.holder(tt.half...).fires(codeHalf, true)
		if err, denied := b.try(tt.do, tt.half...); err == nil || !strings.Contains(denied, tt.denied) {
			t.Errorf("%v: got %v and %q, want a failure for %s", tt.half, err, denied, tt.denied)
		}
		whole := append(slices.Clone(tt.half), tt.other)
		b.holder(whole...).fires(codeHalf, false)
		if err, denied := b.try(tt.do, whole...); err != nil || denied != "" {
			t.Errorf("%v: got %v and %q, want it to work", whole, err, denied)
		}
	}
}

// try runs a client's call with these grants, and ends it at the first refusal, which it returns.
func (b *powerBench) try(do func(context.Context, jetstream.JetStream) error, grants ...string) (err error, denied string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer cancel()
	refusals := make(chan string, 16)
	perms := jwt.Permissions{Pub: jwt.Permission{Allow: grants}, Sub: jwt.Permission{Allow: jwt.StringList{"_INBOX_t.>"}}}
	nc := b.s.Connect(b.t, b.s.User(b.t, perms), nats.CustomInboxPrefix("_INBOX_t"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		refusals <- err.Error()
		cancel()
	}))
	js, err := jetstream.New(nc)
	if err != nil {
		b.t.Fatal(err)
	}
	err = do(ctx, js)
	select {
	case denied = <-refusals:
	default:
	}
	return err, denied
}

// TestTooLongDoesNotConnect: the credential that A027 names is refused by a server of that control line, a shorter one is not.
func TestTooLongDoesNotConnect(t *testing.T) {
	t.Parallel()
	const line = 4096
	s := natstest.Start(t, func(o *natsserver.Options) { o.MaxControlLine = line })
	for _, tags := range []int{0, line} {
		creds := s.User(t, jwt.Permissions{}, func(uc *jwt.UserClaims) { uc.Tags = jwt.TagList{strings.Repeat("x", tags+1)} })
		r, err := Bytes(Config{ControlLine: line}, "u", []byte(creds.JWT))
		if err != nil {
			t.Fatal(err)
		}
		found := slices.Contains(codes(r), codeTooLong)
		if errs := s.Login(t, creds); found != (tags > 0) || found != (len(errs) > 0) {
			t.Errorf("%d bytes: found %t, login %v", len(creds.JWT), found, errs)
		}
	}
}

// TestEveryVerbIsKnown: what the client libraries ask stands in the closed table, so that A020 is no false alarm.
func TestEveryVerbIsKnown(t *testing.T) {
	known := 0
	for _, subject := range []string{natsserver.JSApiStreamCreate, natsserver.JSApiStreamUpdate, natsserver.JSApiStreams, natsserver.JSApiStreamList, natsserver.JSApiStreamInfo,
		natsserver.JSApiStreamDelete, natsserver.JSApiStreamPurge, natsserver.JSApiStreamSnapshot, natsserver.JSApiStreamRestore, natsserver.JSApiMsgDelete, natsserver.JSApiMsgGet,
		natsserver.JSDirectMsgGet, natsserver.JSDirectGetLastBySubject, natsserver.JSApiConsumerCreate, natsserver.JSApiConsumerCreateEx, natsserver.JSApiDurableCreate,
		natsserver.JSApiConsumers, natsserver.JSApiConsumerList, natsserver.JSApiConsumerInfo, natsserver.JSApiConsumerDelete, natsserver.JSApiConsumerPause, natsserver.JSApiConsumerUnpin,
		natsserver.JSApiStreamRemovePeer, natsserver.JSApiStreamLeaderStepDown, natsserver.JSApiConsumerLeaderStepDown, natsserver.JSApiLeaderStepDown, natsserver.JSApiRemoveServer,
		natsserver.JSApiAccountPurge, natsserver.JSApiServerStreamMove, natsserver.JSApiServerStreamCancelMove, natsserver.JSApiAccountInfo} {
		if ownAPI.named(strings.TrimPrefix(subject, apiRoot)) == nil {
			t.Errorf("%s is not in the table", subject)
			continue
		}
		known++
	}
	if known < 30 {
		t.Errorf("checked %d subjects, want the server's", known)
	}
}
