package spacetest_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// serving are the host's own endpoints.
var serving = bodies{"supervisor": supervisorServes, "delivery": deliveryServes}

// finds pulls until a message with this payload comes, and acknowledges it and what came before: a consumer of a whole stream sees
// what others send.
func finds(t *testing.T, h *spacetest.Holder, stream, consumer, want string) *nats.Msg {
	t.Helper()
	for {
		msg := h.Next(stream, consumer)
		h.Ack(msg)
		if string(msg.Data) == want {
			return msg
		}
	}
}

// answers has a caller ask an endpoint through its queue group, and the endpoint answer on its own reply rail.
func answers(t *testing.T, server, caller *spacetest.Holder, endpoint, command, rail, actor string) {
	t.Helper()
	request := wire + "ep.one." + endpoint + "." + command + "." + tripleOf(actor) + ".n1"
	requests := follow(t, server.Conn, wire+"ep.one."+endpoint+"."+command[:len(command)-len(".self")]+".>", endpoint)
	replies := follow(t, caller.Conn, wire+"ep.reply.*.*.*."+tripleOf(actor)+".*", "")
	if err := caller.Publish(request, []byte(actor)); err != nil {
		t.Fatal(err)
	}
	if msg := hears(t, requests, actor); msg.Subject != request {
		t.Errorf("heard %s, want %s", msg.Subject, request)
	}
	if err := server.Publish(rail+"."+tripleOf(actor)+".n1", []byte("done")); err != nil {
		t.Fatal(err)
	}
	hears(t, replies, "done")
}

