package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/wire"
)

// TestChannels: a publish target is concrete; a subscription or ACL entry may hold whole-segment wildcards, ">" last (§3).
func TestChannels(t *testing.T) {
	tests := []struct {
		name              string
		concrete, pattern bool
	}{
		{"general", true, true},
		{"team.backend", true, true},
		{"a-b_c.D9", true, true},
		{"*", false, true},
		{">", false, true},
		{"team.>", false, true},
		{"team.*", false, true},
		{"*.backend.>", false, true},
		{"team.>.x", false, false},
		{">.x", false, false},
		{"te*am", false, false},
		{"team.x>", false, false},
		{"", false, false},
		{"team.", false, false},
		{".team", false, false},
		{"team..x", false, false},
		{"te am", false, false},
		{"=defaults", false, false},
		{"équipe", false, false},
	}
	for _, tt := range tests {
		if err := wire.ValidateChannel(tt.name); (err == nil) != tt.concrete {
			t.Errorf("channel %q: got %v, want ok=%v", tt.name, err, tt.concrete)
		}
		if err := wire.ValidateChannelPattern(tt.name); (err == nil) != tt.pattern {
			t.Errorf("pattern %q: got %v, want ok=%v", tt.name, err, tt.pattern)
		}
	}
}

// TestResolve: channel, else space default, else replay and durable (§7).
func TestResolve(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name     string
		channel  *wire.ChannelConfig
		defaults *wire.ChannelDefaults
		want     wire.Effective
	}{
		{"nothing written", nil, nil, wire.Effective{Replay: true, DeliveryClass: wire.ClassDurable}},
		{"space default", nil, &wire.ChannelDefaults{Replay: &no, ReplayWindow: "24h", DeliveryClass: wire.ClassLive},
			wire.Effective{ReplayWindow: "24h", DeliveryClass: wire.ClassLive}},
		{"channel wins", &wire.ChannelConfig{Replay: &yes, ReplayWindow: "7d", DeliveryClass: wire.ClassDurable},
			&wire.ChannelDefaults{Replay: &no, ReplayWindow: "24h", DeliveryClass: wire.ClassLive},
			wire.Effective{Replay: true, ReplayWindow: "7d", DeliveryClass: wire.ClassDurable}},
		{"channel without class", &wire.ChannelConfig{Description: "x"}, &wire.ChannelDefaults{DeliveryClass: wire.ClassLive},
			wire.Effective{Replay: true, DeliveryClass: wire.ClassLive}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := wire.Resolve(tt.channel, tt.defaults)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	bad := []struct {
		channel  *wire.ChannelConfig
		defaults *wire.ChannelDefaults
	}{
		{channel: &wire.ChannelConfig{DeliveryClass: "Durable"}},
		{defaults: &wire.ChannelDefaults{DeliveryClass: "best-effort"}},
		{channel: &wire.ChannelConfig{ReplayWindow: "24"}},
		{channel: &wire.ChannelConfig{ReplayWindow: "h"}},
		{channel: &wire.ChannelConfig{ReplayWindow: "-1h"}},
		{channel: &wire.ChannelConfig{ReplayWindow: "1w"}},
		{defaults: &wire.ChannelDefaults{ReplayWindow: "1.5h"}},
		{channel: &wire.ChannelConfig{Description: strings.Repeat("é", 201)}},
		{channel: &wire.ChannelConfig{Instructions: strings.Repeat("x", 2001)}},
	}
	for _, tt := range bad {
		if got, err := wire.Resolve(tt.channel, tt.defaults); err == nil {
			t.Errorf("%+v %+v: got %+v, want an error", tt.channel, tt.defaults, got)
		}
	}
	if _, err := wire.Resolve(&wire.ChannelConfig{Description: strings.Repeat("é", 200)}, nil); err != nil {
		t.Errorf("description of 200 characters: %v", err)
	}
}
