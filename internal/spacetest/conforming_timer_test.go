package spacetest_test

import (
	"testing"
	"time"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// timerWriter: a request becomes the schedule of its own sibling subjects, from the sequence that was read; a replacement supersedes
// it, a delayed writer loses, and what fires bears the broker's word for where it comes from (§13.12).
func timerWriter(t *testing.T, s *spacetest.Space) {
	v := newService("timed")
	v.durables(t, s)
	serve := s.Open(t, "endpoint-serve", v.credential(v.instance, "4"))
	timer := "cotal.main.ept." + v.e + "." + v.instance + ".4.t1."
	ingress, rec, arm := s.At(t, "EPT_REQ", "timer-writer", nil), s.At(t, "records", "timer-writer", nil), s.At(t, "EPT", "timer-writer", nil)
	ingress.Durable("EPT_REQ_main", "timerw_main", "cotal.main.ept.*.*.*.*.schedule", nil)
	status := recordsKV + "cp." + v.e + ".t1.status"
	commit := s.At(t, "records", "commit", map[string]any{"endpoint": v.name})

	first := wants(t, serve, ingress, timer, `{"generation":1}`)
	rev := commit.Replace(status, `{"generation":1}`, 0).Seq
	armed := arms(t, arm, rec, timer, status, first, time.Now().Add(time.Hour), 0)
	replaced := wants(t, serve, ingress, timer, `{"generation":2}`)
	commit.Replace(status, `{"generation":2}`, rev)
	deadline := time.Now().Add(time.Second).Truncate(time.Second)
	row, ok := arm.Read("EPT_main", timer+"armed")
	if !ok || row.Seq != armed || row.Header.Get("Nats-Schedule-Target") != timer+"fire" {
		t.Errorf("armed: %v, found %t, want sequence %d", row, ok, armed)
	}
	arms(t, arm, rec, timer, status, replaced, deadline, armed)
	if text := arm.APIError("STREAM.MSG.GET.EPT_main", map[string]any{"seq": armed}); text != "API error: no message found" {
		t.Errorf("the replaced schedule: %s", text)
	}
	arm.Loses(timer+"armed", `{"generation":1}`, armed, schedule(time.Now().Add(time.Hour), timer)...)

	fires := s.At(t, "EPT", "endpoint-serve", v.credential(v.instance, "4"))
	fire := fires.Pull("EPT_main", "fire_"+v.instance+"-"+v.e)
	if fire.Subject != timer+"fire" || string(fire.Data) != `{"generation":2}` || fire.Header.Get("Nats-Scheduler") != timer+"armed" {
		t.Errorf("fired %s on %s with %v", fire.Data, fire.Subject, fire.Header)
	}
	if early := time.Until(deadline); early > 0 {
		t.Errorf("fired %v before the deadline", early)
	}
	fires.Ack(fire)

	refusedTimers(t, s, v, timer)
}

// refusedTimers: nobody but the broker fires, nobody but the writer arms, and no instance reads another's fires.
func refusedTimers(t *testing.T, s *spacetest.Space, v service, timer string) {
	t.Helper()
	mine, status := "fire_"+v.instance+"-"+v.e, recordsKV+"cp."+v.e+".t1.status"
	fires, serve := s.At(t, "EPT", "endpoint-serve", v.credential(v.instance, "4")), s.Open(t, "endpoint-serve", v.credential(v.instance, "4"))
	serve.Admits("SUB cotal.main.ept." + v.e + "." + v.instance + ".4.*.fire")
	serve.Refuses("PUB "+timer+"armed", "PUB "+timer+"fire", "SUB cotal.main.ept."+v.e+"."+v.instance+".5.*.fire",
		"SUB cotal.main.ept."+v.e+"."+second+".4.*.fire", "SUB "+timer+"armed")
	fires.Admits("PUB $JS.API.CONSUMER.INFO.EPT_main." + mine)
	fires.Refuses("PUB "+timer+"armed", "PUB "+timer+"fire", "PUB $JS.API.CONSUMER.MSG.NEXT.EPT_main.fire_"+second+"-"+v.e,
		"PUB $JS.API.STREAM.MSG.GET.EPT_main", "PUB $JS.API.STREAM.MSG.GET."+recordsStream)
	s.At(t, "EPT", "endpoint-serve", v.credential(second, "4")).Refuses("PUB $JS.API.CONSUMER.MSG.NEXT.EPT_main."+mine,
		"PUB $JS.ACK.EPT_main."+mine+".1.1.1.1.0")
	s.At(t, "EPT", "timer-writer", nil).Refuses("PUB "+timer+"fire", "PUB $JS.API.CONSUMER.MSG.NEXT.EPT_main."+mine,
		"PUB $JS.API.STREAM.PURGE.EPT_main", "PUB $JS.API.DIRECT.GET.EPT_main."+timer+"armed")
	s.At(t, "EPT_REQ", "timer-writer", nil).Refuses("PUB "+timer+"schedule",
		"PUB $JS.API.CONSUMER.CREATE.EPT_REQ_main.timerw_main.cotal.main.ept.>")
	s.At(t, "records", "timer-writer", nil).Refuses("PUB "+status, "PUB $JS.API.DIRECT.GET."+recordsStream+"."+status)
}

// wants sends an instance's request and returns its body as the writer consumes it.
func wants(t *testing.T, serve, ingress *spacetest.Holder, timer, body string) string {
	t.Helper()
	serve.Store(timer+"schedule", body)
	msg := ingress.Find("EPT_REQ_main", "timerw_main", timer+"schedule")
	ingress.Ack(msg)
	return string(msg.Data)
}

// arms publishes the authoritative schedule after the generation was found current, and returns its sequence.
func arms(t *testing.T, arm, rec *spacetest.Holder, timer, status, body string, at time.Time, seq uint64) uint64 {
	t.Helper()
	if row, ok := rec.Read(recordsStream, status); !ok || row.Data != body {
		t.Fatalf("generation %v, found %t, want %s", row, ok, body)
	}
	return arm.Replace(timer+"armed", body, seq, schedule(at, timer)...).Seq
}

func schedule(at time.Time, timer string) []string {
	return []string{"Nats-Schedule: @at " + at.UTC().Format(time.RFC3339), "Nats-Schedule-Target: " + timer + "fire"}
}