// supervisorServes answers as manager, records itself, keeps its lease, asks for a timer, takes its fire and its decisions, and asks
// the delivery daemon.
func supervisorServes(t *testing.T, s *spacetest.Space) {
	me := map[string]any{"actor": "sup", "uid": uidOf("sup"), "instance": uidOf("supi"), "epoch": "3"}
	h, a := s.Open(t, "supervisor", me), s.At(t, "EPF", "supervisor", me)
	own, cT := "manager."+uidOf("supi")+".3", "local.sup."+uidOf("sup")
	answers(t, h, s.Open(t, "agent", person("sue", nil)), "manager", "stop.self", wire+"ep.reply."+own, "sue")
	asks(t, s, h, wire+"ep.one.delivery.evict-principal."+cT, cT)
	h.Store(wire+"epe."+own+".ev.spawned", "{}")
	h.Store(wire+"epr."+own+".svc.status", "{}")
	h.Store(wire+"ept."+own+".t1.schedule", "{}")

	lease := a.Store("$KV.cotal_manager_main.lease", uidOf("supi"), nats.ExpectedLastSubjSeqHdr+": 0")
	if got := string(a.Last("KV_cotal_manager_main", "$KV.cotal_manager_main.lease")); got != uidOf("supi") {
		t.Errorf("lease: got %q, want its own", got)
	}
	a.Store("$KV.cotal_manager_main.lease", uidOf("supi"), fmt.Sprintf("%s: %d", nats.ExpectedLastSubjSeqHdr, lease.Seq))
	p, js := s.At(t, "EPF", "provisioner", map[string]any{"endpoint": "manager", "instance": uidOf("supi")}), s.Admin(t, "EPF")
	makes(t, p, "EPF_main", "eff_manager", wire+"epf.manager.dec.>")
	makes(t, p, "EPT_main", "fire_"+uidOf("supi")+"-manager", wire+"ept.manager."+uidOf("supi")+".*.*.fire")
	for subject, data := range map[string]string{wire + "epf.manager.dec." + tripleOf("sue") + ".d1": "decision",
		wire + "ept." + own + ".t1.fire": "fire"} {
		if _, err := js.Publish(subject, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	finds(t, a, "EPF_main", "eff_manager", "decision")
	finds(t, a, "EPT_main", "fire_"+uidOf("supi")+"-manager", "fire")

	h.Admits("SUB "+wire+"ep.one.manager.attach.> manager", "PUB "+wire+"epe."+own+".ev.x")
	h.Refuses("SUB "+wire+"ep.one.manager.stop.>", "SUB "+wire+"ep.one.delivery.join.> delivery",
		"SUB "+wire+"ep.inst.manager."+instance+".stop.>",
		"PUB "+wire+"ep.reply.manager."+uidOf("supi")+".4."+tripleOf("sue")+".n1",
		"PUB "+wire+"ep.reply.manager."+instance+".3."+tripleOf("sue")+".n1",
		"PUB "+wire+"epe.manager."+instance+".3.ev.x", "PUB "+wire+"ep.one.delivery.evict-principal.local.sam."+uidOf("sam")+".n1")
	a.Refuses("PUB $KV.cotal_manager_main.other", "PUB $JS.API.CONSUMER.MSG.NEXT.EPF_main.eff_com_acme_sup",
		"PUB $JS.API.CONSUMER.MSG.NEXT.EPT_main.fire_"+instance+"-manager", "PUB "+wire+"epf.manager.dec."+tripleOf("sue")+".d1")
}

// deliveryServes carries one chat message to a durable member: fan-out, the mixed store, the check against the ACL, the member's own
// store; and answers a join.
func deliveryServes(t *testing.T, s *spacetest.Space) {
	who := person("deb", map[string]any{"allowSubscribe": []any{"deb"}, "allowPublish": []any{"deb"}})
	s.Provision(t, "principal", who)
	me := map[string]any{"actor": "del", "instance": uidOf("deli"), "epoch": "2"}
	deb, h, a := s.Open(t, "agent", who), s.Open(t, "delivery", me), s.At(t, "members", "delivery", me)
	own := "delivery." + uidOf("deli") + ".2"
	answers(t, h, deb, "delivery", "join.self", wire+"ep.reply."+own, "deb")
	h.Store(wire+"epe."+own+".ev.joined", "{}")
	h.Store(wire+"epr."+own+".svc.status", "{}")
	h.Store("$KV.cotal_delivery_main.lease", uidOf("deli"), nats.ExpectedLastSubjSeqHdr+": 0")
	h.Last("KV_cotal_delivery_main", "$KV.cotal_delivery_main.lease")

	member := "$KV.cotal_members_main." + owner + "-deb-" + uidOf("deb")
	a.Store(member, `{"join":1}`, nats.ExpectedLastSubjSeqHdr+": 0")
	config(t, a, "KV_cotal_members_main")
	sent := deb.Store(wire+"chat."+owner+".deb.deb", "to deliver", "Nats-Msg-Id: deb-1")
	finds(t, h, "CHAT_main", "fanout", "to deliver")
	if h.Last("KV_cotal_channels_main", "$KV.cotal_channels_main.=defaults") == nil {
		t.Error("no delivery class to resolve")
	}
	id := fmt.Sprintf("Nats-Msg-Id: %d-%s", sent.Seq, tripleOf("deb"))
	h.Store(wire+"dinbox."+tripleOf("deb"), "copy for deb", id)
	if !h.Store(wire+"dinbox."+tripleOf("deb"), "copy for deb", id).Duplicate {
		t.Error("a second copy of one sequence and recipient was stored")
	}
	finds(t, h, "INBOX_main", "reader", "copy for deb")
	if a.Last("KV_cotal_acl_main",
		"$KV.cotal_acl_main."+owner+"-deb-"+uidOf("deb")) == nil || string(a.Last("KV_cotal_members_main", member)) != `{"join":1}` {
		t.Error("nothing to authorize the copy against")
	}
	h.Store(wire+"dlv."+tripleOf("deb"), "copy for deb", id)
	finds(t, deb, "DLV_main", "dlv_"+owner+"-deb-"+uidOf("deb"), "copy for deb")

	h.Admits("PUB "+wire+"dlv."+tripleOf("deb"), "PUB "+wire+"ep.reply."+own+"."+tripleOf("deb")+".n1")
	h.Refuses("PUB "+wire+"chat."+owner+".deb.deb", "PUB "+wire+"inst."+owner+".deb."+owner+".deb", "PUB $KV.cotal_membership_main.x",
		"SUB "+wire+"ep.one.delivery.join.>", "SUB "+wire+"ep.one.manager.stop.> manager",
		"PUB "+wire+"ep.reply.manager."+uidOf("deli")+".2."+tripleOf("deb")+".n1",
		"PUB $JS.API.CONSUMER.MSG.NEXT.DM_main.dm_"+owner+"-deb-"+uidOf("deb"),
		"PUB $JS.API.CONSUMER.MSG.NEXT.DLV_main.dlv_"+owner+"-deb-"+uidOf("deb"))
	a.Refuses("PUB $KV.cotal_acl_main."+owner+"-deb-"+uidOf("deb"), "PUB $KV.cotal_manager_main.lease",
		"PUB $KV.cotal_records_main.uid."+uidOf("deb"))
}
