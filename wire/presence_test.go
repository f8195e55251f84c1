package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/wire"
)

func present() wire.Presence {
	return wire.Presence{
		Card: wire.AgentCard{ID: alice.Dot(), Name: "alice", Kind: wire.CardAgent, ProtocolVersion: wire.ProtocolVersion,
			Meta: map[string]any{"host": "h"}, Skills: []wire.AgentSkill{{ID: "s", Name: "S"}}},
		Status: wire.StatusIdle, LifecycleUID: strings.Repeat("a1", 13), TS: 1710000000000,
		ChannelModes: map[string]wire.ChannelMode{"team.backend": wire.ChannelQuiet},
	}
}

// TestPresence: one fault at a time, the unbroken record beside them (§6).
func TestPresence(t *testing.T) {
	tests := []struct {
		name string
		edit func(*wire.Presence)
		want string // "": valid
	}{
		{"sample", func(*wire.Presence) {}, ""},
		{"focus", func(p *wire.Presence) { p.Attention = wire.AttentionFocus }, ""},
		{"another's key", func(p *wire.Presence) { p.Card.ID = bob.Dot() }, "want the key"},
		{"status", func(p *wire.Presence) { p.Status = "busy" }, "status"},
		{"attention", func(p *wire.Presence) { p.Attention = "away" }, "attention"},
		{"uid", func(p *wire.Presence) { p.LifecycleUID = "" }, "lifecycleUid"},
		{"uid in capitals", func(p *wire.Presence) { p.LifecycleUID = strings.Repeat("A", 26) }, "lifecycleUid"},
		{"channel mode", func(p *wire.Presence) { p.ChannelModes["team.backend"] = "loud" }, "channelModes.team.backend"},
		{"channel pattern", func(p *wire.Presence) { p.ChannelModes["team.>"] = wire.ChannelMuted }, "concrete"},
		{"name", func(p *wire.Presence) { p.Card.Name = "" }, "card.name"},
		{"kind", func(p *wire.Presence) { p.Card.Kind = "node" }, "card.kind"},
		{"version", func(p *wire.Presence) { p.Card.ProtocolVersion = "" }, "protocolVersion"},
		{"ts", func(p *wire.Presence) { p.TS = 0 }, "ts, got 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := present()
			tt.edit(&p)
			err := p.Validate(alice.Dot())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPresenceRoundTrip(t *testing.T) {
	want := present()
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got wire.Presence
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestLiveness: a record older than the window is offline, at the window it is not (§6).
func TestLiveness(t *testing.T) {
	p := present()
	at := time.UnixMilli(int64(p.TS))
	for age, want := range map[time.Duration]wire.PresenceStatus{
		0:                                      wire.StatusIdle,
		wire.LivenessWindow:                    wire.StatusIdle,
		wire.LivenessWindow + time.Millisecond: wire.StatusOffline,
		-time.Second:                           wire.StatusIdle,
	} {
		if got := p.At(at.Add(age), wire.LivenessWindow); got != want {
			t.Errorf("age %v: got %s, want %s", age, got, want)
		}
	}
}
