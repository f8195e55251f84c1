package audit

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// hearer is a connection that hears what is granted and publishes nothing.
func (b *powerBench) hearer(entry string) *holder {
	b.t.Helper()
	perms := jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{">"}}, Sub: jwt.Permission{Allow: jwt.StringList{entry}}}
	h := &holder{t: b.t, raw: b.s.Raw(b.t, b.s.User(b.t, perms)), perms: perms}
	if errs := h.raw.Do(natstest.SubOp(entry, "", "1"))[0].Errs; len(errs) > 0 {
		b.t.Fatalf("SUB %s: %v", entry, errs)
	}
	return h
}

// deaf makes sure that a subscription is not the holder's.
func (h *holder) deaf(sub string) {
	h.t.Helper()
	if errs := h.raw.Do(natstest.SubOp(sub, "", "9"))[0].Errs; len(errs) == 0 {
		h.t.Errorf("%v subscribes %s too", h.perms.Sub.Allow, sub)
	}
}

// TestAdvisoriesTellRequests: who hears advisories hears the body of another's consumer create.
func TestAdvisoriesTellRequests(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	h := b.hearer("$JS.EVENT.ADVISORY.>")
	h.fires(codeAdvisory, true)
	b.durable("secret", "o.a")
	for heard := false; !heard; {
		for _, m := range h.raw.Await().Msgs {
			heard = heard || m.Subject == apiAdvisory && strings.Contains(m.Data, "secret")
		}
	}
	own := b.hearer("$JS.EVENT.ADVISORY.CONSUMER.DELETED.S.mine")
	own.fires(codeAdvisory, false)
	own.deaf(apiAdvisory)
	b.durable("mine", "o.a")
	if err := b.js.DeleteConsumer(t.Context(), "S", "mine"); err != nil {
		t.Fatal(err)
	}
	if m := own.raw.Await().Msgs[0]; !strings.Contains(m.Subject, "DELETED.S.mine") {
		t.Errorf("its own advisory: got %+v", m)
	}
}

// TestBucketWritesAreHeard: a plain subscription on a bucket hears values that no API grant lets it read.
func TestBucketWritesAreHeard(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	kv, err := b.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "b"})
	if err != nil {
		t.Fatal(err)
	}
	h, own := b.hearer("$KV.b.>"), b.hearer("$KV.b.mine.>")
	h.fires(codeBucketSub, true)
	own.fires(codeBucketSub, false)
	own.deaf("$KV.b.>")
	for _, key := range []string{"theirs.k", "mine.k"} {
		if _, err := kv.PutString(t.Context(), key, "value of "+key); err != nil {
			t.Fatal(err)
		}
	}
	if m := h.raw.Await().Msgs[0]; m.Data != "value of theirs.k" {
		t.Errorf("got %+v, want the value of another", m)
	}
	if m := own.raw.Await().Msgs[0]; m.Data != "value of mine.k" {
		t.Errorf("its own key: got %+v", m)
	}
}

// TestInboxGrantForges: who may publish below _INBOX answers a request that it never heard; who may not is refused.
func TestInboxGrantForges(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	asker := b.s.Raw(t, b.s.User(t, jwt.Permissions{}))
	asker.Do(natstest.SubOp("_INBOX.asker.*", "", "1"))
	h := b.holder("_INBOX.>")
	h.fires(codeAnyInbox, true)
	h.raw.Do(natstest.PubOp("_INBOX.asker.1", "", "forged"))
	if m := asker.Await().Msgs[0]; m.Data != "forged" {
		t.Errorf("got %+v, want the forged answer", m)
	}
	own := b.holder("_INBOX_bob.>")
	own.fires(codeAnyInbox, false)
	own.refused("_INBOX.asker.1")
}

// TestDeniedGrantsNothing: the broker refuses what A025 says that denies withhold, and admits it without them.
func TestDeniedGrantsNothing(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	for _, denied := range []bool{true, false} {
		perms := perms([]string{"orders.new"}, []string{"_INBOX_n.>"})
		if denied {
			perms.Pub.Deny, perms.Sub.Deny = jwt.StringList{"orders.>"}, jwt.StringList{">"}
		}
		h := &holder{t: t, raw: b.s.Raw(t, b.s.User(t, perms)), perms: perms}
		h.fires(codeMute, denied)
		for _, op := range []string{natstest.PubOp("orders.new", "", ""), natstest.SubOp("_INBOX_n.>", "", "1")} {
			if errs := h.raw.Do(op)[0].Errs; (len(errs) > 0) != denied {
				t.Errorf("denied %t: %.30q: got %v", denied, op, errs)
			}
		}
	}
}

// TestMQTTSubjectsPassTopics: who may publish below $MQTT.msgs reaches an MQTT client on a topic that is not granted to it.
func TestMQTTSubjectsPassTopics(t *testing.T) {
	t.Parallel()
	var opts *natsserver.Options
	b := newPowerBench(t, func(o *natsserver.Options) {
		o.ServerName, o.MQTT = "mqtt", natsserver.MQTTOpts{Host: "127.0.0.1", Port: -1}
		opts = o
	})
	client := b.s.User(t, jwt.Permissions{}, func(uc *jwt.UserClaims) { uc.BearerToken = true })
	conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", opts.MQTT.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	text := func(s string) string { return string([]byte{byte(len(s) >> 8), byte(len(s))}) + s }
	send := func(kind byte, body string) {
		head := []byte{kind}
		for n := len(body); ; {
			digit := byte(n % 128)
			if n /= 128; n > 0 {
				head = append(head, digit|128)
				continue
			}
			head = append(head, digit)
			break
		}
		if _, err := conn.Write(append(head, body...)); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (kind byte, body string) {
		head := make([]byte, 2)
		if _, err := io.ReadFull(in, head); err != nil {
			t.Fatal(err)
		}
		data := make([]byte, head[1])
		if _, err := io.ReadFull(in, data); err != nil {
			t.Fatal(err)
		}
		return head[0] >> 4, string(data)
	}
	send(0x10, text("MQTT")+"\x04\xc2\x00\x3c"+text("c1")+text("u")+text(client.JWT))
	if kind, body := read(); kind != 2 || body != "\x00\x00" {
		t.Fatalf("got %d %q, want CONNACK", kind, body)
	}
	send(0x82, "\x00\x01"+text("secret")+"\x01")
	if kind, _ := read(); kind != 9 {
		t.Fatalf("got %d, want SUBACK", kind)
	}
	h := b.holder("$MQTT.msgs.>")
	h.fires(codeMQTT, true)
	h.refused("secret")
	h.raw.Do(strings.Replace(h.headerOp("$MQTT.msgs.secret", "Nmqtt-Pub", "1"), h.inbox, "", 1))
	if kind, body := read(); kind != 3 || !strings.Contains(body, "secret") {
		t.Errorf("got %d %q, want the message on the topic", kind, body)
	}
	own := b.holder("sensors.x")
	own.fires(codeMQTT, false)
	own.refused("$MQTT.msgs.secret")
}
