package spacetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// probes prove something of a space by doing it.
var probes = bodies{"schedule-probe": scheduleFires}

const (
	scratch      = "DOCTOR_main"
	scratchArmed = wire + "doctor.armed"
	scratchFired = wire + "doctor.fire"
)

// scratchConfig is the scratch stream as a probe makes it: what fires is stored, and sent on to the inbox.
func scratchConfig(s *spacetest.Space, inbox string) map[string]any {
	return map[string]any{"name": scratch, "subjects": []string{scratchArmed, scratchFired}, "storage": "file", "retention": "limits",
		"discard": "old", "num_replicas": len(s.Servers), "max_age": time.Minute, "duplicate_window": time.Minute, "allow_msg_schedules": true,
		"republish": map[string]any{"src": scratchFired, "dest": inbox}}
}

// due are the headers of a message that the scheduler is to send on at once.
func due() []string {
	return []string{"Nats-Schedule: @at " + time.Now().UTC().Format(time.RFC3339Nano), "Nats-Schedule-Target: " + scratchFired}
}

// scheduleFires in a scratch stream that the probe makes where the timers stand, hears without a grant that reads, and deletes.
func scheduleFires(t *testing.T, s *spacetest.Space) {
	if got, want := s.Home(t, "schedule-probe"), s.Home(t, "EPT"); got != want {
		t.Fatalf("the probe is of account %s, want %s, where the timers stand", got, want)
	}
	h, js := s.Open(t, "schedule-probe", nil), s.Admin(t, "EPT")
	inbox := h.NewRespInbox()
	heard := h.Hear(inbox, "")

	// Control: a stream that takes no schedules refuses the message, so that what is heard below is the scheduler's.
	plain := scratchConfig(s, inbox)
	delete(plain, "allow_msg_schedules")
	h.API("STREAM.CREATE."+scratch, plain, nil)
	if got := h.StoreError(scratchArmed, "due", due()...); !strings.Contains(got, "message schedules is disabled") {
		t.Errorf("a stream without schedules: got %q, want its refusal", got)
	}
	// What an interrupted probe has left is in the way of the next, which removes it.
	if got := h.APIError("STREAM.CREATE."+scratch, scratchConfig(s, inbox)); !strings.Contains(got, "name already in use") {
		t.Errorf("a scratch stream of another probe: got %q, want a refusal", got)
	}
	h.API("STREAM.DELETE."+scratch, nil, nil)

	h.API("STREAM.CREATE."+scratch, scratchConfig(s, inbox), nil)
	if ack := h.Store(scratchArmed, "due", due()...); ack.Stream != scratch {
		t.Errorf("armed in %q, want %s", ack.Stream, scratch)
	}
	select {
	case msg := <-heard:
		want := nats.Header{"Nats-Stream": {scratch}, "Nats-Subject": {scratchFired}, "Nats-Scheduler": {scratchArmed}}
		for name := range want {
			if got := msg.Header.Get(name); got != want.Get(name) {
				t.Errorf("fired with %s %q, want %q", name, got, want.Get(name))
			}
		}
		if string(msg.Data) != "due" {
			t.Errorf("fired %q, want what was armed", msg.Data)
		}
	case <-time.After(spacetest.Patience):
		t.Errorf("nothing fired within %v", spacetest.Patience)
	}
	h.API("STREAM.DELETE."+scratch, nil, nil)
	if _, err := js.StreamInfo(scratch); err == nil {
		t.Error("the scratch stream is there, want it gone")
	}

	h.Admits("PUB $JS.API.STREAM.DELETE."+scratch, "PUB "+scratchArmed)
	h.Refuses("PUB "+scratchFired, "PUB "+wire+"doctor.other", "PUB "+wire+"ept.com_acme_pip."+uidOf("pip")+".1.t1.armed",
		"PUB $JS.API.STREAM.CREATE.DOCTOR_other", "PUB $JS.API.STREAM.DELETE.EPT_main", "PUB $JS.API.STREAM.UPDATE."+scratch,
		"PUB $JS.API.STREAM.PURGE."+scratch, "PUB $JS.API.STREAM.INFO."+scratch, "PUB $JS.API.STREAM.MSG.GET."+scratch,
		"PUB $JS.API.STREAM.MSG.GET.EPT_main", "PUB $JS.API.DIRECT.GET."+scratch, "PUB $JS.API.CONSUMER.CREATE."+scratch,
		"SUB "+scratchFired, "SUB "+wire+">")
}

// TestScratchBody is the residual SCRATCH-BODY: the body of the one stream that a probe makes is free, so that it reads any stream of
// the account of the timers, and places bytes in any. The provisioner's rows have the same, under the names of resources.
func TestScratchBody(t *testing.T) {
	t.Parallel()
	topologies(t, func(t *testing.T, s *spacetest.Space) {
		h, kv := s.Open(t, "schedule-probe", nil), bucketOf(t, s, "records")
		if _, err := kv.PutString("uid."+uid, "kept"); err != nil {
			t.Fatal(err)
		}
		inbox := h.NewRespInbox()
		heard := h.Hear(inbox, "")
		h.API("STREAM.CREATE."+scratch, map[string]any{"name": scratch, "storage": "file",
			"sources":   []any{map[string]any{"name": s.Stream(t, "records")}},
			"republish": map[string]any{"src": "$KV." + kv.Bucket() + ".uid." + uid, "dest": inbox}}, nil)
		if got := h.Take(heard, inbox); got != "kept" {
			t.Errorf("sourced %q, want the row", got)
		}
		h.API("STREAM.DELETE."+scratch, nil, nil)

		rows, err := kv.Watch("uid."+otherUID, nats.UpdatesOnly())
		if err != nil {
			t.Fatal(err)
		}
		h.API("STREAM.CREATE."+scratch, map[string]any{"name": scratch, "subjects": []string{scratchArmed}, "storage": "file",
			"republish": map[string]any{"src": scratchArmed, "dest": "$KV." + kv.Bucket() + ".uid." + otherUID}}, nil)
		h.Store(scratchArmed, "placed")
		select {
		case row := <-rows.Updates():
			if row == nil || string(row.Value()) != "placed" {
				t.Errorf("row %v, want what the probe sent", row)
			}
		case <-time.After(spacetest.Patience):
			t.Errorf("no row within %v", spacetest.Patience)
		}
	})
}

// bucketOf is the bucket of a resource, in the hand of whoever prepares the test.
func bucketOf(t *testing.T, s *spacetest.Space, resource string) nats.KeyValue {
	t.Helper()
	kv, err := s.Admin(t, resource).KeyValue(strings.TrimPrefix(s.Stream(t, resource), "KV_"))
	if err != nil {
		t.Fatal(err)
	}
	return kv
}
