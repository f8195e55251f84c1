package spacetest_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// retirement is what one retirement operation mints: a cleaner, an executor, and the repairs of a drain, one subject each.
var retirement = bodies{
	"retirement-cleaner":  poolCleaner,
	"retirement-executor": poolSettler,
	"drain-applier":       drainApplier,
	"drain-reconciler":    drainReconciler,
	"drain-canceller":     drainCanceller,
}

// pool makes the durable of one pool, as the provisioner does, and puts one item into it.
func pool(t *testing.T, s *spacetest.Space, endpoint, queue, item string) {
	t.Helper()
	js := s.Admin(t, "EPW")
	if _, err := js.AddConsumer("EPW_main", &nats.ConsumerConfig{Durable: "pool_" + endpoint + "_" + queue, FilterSubject: "cotal.main.epw." + endpoint + "." + queue + ".>",
		AckPolicy: nats.AckExplicitPolicy, MaxDeliver: -1}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish("cotal.main.epw."+endpoint+"."+queue+"."+item, []byte(`{"v":1}`)); err != nil {
		t.Fatal(err)
	}
}

// poolCleaner takes a retired owner's items out of the discovered pools after it has seen their terminals, and publishes nothing.
func poolCleaner(t *testing.T, s *spacetest.Space) {
	const name, endpoint = "com.acme.clean", "com_acme_clean" // a name, and the token that it is on the wire
	item := owner + ".gone." + uid + ".r1"
	pool(t, s, endpoint, "gpu", item)
	pool(t, s, endpoint, "cpu", item)
	if _, err := s.Admin(t, "EPF").Publish("cotal.main.epf."+endpoint+".wrk.gpu."+item, []byte(`{"state":"expired"}`)); err != nil {
		t.Fatal(err)
	}
	h := s.Open(t, "retirement-cleaner", map[string]any{"actor": "ep_clean", "endpoint": name, "pools": []any{"gpu"}})
	if got := h.Last("EPF_main", "cotal.main.epf."+endpoint+".wrk.gpu."+item); string(got) != `{"state":"expired"}` {
		t.Errorf("terminal: got %q, want the fact", got)
	}
	msg := h.Next("EPW_main", "pool_"+endpoint+"_gpu")
	h.Ack(msg)
	var info struct {
		Pending int `json:"num_pending"`
		Acks    int `json:"num_ack_pending"`
	}
	h.API("CONSUMER.INFO.EPW_main.pool_"+endpoint+"_gpu", nil, &info)
	if info.Pending != 0 || info.Acks != 0 {
		t.Errorf("pool: got %+v, want it quiescent", info)
	}
	h.Refuses("PUB $JS.API.CONSUMER.MSG.NEXT.EPW_main.pool_"+endpoint+"_cpu", "PUB cotal.main.epw."+endpoint+".gpu."+item, "PUB cotal.main.epf."+endpoint+".wrk.gpu."+item,
		"PUB $JS.API.STREAM.MSG.GET.EPW_main", "PUB "+recKV+"lease."+endpoint+".gpu."+item+".status")
	h.Admits("PUB $JS.API.CONSUMER.MSG.NEXT.EPW_main.pool_" + endpoint + "_gpu")
}

// poolSettler settles what is left in the discovered pools: the lease first, then the one terminal.
func poolSettler(t *testing.T, s *spacetest.Space) {
	const name, endpoint = "com.acme.settle", "com_acme_settle" // a name, and the token that it is on the wire
	item := owner + ".gone." + uid + ".r1"
	h := s.Open(t, "retirement-executor", map[string]any{"actor": "ep_settle", "endpoint": name, "pools": []any{"gpu"}})
	h.API("INFO", nil, nil)
	h.API("STREAM.INFO."+recStream, nil, nil)
	lease := recKV + "lease." + endpoint + ".gpu." + item + ".status"
	if got := h.Last(recStream, lease); got != nil {
		t.Errorf("lease: got %q, want none yet", got)
	}
	h.Store(lease, `{"state":"released"}`, create)
	terminal := "cotal.main.epf." + endpoint + ".wrk.gpu." + item
	h.Store(terminal, `{"state":"cancelled"}`, create)
	h.StoreError(terminal, `{"state":"succeeded"}`, create)
	if got := h.Last("EPF_main", terminal); string(got) != `{"state":"cancelled"}` {
		t.Errorf("terminal: got %q, want the first", got)
	}
	h.Admits("PUB "+lease, "PUB "+terminal)
	h.Refuses("PUB "+recKV+"lease."+endpoint+".cpu."+item+".status", "PUB cotal.main.epf."+endpoint+".wrk.cpu."+item, "PUB cotal.main.epf.com_acme_other.wrk.gpu."+item,
		"PUB cotal.main.epf."+endpoint+".dec."+item, "PUB $JS.API.CONSUMER.MSG.NEXT.EPW_main.pool_com_acme_settle_gpu")
}

// drainApplier finishes one pinned commit and can name no other record.
func drainApplier(t *testing.T, s *spacetest.Space) {
	const name, endpoint = "com.acme.apply", "com_acme_apply" // a name, and the token that it is on the wire
	h := s.Open(t, "drain-applier", map[string]any{"actor": "ep_apply", "commit": map[string]any{"svc-status": map[string]any{"endpoint": name, "instance": instance}}})
	key := recKV + "svc." + endpoint + "." + instance + ".status"
	first := h.Store(key, `{"state":"restarting"}`, create)
	h.Store(key, `{"state":"ready"}`, after(first))
	h.StoreError(key, `{"state":"stale"}`, after(first))
	h.Admits("PUB " + key)
	h.Refuses("PUB "+recKV+"svc."+endpoint+"."+instance+".spec", "PUB "+recKV+"svc.com_acme_other."+instance+".status", "PUB "+recKV+"govern."+endpoint,
		"PUB "+recKV+"lifecycle."+owner+".a", "PUB $JS.API.STREAM.MSG.GET."+recStream)
}

// drainReconciler puts one accepted item back into its pool, once.
func drainReconciler(t *testing.T, s *spacetest.Space) {
	const name, endpoint = "com.acme.route", "com_acme_route" // a name, and the token that it is on the wire
	h := s.Open(t, "drain-reconciler", map[string]any{"actor": "ep_route", "endpoint": name, "pool": "gpu", "cOwner": owner, "cActor": "caller", "cUid": uid, "id": "r1"})
	item := "cotal.main.epw." + endpoint + ".gpu." + owner + ".caller." + uid + ".r1"
	h.Store(item, `{"v":1,"id":"r1"}`, create)
	h.StoreError(item, `{"v":1,"id":"r1"}`, create)
	h.Admits("PUB " + item)
	h.Refuses("PUB cotal.main.epw."+endpoint+".gpu."+owner+".caller."+uid+".r2", "PUB cotal.main.epw."+endpoint+".cpu."+owner+".caller."+uid+".r1",
		"PUB cotal.main.epw.com_acme_other.gpu."+owner+".caller."+uid+".r1", "PUB cotal.main.epf."+endpoint+".wrk.gpu."+owner+".caller."+uid+".r1")
}

// drainCanceller records the one terminal of one acceptance.
func drainCanceller(t *testing.T, s *spacetest.Space) {
	const name, endpoint = "com.acme.cancel", "com_acme_cancel" // a name, and the token that it is on the wire
	triple := map[string]any{"cOwner": owner, "cActor": "caller", "cUid": uid}
	caller := owner + ".caller." + uid
	effect := map[string]any{"id": "r1"}
	goal := map[string]any{"goalId": "g1"}
	for k, v := range triple {
		effect[k], goal[k] = v, v
	}
	for _, c := range []struct {
		completion     map[string]any
		subject, other string
	}{
		{map[string]any{"eff": effect}, "cotal.main.epf." + endpoint + ".eff." + caller + ".r1", "cotal.main.epf." + endpoint + ".eff." + caller + ".r2"},
		{map[string]any{"result": goal}, "cotal.main.epf." + endpoint + ".goal." + caller + ".g1.result", "cotal.main.epf." + endpoint + ".goal." + caller + ".g2.result"},
	} {
		h := s.Open(t, "drain-canceller", map[string]any{"actor": "ep_cancel", "endpoint": name, "completion": c.completion})
		h.Store(c.subject, `{"state":"cancelled"}`, create)
		h.StoreError(c.subject, `{"state":"succeeded"}`, create)
		h.Admits("PUB " + c.subject)
		h.Refuses("PUB "+c.other, "PUB cotal.main.epf."+endpoint+".dec."+caller+".r1", "PUB $JS.API.STREAM.MSG.GET.EPF_main")
	}
}
