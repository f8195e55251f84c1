package spacetest_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// TestFiresAreStoredOnly is the measurement of ADR 18: the broker's scheduler stores a fire and sends it to no subscriber. The
// instance that subscribed its fires hears nothing; its durable hands the fire out.
func TestFiresAreStoredOnly(t *testing.T) {
	t.Parallel()
	topologies(t, func(t *testing.T, s *spacetest.Space) {
		values := server("eva", true)
		endpointDurables(t, s, values)
		h := s.At(t, "EPT", "endpoint-serve", values)
		js := s.Admin(t, "EPT")
		nc := s.Servers[0].Connect(t, s.Account(t, s.Home(t, "EPT")).User(t, everything))
		timer := wire + "ept.com_acme_eva." + uidOf("eva") + ".1.t1"
		instance := s.Open(t, "endpoint-serve", values)
		fires, all := follow(t, instance.Conn, timer+".fire", ""), follow(t, nc, wire+"ept.>", "")

		writer := s.At(t, "EPT", "timer-writer", nil)
		writer.Store(timer+".armed", "due", "Nats-Schedule: @at "+time.Now().Add(time.Second).UTC().Format(time.RFC3339),
			"Nats-Schedule-Target: "+timer+".fire")
		hears(t, all, "due") // control: what is published live is heard
		msg := h.Next("EPT_main", "fire_"+uidOf("eva")+"-com_acme_eva")
		if msg.Subject != timer+".fire" || string(msg.Data) != "due" || msg.Header.Get("Nats-Scheduler") != timer+".armed" {
			t.Errorf("got %s %q %v, want the fire with its origin", msg.Subject, msg.Data, msg.Header)
		}
		h.Ack(msg)
		if _, err := js.GetLastMsg("EPT_main", timer+".fire"); err != nil {
			t.Errorf("the fire is not stored: %v", err)
		}
		heardNothing(t, instance.Conn, fires)
		heardNothing(t, nc, all)
		// Control: a publish on the same subject is heard by whoever subscribed it in that account.
		if _, err := js.Publish(timer+".fire", []byte("live")); err != nil {
			t.Fatal(err)
		}
		hears(t, all, "live")
		if s.Home(t, "EPT") == s.Home(t, "endpoint-serve") {
			hears(t, fires, "live")
		}
	})
}

// heardNothing fails if anything was sent to the subscription: what was, comes before the answer to a ping.
func heardNothing(t *testing.T, nc *nats.Conn, sub *nats.Subscription) {
	t.Helper()
	if err := nc.FlushTimeout(spacetest.Patience); err != nil {
		t.Fatal(err)
	}
	if n, _, err := sub.Pending(); n != 0 || err != nil {
		t.Errorf("%s: %d messages heard, %v, want none", sub.Subject, n, err)
	}
}
