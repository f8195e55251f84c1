package spacetest_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// callers are the profiles that people and programs outside the host hold.
var callers = bodies{
	"agent":    agentLives,
	"observer": observerWatches,
	"admin":    adminWatches,
	"operator": operatorSends,
	"probe":    probeConnects,
	"redeemed": handleIsUsed,
}

// wire is what every application subject of the space begins with.
const wire = "cotal.main."

// person is the identity of one actor of the common owner; more is added to it.
func person(actor string, more map[string]any) map[string]any {
	out := map[string]any{"owner": owner, "actor": actor, "uid": uidOf(actor)}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// uidOf is a lifecycle or instance id that only this name has.
func uidOf(name string) string { return (name + "0123456789abcdefghijklmnopq")[:26] }

// tripleOf is the caller as request and reply subjects pin it.
func tripleOf(actor string) string { return owner + "." + actor + "." + uidOf(actor) }

// client is the JetStream client of a holder: the requests are a client library's own.
func client(t *testing.T, h *spacetest.Holder) nats.JetStreamContext {
	t.Helper()
	js, err := h.JetStream(nats.MaxWait(spacetest.Patience))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func bucket(t *testing.T, h *spacetest.Holder, name string) nats.KeyValue {
	t.Helper()
	kv, err := client(t, h).KeyValue(name)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

// follow subscribes before the test goes on.
func follow(t *testing.T, nc *nats.Conn, subject, queue string) *nats.Subscription {
	t.Helper()
	sub, err := nc.QueueSubscribeSync(subject, queue)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.FlushTimeout(spacetest.Patience); err != nil {
		t.Fatal(err)
	}
	return sub
}

// hears waits for the next message and compares its payload; what others of the same space send in between is passed over.
func hears(t *testing.T, sub *nats.Subscription, want string) *nats.Msg {
	t.Helper()
	for {
		msg, err := sub.NextMsg(spacetest.Patience)
		if err != nil {
			t.Fatalf("%s: %v, want %q", sub.Subject, err, want)
		}
		if string(msg.Data) == want {
			return msg
		}
	}
}

// sees waits until a watcher shows a value under a key. The watcher ends with the connection: its holder may not delete the consumer,
// and the library would wait for the answer to that.
func sees(t *testing.T, kv nats.KeyValue, key, want string, change func()) {
	t.Helper()
	w, err := kv.Watch(key)
	if err != nil {
		t.Fatal(err)
	}
	changed := false
	for {
		select {
		case e := <-w.Updates():
			if e == nil && !changed { // all that stood there has come
				changed = true
				change()
			}
			if e != nil && string(e.Value()) == want {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("%s: never %q", key, want)
		}
	}
}

// asks sends a request of a caller through its own reply rail and has the server answer it. The server hears it plainly, so that
// no queue group of the shared space takes it away.
func asks(t *testing.T, s *spacetest.Space, h *spacetest.Holder, request, cT string) {
	t.Helper()
	server := s.Servers[0].Connect(t, s.Account(t, "space").User(t, everything))
	rail := follow(t, h.Conn, wire+"ep.reply.*.*.*."+cT+".*", "")
	requests := follow(t, server, request+".n1", "")
	if err := h.Publish(request+".n1", []byte("please")); err != nil {
		t.Fatal(err)
	}
	hears(t, requests, "please")
	if err := server.Publish(wire+"ep.reply.x."+uidOf("any")+".1."+cT+".n1", []byte("done")); err != nil {
		t.Fatal(err)
	}
	hears(t, rail, "done")
}

// agentLives has an agent post, send, receive, follow and ask; then one whose reads are mediated, which only does what the core
// protocol gives.
func agentLives(t *testing.T, s *spacetest.Space) {
	who := person("ann", map[string]any{"role": "annrole", "allowPublish": []any{"ann"}, "allowSubscribe": []any{"ann"}})
	s.Provision(t, "principal", who)
	grants := map[string]any{"capabilities": []any{map[string]any{"endpoint": "com.acme.ann", "commands": []any{
		map[string]any{"name": "look", "class": "ephemeral", "rails": []any{"one"}, "targets": []any{"self"}},
		map[string]any{"name": "work", "class": "journal", "action": true, "targets": []any{"self"}}}}}}
	ann := s.Open(t, "agent", person("ann", merged(who, grants)))
	bea := s.Open(t, "agent", person("bea", map[string]any{"allowPublish": []any{"ann"}, "reads": "mediated",
		"allowSubscribe": []any{"ann"}}))

	agentReads(t, ann, bea)
	asks(t, s, ann, wire+"ep.one.com_acme_ann.look.self."+tripleOf("ann"), tripleOf("ann"))
	asks(t, s, bea, wire+"ep.one.manager.describe."+tripleOf("bea"), tripleOf("bea"))
	ann.Store(wire+"epj.com_acme_ann.work.self."+tripleOf("ann"), `{"op":"work"}`)

	cT := tripleOf("bea")
	ann.Admits("PUB "+wire+"ep.one.manager.stop.self."+tripleOf("ann")+".n2", "SUB "+wire+"epe.com_acme_ann.*.*.goal."+tripleOf("ann")+".>")
	ann.Refuses("PUB "+wire+"ep.one.manager.stop.self."+cT+".n2", "SUB "+wire+"epe.com_acme_ann.*.*.goal."+cT+".>",
		"PUB "+wire+"epj.com_acme_ann.work.self."+cT, "SUB "+wire+"ep.reply.*.*.*."+cT+".*",
		"PUB "+wire+"chat."+owner+".bea.ann", "PUB "+wire+"inst."+owner+".bea."+owner+".bea", "PUB $KV.cotal_presence_main."+owner+".bea",
		"PUB $JS.API.CONSUMER.MSG.NEXT.DM_main.dm_"+owner+"-bea-"+uidOf("bea"), "PUB $JS.API.CONSUMER.CREATE.DM_main.x",
		"SUB "+wire+"inst.>")
	bea.Admits("PUB " + wire + "chat." + owner + ".bea.ann")
	bea.Refuses("PUB $JS.API.INFO", "PUB $JS.API.CONSUMER.MSG.NEXT.DM_main.dm_"+owner+"-bea-"+uidOf("bea"),
		"PUB $JS.API.STREAM.MSG.GET.KV_cotal_channels_main", "PUB "+wire+"chat."+owner+".ann.ann")
}

// agentReads: what bea sends, ann receives, live, from history, from its durables; and each keeps its presence.
func agentReads(t *testing.T, ann, bea *spacetest.Holder) {
	t.Helper()
	live, other := follow(t, ann.Conn, wire+"chat.*.*.ann", ""), follow(t, bea.Conn, wire+"chat.*.*.ann", "")
	bea.Store(wire+"chat."+owner+".bea.ann", "hello", "Nats-Msg-Id: bea-1")
	hears(t, live, "hello")
	hears(t, other, "hello")
	name, filter := "chathist_"+owner+"-ann-"+uidOf("ann"), wire+"chat.*.*.ann"
	ann.API("CONSUMER.CREATE.CHAT_main."+name+"."+filter, map[string]any{"stream_name": "CHAT_main", "config": map[string]any{"name": name,
		"filter_subject": filter, "deliver_policy": "all", "ack_policy": "none", "mem_storage": true,
		"inactive_threshold": spacetest.Patience}}, nil)
	if got := string(ann.Next("CHAT_main", name).Data); got != "hello" {
		t.Errorf("history: got %q, want hello", got)
	}
	ann.API("CONSUMER.DELETE.CHAT_main."+name, nil, nil)

	bea.Store(wire+"inst."+owner+".ann."+owner+".bea", "note")
	bea.Store(wire+"svc.annrole."+owner+".bea", "task")
	for _, c := range []struct{ stream, durable, want string }{
		{"DM_main", "dm_" + owner + "-ann-" + uidOf("ann"), "note"},
		{"TASK_main", "svc_annrole", "task"},
	} {
		msg := ann.Next(c.stream, c.durable)
		if string(msg.Data) != c.want {
			t.Errorf("%s: got %q, want %q", c.durable, msg.Data, c.want)
		}
		ann.Ack(msg)
	}
	sees(t, bucket(t, ann, "cotal_presence_main"), owner+".bea", "here",
		func() { bea.Store("$KV.cotal_presence_main."+owner+".bea", "here") })
	ann.Store("$KV.cotal_presence_main."+owner+".ann", "here")
	if _, err := bucket(t, ann, "cotal_channels_main").Get("=defaults"); err != nil {
		t.Errorf("channel registry: %v", err)
	}
	ann.Last("KV_cotal_delivery_main", "$KV.cotal_delivery_main.lease")
}

func merged(a, b map[string]any) map[string]any {
	out := map[string]any{}
	for _, m := range []map[string]any{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// watch is what observer and admin have in common: chat live and from history, presence, channels and membership as a client
// library reads them.
func watch(t *testing.T, s *spacetest.Space, h *spacetest.Holder, name string) {
	t.Helper()
	author := human(t, s, name, name)
	live := follow(t, h.Conn, wire+"chat.>", "")
	author.Store(wire+"chat."+owner+"."+name+"."+name, "hello "+name)
	hears(t, live, "hello "+name)
	readsBack(t, h, "CHAT_main", wire+"chat.*.*."+name, "hello "+name)
	sees(t, bucket(t, h, "cotal_presence_main"), owner+"."+name, "here",
		func() { author.Store("$KV.cotal_presence_main."+owner+"."+name, "here") })
	feed := s.Open(t, "membership-rw", nil)
	sees(t, bucket(t, h, "cotal_membership_main"), name, "joined", func() { feed.Store("$KV.cotal_membership_main."+name, "joined") })
	if _, err := bucket(t, h, "cotal_channels_main").Get("=defaults"); err != nil {
		t.Errorf("channel registry: %v", err)
	}
}

// readsBack reads a stream through a consumer of the holder's own, as a client library makes one.
func readsBack(t *testing.T, h *spacetest.Holder, stream, filter, want string) {
	t.Helper()
	sub, err := client(t, h).SubscribeSync(filter, nats.OrderedConsumer(), nats.BindStream(stream))
	if err != nil {
		t.Fatal(err)
	}
	hears(t, sub, want)
	if err := sub.Unsubscribe(); err != nil {
		t.Error(err)
	}
}

func observerWatches(t *testing.T, s *spacetest.Space) {
	h := s.Open(t, "observer", nil)
	watch(t, s, h, "oscar")
	h.Admits("SUB "+wire+"chat.>", "PUB $JS.API.CONSUMER.INFO.CHAT_main.fanout")
	h.Refuses("SUB "+wire+"inst.>", "SUB "+wire+"svc.>", "SUB "+wire+"ep.>", "PUB $JS.API.STREAM.INFO.DM_main",
		"PUB $JS.API.CONSUMER.CREATE.DM_main.x",
		"PUB "+wire+"chat."+owner+".oscar.oscar", "PUB $KV.cotal_presence_main."+owner+".oscar")
}

func adminWatches(t *testing.T, s *spacetest.Space) {
	h := s.Open(t, "admin", nil)
	watch(t, s, h, "adele")
	author := human(t, s, "adele2")
	notes, tasks := follow(t, h.Conn, wire+"inst.>", ""), follow(t, h.Conn, wire+"svc.>", "")
	author.Store(wire+"inst."+owner+".adele."+owner+".adele2", "adele's note")
	author.Store(wire+"svc.adelerole."+owner+".adele2", "adele's task")
	hears(t, notes, "adele's note")
	hears(t, tasks, "adele's task")
	readsBack(t, h, "DM_main", wire+"inst."+owner+".adele.>", "adele's note")
	h.Admits("SUB " + wire + "inst.>")
	h.Refuses("SUB "+wire+"ep.>", "SUB "+wire+"eps.>", "SUB >", "PUB "+wire+"inst."+owner+".adele."+owner+".adele2",
		"PUB $JS.API.STREAM.INFO.KV_cotal_acl_main",
		"PUB $JS.API.STREAM.PURGE.CHAT_main")
}

// human is an operator's command line, which may post in some channels.
func human(t *testing.T, s *spacetest.Space, actor string, channels ...string) *spacetest.Holder {
	t.Helper()
	post := []any{}
	for _, c := range channels {
		post = append(post, c)
	}
	return s.Open(t, "operator", map[string]any{"owner": owner, "actor": actor, "allowPublish": post})
}

func operatorSends(t *testing.T, s *spacetest.Space) {
	h := human(t, s, "opal", "opal")
	h.Store(wire+"chat."+owner+".opal.opal", "hello", "Nats-Msg-Id: opal-1")
	h.Store(wire+"inst."+owner+".ann."+owner+".opal", "note to nobody here")
	h.Store(wire+"svc.opalrole."+owner+".opal", "task")
	h.Store("$KV.cotal_presence_main."+owner+".opal", "here")
	h.Admits("PUB " + wire + "chat." + owner + ".opal.opal")
	h.Refuses("PUB "+wire+"chat."+owner+".olga.opal", "PUB "+wire+"chat."+owner+".opal.general",
		"PUB "+wire+"inst."+owner+".ann."+owner+".olga",
		"PUB $KV.cotal_presence_main."+owner+".olga", "SUB "+wire+"chat.>", "PUB $JS.API.INFO")
}

func probeConnects(t *testing.T, s *spacetest.Space) {
	const conn = "probe0123456789abcdefghij"
	h := s.Open(t, "probe", map[string]any{"connId": conn})
	if err := h.FlushTimeout(spacetest.Patience); err != nil {
		t.Fatal(err)
	}
	h.Admits("SUB _INBOX_" + conn + ".x")
	h.Refuses("SUB _INBOX_probe0123456789abcdefghik.x", "SUB "+wire+"chat.>", "PUB "+wire+"chat."+owner+".probe.general",
		"PUB $JS.API.INFO", "PUB _INBOX_"+conn+".x")
}

// handleIsUsed asks with what the redemption of a handle confers: one command about one lifecycle.
func handleIsUsed(t *testing.T, s *spacetest.Space) {
	const name, endpoint = "com.acme.redeem", "com_acme_redeem"
	iid := uidOf("redeem")
	target := map[string]any{"handle": map[string]any{"tOwner": owner, "tActor": "target", "tUid": otherUID}}
	h := s.Open(t, "redeemed", person("holder", map[string]any{"capabilities": []any{map[string]any{"endpoint": name, "commands": []any{
		map[string]any{"name": "stop", "class": "ephemeral", "rails": []any{"one"}, "targets": []any{target}}}}}}))
	server := s.Open(t, "endpoint-serve", map[string]any{"owner": owner, "actor": "redeemer", "endpoint": name, "instance": iid, "epoch": "1",
		"commands": []any{map[string]any{"name": "stop", "class": "ephemeral"}}})
	cT := tripleOf("holder")
	serve(t, server, wire+"ep.one."+endpoint+".stop.>", endpoint, wire+"ep.reply."+endpoint+"."+iid+".1."+cT+".n1", `{"stopped":true}`)
	request := wire + "ep.one." + endpoint + ".stop.handle." + owner + ".target." + otherUID + "." + cT + "."
	if got := ask(t, h, request+"n1", wire+"ep.reply.*.*.*."+cT+".*"); got != `{"stopped":true}` {
		t.Errorf("answer: got %q, want the endpoint's", got)
	}
	h.Admits("PUB " + request + "n2")
	h.Refuses("PUB "+wire+"ep.one."+endpoint+".stop.handle."+owner+".target."+uid+"."+cT+".n2", "PUB "+wire+"ep.one."+endpoint+".stop.owner."+owner+"."+cT+".n2",
		"PUB "+wire+"ep.one."+endpoint+".start.handle."+owner+".target."+otherUID+"."+cT+".n2", "PUB "+wire+"ep.one.com_acme_other.stop.handle."+owner+".target."+otherUID+"."+cT+".n2",
		"PUB "+wire+"ep.one."+endpoint+".describe."+cT+".n2", "PUB "+wire+"chat."+owner+".holder.general", "SUB "+wire+"ep.reply.*.*.*."+tripleOf("other")+".*")
}
