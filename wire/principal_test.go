package wire_test

import (
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/wire"
)

// TestPrincipalForms: one principal, two unambiguous serializations (§2).
func TestPrincipalForms(t *testing.T) {
	if got, want := alice.Dot(), ownerA+".alice"; got != want {
		t.Errorf("dot-form, got %q, want %q", got, want)
	}
	if got, want := alice.Dash(), ownerA+"-alice"; got != want {
		t.Errorf("dash-form, got %q, want %q", got, want)
	}
	for _, p := range []wire.Principal{alice, bob, {Owner: "local", Actor: "a_1"}, {Owner: "_", Actor: "_"}} {
		if got, err := wire.ParsePrincipal(p.Dot()); err != nil || got != p {
			t.Errorf("%s: got %v, %v", p.Dot(), got, err)
		}
		if got, err := wire.ParseDashPrincipal(p.Dash()); err != nil || got != p {
			t.Errorf("%s: got %v, %v", p.Dash(), got, err)
		}
	}
}

func TestPrincipalRefused(t *testing.T) {
	bad := []string{"", ".", "-", "alice", ".alice", ownerA + ".", ownerA + ".a.b", ownerA + ".a-b", ownerA + "-a-b", ownerA + ".*",
		ownerA + ".é", ownerA + ".a b", ownerA + "." + strings.Repeat("a", 65)}
	for _, s := range bad {
		if got, err := wire.ParsePrincipal(s); err == nil {
			t.Errorf("dot-form %q: got %v, want an error", s, got)
		}
		if got, err := wire.ParseDashPrincipal(s); err == nil {
			t.Errorf("dash-form %q: got %v, want an error", s, got)
		}
	}
	if _, err := wire.ParsePrincipal(ownerA + "." + strings.Repeat("a", 64)); err != nil {
		t.Errorf("actor of 64 bytes: %v", err)
	}
	if _, err := wire.ParsePrincipal(alice.Dash()); err == nil {
		t.Error("the dash-form parsed as a dot-form")
	}
}

// TestValidOwner: the token format is normative, its derivation is not (§2).
func TestValidOwner(t *testing.T) {
	tests := []struct {
		owner        string
		valid, inDev bool
	}{
		{ownerA, true, true},
		{"u_abcdefghijklmnopqrstuvwxyz", true, true},
		{"u_" + strings.Repeat("234567", 4) + "zz", true, true},
		{"local", false, true},
		{"", false, false},
		{"u_", false, false},
		{"u_" + strings.Repeat("a", 25), false, false},
		{"u_" + strings.Repeat("a", 27), false, false},
		{"u_" + strings.Repeat("a", 25) + "A", false, false},
		{"u_" + strings.Repeat("a", 25) + "1", false, false},
		{"u_" + strings.Repeat("a", 25) + "8", false, false},
		{"u_" + strings.Repeat("a", 25) + "*", false, false},
		{"U_" + strings.Repeat("a", 26), false, false},
		{"u-" + strings.Repeat("a", 26), false, false},
		{nkey, false, false},
		{"Local", false, false},
		{"self", false, false},
	}
	for _, tt := range tests {
		if got := wire.ValidOwner(tt.owner); got != tt.valid {
			t.Errorf("%q: got %v, want %v", tt.owner, got, tt.valid)
		}
		if got := wire.ValidOpenOwner(tt.owner); got != tt.inDev {
			t.Errorf("%q in open mode: got %v, want %v", tt.owner, got, tt.inDev)
		}
	}
}
