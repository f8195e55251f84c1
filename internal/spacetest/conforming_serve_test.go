package spacetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// service is an endpoint of its own for one body, with one instance.
type service struct {
	name     string // com.acme.x
	e        string // com_acme_x, as every subject and consumer name carries it
	instance string
	caller   string // the triple of its caller
}

func newService(label string) service {
	return service{name: "com.acme." + label, e: "com_acme_" + label, instance: "i0" + strings.Repeat(label[:1], 24),
		caller: owner + "." + label + "." + lifecycleOf(label)}
}

// lifecycleOf is the lifecycle uid of a body's own alias.
func lifecycleOf(label string) string { return "u0" + strings.Repeat(label[:1], 24-len(label)) + label }

// host is the alias that its instances run as.
func (v service) host() string { return "host_" + v.e }

// credential is the serve file of an instance of the endpoint.
func (v service) credential(instance, epoch string) map[string]any {
	return map[string]any{"owner": owner, "actor": v.host(), "endpoint": v.name, "instance": instance, "epoch": epoch, "timers": true,
		"pools": []any{"jobs"}, "commands": []any{
			map[string]any{"name": "start", "class": "ephemeral"}, map[string]any{"name": "build", "class": "journal", "action": true}}}
}

// agent is a caller of the endpoint, whose raw reads are none (§13.9 Mediated reads).
func (v service) agent(label string) map[string]any {
	none := []any{"none"}
	return map[string]any{"owner": owner, "actor": label, "uid": lifecycleOf(label), "reads": "mediated", "capabilities": []any{map[string]any{
		"endpoint": v.name, "events": []any{"deploy.>"}, "commands": []any{
			map[string]any{"name": "start", "class": "ephemeral", "rails": []any{"one", "all", "inst"}, "instance": v.instance, "targets": none},
			map[string]any{"name": "build", "class": "journal", "action": true, "targets": none}}}}}
}

// durables creates what the provisioner creates for the endpoint and its instance (§13.9).
func (v service) durables(t *testing.T, s *spacetest.Space) {
	t.Helper()
	p := s.At(t, "EPF", "provisioner", map[string]any{"endpoint": v.name, "instance": v.instance, "pools": []any{"jobs"}})
	p.Durable("EPF_main", "eff_"+v.e, "cotal.main.epf."+v.e+".dec.>", nil)
	p.Durable("EPW_main", "pool_"+v.e+"_jobs", "cotal.main.epw."+v.e+".jobs.>", map[string]any{"max_ack_pending": 1024})
	p.Durable("EPT_main", "fire_"+v.instance+"-"+v.e, "cotal.main.ept."+v.e+"."+v.instance+".*.*.fire", nil)
	p.Refuses("PUB $JS.API.CONSUMER.CREATE.EPF_main.eff_com_acme_foreign.cotal.main.epf.com_acme_foreign.dec.>",
		"PUB $JS.API.CONSUMER.CREATE.EPF_main.eff_"+v.e+".cotal.main.epf.com_acme_foreign.dec.>",
		"PUB $JS.API.CONSUMER.MSG.NEXT.EPF_main.eff_"+v.e)
}

// replyTo is the one subject on which a request may be answered: the responder's instance and epoch, and the caller's triple and nonce as
// the subject of the request ends (§13.2 Replies).
func (v service) replyTo(request, responder string) string {
	tokens := strings.Split(request, ".")
	return "cotal.main.ep.reply." + v.e + "." + responder + "." + strings.Join(tokens[len(tokens)-4:], ".")
}

const (
	nonce     = "n0123456789abcdefghijklm"
	second    = "j1b2c3d4e5f6g7h8i9j0k1l2m3"
	callBody  = `{"v":1,"id":"r1","class":"ephemeral","replyExpected":true,"deadlineMs":15000}`
	replyBody = `{"v":1,"id":"r1","ok":true}`
	foreigner = "com_acme_foreign"
)

func endpointServe(t *testing.T, s *spacetest.Space) {
	t.Run("requests", func(t *testing.T) { serveRequests(t, s, newService("requests")) })
	t.Run("planes", func(t *testing.T) { servePlanes(t, s, newService("planes")) })
	t.Run("work", func(t *testing.T) { serveWork(t, s, newService("work")) })
}

