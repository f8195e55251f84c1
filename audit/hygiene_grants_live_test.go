package audit

import (
	"context"
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
		if denied, err := b.try(tt.do, tt.half...); err == nil || !strings.Contains(denied, tt.denied) {
			t.Errorf("%v: got %v and %q, want a failure for %s", tt.half, err, denied, tt.denied)
		}
		whole := append(slices.Clone(tt.half), tt.other)
		b.holder(whole...).fires(codeHalf, false)
		if denied, err := b.try(tt.do, whole...); err != nil || denied != "" {
			t.Errorf("%v: got %v and %q, want it to work", whole, err, denied)
		}
	}
}

// try runs a client's call with these grants, and ends it at the first refusal, which it returns.
func (b *powerBench) try(do func(context.Context, jetstream.JetStream) error, grants ...string) (denied string, err error) {
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
	return denied, err
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
