package spacetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// recordKind is what an instance asks the writer of a kind to record, and the key that the writer derives from it (§13.7).
type recordKind struct {
	kind, qualifier string // of the ingress subject, behind the epoch
	key             func(v service) string
}

var recordKinds = []recordKind{
	{"svc", "status", func(v service) string { return "svc." + v.e + "." + v.instance }},
	{"goal", "g1", func(v service) string { return "goal." + v.e + "." + v.caller + ".g1" }},
	{"cp", "c1", func(v service) string { return "cp." + v.e + ".c1" }},
}

// recordWriter: each kind's writer consumes its own ingress, takes the writing epoch from the subject, compares it with a fresh read
// of the mapping, and writes from the revision that it read (§13.9 Record writer).
func recordWriter(t *testing.T, s *spacetest.Space) {
	for _, k := range recordKinds {
		t.Run(k.kind, func(t *testing.T) { writesKind(t, s, newService("rec"+k.kind), k) })
	}
}

func writesKind(t *testing.T, s *spacetest.Space, v service, k recordKind) {
	activate(t, s, v.host(), lifecycleOf("rec"+k.kind))
	who := map[string]any{"kind": k.kind}
	ingress, rec := s.At(t, "EPR", "record-writer", who), s.At(t, "records", "record-writer", who)
	durable, filter := "recw_main-"+k.kind, "cotal.main.epr.*.*.*."+k.kind+".>"
	ingress.Durable("EPR_main", durable, filter, nil)
	base := recordsKV + k.key(v)
	for _, epoch := range []string{"4", "3"} { // the current one, and a predecessor's
		serve := s.Open(t, "endpoint-serve", v.credential(v.instance, epoch))
		subject := "cotal.main.epr." + v.e + "." + v.instance + "." + epoch + "." + k.kind + "." + k.qualifier
		serve.Store(subject, `{"v":1,"state":"running"}`)
		msg := ingress.Find("EPR_main", durable, subject)
		mapping, ok := rec.Read(recordsStream, recordsKV+"lifecycle."+owner+"."+v.host())
		if !ok {
			t.Fatal("no mapping")
		}
		if current := strings.Contains(mapping.Data, `"processEpoch":`+strings.Split(msg.Subject, ".")[5]+"}"); current != (epoch == "4") {
			t.Errorf("epoch of %s is current: %t, by %s", msg.Subject, current, mapping.Data)
		} else if current {
			rec.Replace(base+".spec", `{"v":1}`, 0)
			advances(t, rec, k.key(v)+".status")
		}
		ingress.Ack(msg)
	}
	for _, other := range recordKinds {
		if other.kind == k.kind {
			continue
		}
		foreign := "recw_main-" + other.kind
		ingress.Refuses("PUB $JS.API.CONSUMER.MSG.NEXT.EPR_main."+foreign, "PUB $JS.ACK.EPR_main."+foreign+".1.1.1.1.0",
			"PUB $JS.API.CONSUMER.CREATE.EPR_main."+foreign+".cotal.main.epr.*.*.*."+other.kind+".>",
			"PUB $JS.API.CONSUMER.CREATE.EPR_main."+durable+".cotal.main.epr.*.*.*."+other.kind+".>")
		rec.Refuses("PUB "+recordsKV+other.key(v)+".spec", "PUB "+recordsKV+other.key(v)+".status")
	}
	rec.Refuses("PUB "+base, "PUB "+recordsKV+"lifecycle."+owner+"."+v.host(), "PUB "+recordsKV+"govern."+v.e,
		"PUB "+recordsKV+"lease."+v.e+".jobs.x.status", "PUB $JS.API.STREAM.MSG.GET.EPF_main")
	ingress.Refuses("PUB cotal.main.epr." + v.e + "." + v.instance + ".4." + k.kind + "." + k.qualifier)
}