// serveRequests: a class request reaches one instance, a scatter all of them, an instance request the one that is named; the
// answer goes to the caller's own rail and says who gave it.
func serveRequests(t *testing.T, s *spacetest.Space, v service) {
	one := s.Open(t, "endpoint-serve", v.credential(v.instance, "4"))
	two := s.Open(t, "endpoint-serve", v.credential(second, "0"))
	caller := s.Open(t, "agent", v.agent("requests"))
	suffix := v.caller + "." + nonce
	for _, command := range []string{"start", "describe"} {
		classRequest(t, v, caller, map[string]*spacetest.Holder{v.instance + ".4": one, second + ".0": two}, command)
	}
	all := "cotal.main.ep.all." + v.e + ".start."
	onOne, onTwo := one.Hear(all+">", ""), two.Hear(all+">", "")
	caller.Say(all+suffix, callBody)
	one.Take(onOne, all+suffix)
	two.Take(onTwo, all+suffix)
	inst := "cotal.main.ep.inst." + v.e + "." + v.instance + ".start."
	named := one.Hear(inst+">", "")
	caller.Say(inst+suffix, callBody)
	one.Take(named, inst+suffix)

	rail, to := "cotal.main.ep.one."+v.e+".", "cotal.main.ep.reply."+v.e+"."
	one.Refuses("SUB "+rail+"start.>", "SUB "+rail+"start.> other", "SUB "+rail+"stop.> "+v.e, "SUB "+rail+"> "+v.e,
		"SUB cotal.main.ep.one."+foreigner+".start.> "+foreigner, "SUB cotal.main.ep.inst."+v.e+"."+second+".start.>",
		"PUB "+to+second+".0."+suffix, "PUB "+to+v.instance+".5."+suffix, "PUB "+rail+"start."+suffix)
	one.Admits("SUB "+rail+"cancel.> "+v.e, "SUB cotal.main.ep.all."+v.e+".cancel.>", "PUB "+to+v.instance+".4."+suffix)
	caller.Refuses("PUB "+rail+"start."+owner+".requests."+otherUID+"."+nonce, "PUB "+rail+"stop."+suffix,
		"PUB cotal.main.ep.inst."+v.e+"."+second+".start."+suffix, "SUB cotal.main.ep.reply.*.*.*."+owner+".requests."+otherUID+"."+nonce,
		"PUB "+to+v.instance+".4."+suffix)
}

