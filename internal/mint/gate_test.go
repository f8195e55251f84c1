package mint

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
)

// TestGateIsExact walks the gate over the true size: at the size it mints, one byte below it refuses without a signature.
func TestGateIsExact(t *testing.T) {
	issuer, signer := counted(t)
	r := request()
	r.Set = agentLike()
	c, err := issuer.Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Gate = len(c.JWT)
	if _, err := issuer.Mint(r); err != nil {
		t.Errorf("gate at the size: %v", err)
	}
	signed := signer.calls
	r.Gate--
	_, err = issuer.Mint(r)
	var gate *GateError
	if !errors.As(err, &gate) {
		t.Fatalf("gate one below the size, got %v", err)
	}
	if signer.calls != signed || signed != 2 {
		t.Errorf("signatures, got %d after %d, want 2 and no more", signer.calls, signed)
	}
	if gate.Size != len(c.JWT) || gate.Gate != len(c.JWT)-1 {
		t.Errorf("sizes, got %d of %d, want %d of %d", gate.Size, gate.Gate, len(c.JWT), len(c.JWT)-1)
	}
	rows := make([]string, 0, len(gate.Widest))
	for _, w := range gate.Widest {
		rows = append(rows, w.Row)
	}
	if diff := cmp.Diff([]string{"HISTORY", "CHAT-SEND", "CHAT-READ", "SERVE", "CLOSE"}, rows); diff != "" {
		t.Errorf("widest rows (-want +got):\n%s", diff)
	}
	for _, part := range []string{fmt.Sprint(gate.Size), fmt.Sprint(gate.Gate), "HISTORY (", "CHAT-SEND (", "CHAT-READ ("} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message %q lacks %q", err, part)
		}
	}
}

func TestGateOrder(t *testing.T) {
	p := profile()
	for _, c := range []struct{ request, profile, want int }{{0, 0, DefaultGate}, {0, 9000, 9000}, {7000, 9000, 7000}} {
		p.Gate = c.profile
		r := request()
		r.Profile, r.Gate = p, c.request
		got, err := r.check()
		if err != nil || got.gate != c.want {
			t.Errorf("gate of request %d and profile %d, got %d, %v, want %d", c.request, c.profile, got.gate, err, c.want)
		}
	}
}

// TestRowCosts holds the costs to the real growth of the JWT, within the rounding of base64.
func TestRowCosts(t *testing.T) {
	issuer, _ := counted(t)
	r := request()
	before, err := issuer.Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Set.Sub.Allow = append(r.Set.Sub.Allow, compile.Entry{Pattern: "wide.<>.one.>", Queue: "q", Rows: []string{"NEW", "SHARED"}})
	after, err := issuer.Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	cost := map[string]int{}
	for _, c := range costs(r.Set) {
		cost[c.Row] = c.Bytes
	}
	grown := len(after.JWT) - len(before.JWT)
	if d := cost["NEW"] - grown; d < -1 || d > 1 || cost["SHARED"] != cost["NEW"] {
		t.Errorf("cost, got %d and %d, want %d for both", cost["NEW"], cost["SHARED"], grown)
	}
}