// contractPublisher: an artifact is published once, whatever the writer sends, and read by its digest (§13.7 Content addressing).
func contractPublisher(t *testing.T, s *spacetest.Space) {
	const artifact = `{"urn":"ai.cotal.example","v":1}`
	pub := s.At(t, "EPC", "contract-publisher", nil)
	subject := "cotal.main.epc." + digest(artifact)
	ack := pub.Replace(subject, artifact, 0)
	pub.Loses(subject, `{}`, 0)
	for _, header := range [][]string{nil, {fmt.Sprintf("Nats-Expected-Last-Subject-Sequence: %d", ack.Seq)}, {"Nats-Rollup: sub"}} {
		if text := pub.StoreError(subject, `{}`, header...); text == "" {
			t.Errorf("the artifact is replaced with %v", header)
		}
	}
	fetches(t, pub, artifact)
	pub.Refuses("PUB $JS.API.STREAM.MSG.GET.EPC_main", "PUB $JS.API.DIRECT.GET.EPC_main", "PUB $JS.API.STREAM.PURGE.EPC_main",
		"PUB $JS.API.STREAM.DELETE.EPC_main", "PUB $JS.API.STREAM.MSG.DELETE.EPC_main", "PUB $JS.API.STREAM.UPDATE.EPC_main",
		"PUB $JS.API.CONSUMER.CREATE.EPC_main.x.cotal.main.epc.>", "PUB cotal.main.epf."+foreigner+".dec.x")
	for _, p := range []string{"commit", "canonicalizer"} {
		s.At(t, "EPC", p, map[string]any{"endpoint": "com.acme.contracts"}).Refuses("PUB "+subject, "PUB $JS.API.DIRECT.GET.EPC_main."+subject)
	}
}

// fetches reads an artifact by its digest, and compares the two.
func fetches(t *testing.T, h *spacetest.Holder, artifact string) string {
	t.Helper()
	subject := "cotal.main.epc." + digest(artifact)
	msg := h.Fetch("EPC_main", subject)
	if digest(string(msg.Data)) != digest(artifact) || msg.Header.Get("Nats-Subject") != subject {
		t.Errorf("fetched %q with %v", msg.Data, msg.Header)
	}
	return string(msg.Data)
}

// session: frames both ways on the two subjects of one session and epoch, and nothing beside them (§13.6 Session).
func session(t *testing.T, s *spacetest.Space, label string) {
	v := newService(label)
	who := func(id, epoch string) map[string]any {
		return map[string]any{"endpoint": v.name, "sessionId": id, "epoch": epoch}
	}
	caller, serve := s.Open(t, "session-caller", who("s1", "4")), s.Open(t, "session-serve", who("s1", "4"))
	rail := "cotal.main.eps." + v.e + ".s1.4."
	in, out := serve.Hear(rail+"in", ""), caller.Hear(rail+"out", "")
	caller.Say(rail+"in", `{"k":"ready"}`)
	if got := serve.Take(in, rail+"in"); got != `{"k":"ready"}` {
		t.Errorf("serving side heard %s", got)
	}
	for _, frame := range []string{`{"k":"data","b":"aGVsbG8="}`, `{"k":"end","reason":"closed"}`} {
		serve.Say(rail+"out", frame)
		if got := caller.Take(out, rail+"out"); got != frame {
			t.Errorf("caller heard %s, want %s", got, frame)
		}
	}
	caller.Refuses("PUB "+rail+"out", "SUB "+rail+"in", "SUB "+rail+"*", "SUB "+rail+">")
	serve.Refuses("PUB "+rail+"in", "SUB "+rail+"out", "SUB "+rail+">")
	for _, third := range []map[string]any{who("s2", "4"), who("s1", "5"), {"endpoint": "com.acme.foreign", "sessionId": "s1", "epoch": "4"}} {
		s.Open(t, "session-caller", third).Refuses("PUB "+rail+"in", "SUB "+rail+"out")
		s.Open(t, "session-serve", third).Refuses("PUB "+rail+"out", "SUB "+rail+"in")
	}
	s.Open(t, "endpoint-serve", v.credential(v.instance, "4")).Refuses("SUB "+rail+"in", "PUB "+rail+"out")
}

func sessionCaller(t *testing.T, s *spacetest.Space) { session(t, s, "calling") }
func sessionServe(t *testing.T, s *spacetest.Space)  { session(t, s, "piping") }