// classRequest is answered by exactly one of the instances, which are named by their id and epoch.
func classRequest(t *testing.T, v service, caller *spacetest.Holder, instances map[string]*spacetest.Holder, command string) {
	t.Helper()
	rail := "cotal.main.ep.one." + v.e + "." + command + "."
	answered := make(chan string, len(instances))
	for name, h := range instances {
		if _, err := h.QueueSubscribe(rail+">", v.e, func(msg *nats.Msg) {
			to := v.replyTo(msg.Subject, name)
			answered <- to
			if err := h.Publish(to, []byte(replyBody)); err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := h.FlushTimeout(spacetest.Patience); err != nil {
			t.Fatal(err)
		}
	}
	id := "n-" + command + "-0123456789abcdefgh" // one nonce, one call
	replies := caller.Hear("cotal.main.ep.reply.*.*.*."+v.caller+"."+id, "")
	caller.Say(rail+v.caller+"."+id, callBody)
	msg := next(t, replies)
	if to := <-answered; msg.Subject != to || string(msg.Data) != replyBody {
		t.Errorf("%s: caller heard %s on %s, want it on %s", command, msg.Data, msg.Subject, to)
	}
	if len(answered) != 0 {
		t.Errorf("%s: two instances answered", command)
	}
}

// servePlanes: what an instance publishes besides replies bears its instance and epoch, and lands in the stream of its plane.
func servePlanes(t *testing.T, s *spacetest.Space, v service) {
	serve := s.Open(t, "endpoint-serve", v.credential(v.instance, "4"))
	caller := s.Open(t, "agent", v.agent("planes"))
	self := v.e + "." + v.instance + ".4."
	events := caller.Hear("cotal.main.epe."+v.e+".*.*.ev.deploy.>", "")
	goals := caller.Hear("cotal.main.epe."+v.e+".*.*.goal."+v.caller+".>", "")
	for _, c := range []struct{ subject, stream string }{
		{"epe." + self + "ev.deploy.started", "EPE_main"},
		{"epe." + self + "goal." + v.caller + ".g1.progress", "EPE_main"},
		{"epr." + self + "svc.status", "EPR_main"},
		{"epr." + self + "goal." + v.caller + ".g1.status", "EPR_main"},
		{"epr." + self + "cp.c1.status", "EPR_main"},
		{"ept." + self + "t1.schedule", "EPT_REQ_main"},
	} {
		if ack := serve.Store("cotal.main."+c.subject, `{"v":1}`); ack.Stream != c.stream {
			t.Errorf("%s is stored in %s, want %s", c.subject, ack.Stream, c.stream)
		}
	}
	caller.Take(events, "cotal.main.epe."+self+"ev.deploy.started")
	caller.Take(goals, "cotal.main.epe."+self+"goal."+v.caller+".g1.progress")

	// A scheduling header has no power in the request stream: the broker does not even store it (§13.12).
	text := serve.StoreError("cotal.main.ept."+self+"t2.schedule", `{"v":1}`, "Nats-Schedule: @every 1h",
		"Nats-Schedule-Target: cotal.main.ept."+self+"t2.fire")
	if !strings.Contains(text, "schedules is disabled") {
		t.Errorf("a schedule in the request stream: %s", text)
	}
	stale := v.e + "." + v.instance + ".5."
	serve.Refuses("PUB cotal.main.epe."+stale+"ev.deploy.started", "PUB cotal.main.epr."+stale+"svc.status",
		"PUB cotal.main.ept."+stale+"t1.schedule", "PUB cotal.main.epe."+v.e+"."+second+".4.ev.deploy.started",
		"PUB cotal.main.epr."+self+"lease.x", "PUB cotal.main.epr."+self+"govern.x",
		"PUB cotal.main.ept."+self+"t1.armed", "PUB cotal.main.ept."+self+"t1.fire", "PUB cotal.main.epj."+v.e+".build."+v.caller)
	caller.Refuses("SUB cotal.main.epe."+v.e+".*.*.goal."+owner+".planes."+otherUID+".>", "SUB cotal.main.epe."+v.e+".>",
		"SUB cotal.main.epe."+foreigner+".*.*.ev.deploy.>")
	index := s.At(t, "records", "endpoint-serve", v.credential(v.instance, "4"))
	index.Replace("$KV.cotal_records_main.contracts."+v.e, `{"clusterDigests":[]}`, 0)
	index.Refuses("PUB $KV.cotal_records_main.contracts."+foreigner, "PUB $KV.cotal_records_main.svc."+v.e+"."+v.instance+".status",
		"PUB $JS.API.STREAM.MSG.GET.KV_cotal_records_main")
}

// serveWork: accepted decisions and pool items reach the owning endpoint, which acknowledges after the durable terminal (§13.9).
func serveWork(t *testing.T, s *spacetest.Space, v service) {
	v.durables(t, s)
	canon := s.At(t, "EPF", "canonicalizer", map[string]any{"endpoint": v.name})
	commit := s.At(t, "EPF", "commit", map[string]any{"endpoint": v.name})
	serve := s.At(t, "EPF", "endpoint-serve", v.credential(v.instance, "4"))
	other := s.At(t, "EPF", "endpoint-serve", newService("foreign").credential(second, "0"))
	facts, item := "cotal.main.epf."+v.e+".", "cotal.main.epw."+v.e+".jobs."+v.caller+".r2"

	canon.Replace(facts+"dec."+v.caller+".r1", `{"v":1,"id":"r1","decision":"accepted","route":"effects"}`, 0)
	dec := serve.Pull("EPF_main", "eff_"+v.e)
	if dec.Subject != facts+"dec."+v.caller+".r1" {
		t.Errorf("effects bind gives %s", dec.Subject)
	}
	commit.Replace(facts+"eff."+v.caller+".r1", `{"v":1,"id":"r1","outcome":"ran"}`, 0)
	serve.Ack(dec)
	canon.Replace(facts+"dec."+v.caller+".r3", `{"v":1,"id":"r3","decision":"rejected"}`, 0)
	peer := s.At(t, "EPF", "endpoint-serve", v.credential(second, "0")) // any instance of the class; a rejection has no effect
	peer.Ack(peer.Pull("EPF_main", "eff_"+v.e))

	canon.Replace(item, `{"v":1,"id":"r2"}`, 0)
	work := serve.Pull("EPW_main", "pool_"+v.e+"_jobs")
	if _, ok := canon.Read("EPW_main", item); !ok || work.Subject != item {
		t.Errorf("pool bind gives %s, in flight and readable %t", work.Subject, ok)
	}
	commit.Replace(facts+"wrk.jobs."+v.caller+".r2", `{"v":1,"id":"r2","state":"succeeded"}`, 0)
	serve.Ack(work)
	leaves(t, canon, "EPW_main", item)
	serve.Admits("PUB $JS.API.CONSUMER.INFO.EPF_main.eff_"+v.e, "PUB $JS.API.CONSUMER.INFO.EPW_main.pool_"+v.e+"_jobs")
	for _, h := range []*spacetest.Holder{other, commit} {
		h.Refuses("PUB $JS.API.CONSUMER.MSG.NEXT.EPF_main.eff_"+v.e, "PUB $JS.API.CONSUMER.MSG.NEXT.EPW_main.pool_"+v.e+"_jobs",
			"PUB $JS.ACK.EPF_main.eff_"+v.e+".1.1.1.1.0", "PUB $JS.ACK.EPW_main.pool_"+v.e+"_jobs.1.1.1.1.0")
	}
	serve.Refuses("PUB $JS.API.CONSUMER.CREATE.EPF_main.eff_"+v.e+".cotal.main.epf."+v.e+".dec.>", "PUB "+facts+"dec."+v.caller+".r4",
		"PUB "+facts+"eff."+v.caller+".r1", "PUB "+item, "PUB $JS.API.STREAM.MSG.GET.EPF_main")
}

// leaves waits until an acknowledged item is gone from its work queue: the replicas agree on its removal after the acknowledgement.
func leaves(t *testing.T, h *spacetest.Holder, stream, subject string) {
	t.Helper()
	for start := time.Now(); ; {
		row, ok := h.Read(stream, subject)
		if !ok {
			return
		}
		if time.Since(start) > spacetest.Patience {
			t.Fatalf("an acknowledged item is still live: %v", row)
		}
	}
}

func next(t *testing.T, heard <-chan *nats.Msg) *nats.Msg {
	t.Helper()
	select {
	case msg := <-heard:
		return msg
	case <-time.After(spacetest.Patience):
		t.Fatalf("nothing within %v", spacetest.Patience)
	}
	return nil
}
