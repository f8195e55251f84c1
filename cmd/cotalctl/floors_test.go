package main

import (
	"maps"
	"testing"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/fixtures"
	"github.com/cotalctl/cotalctl/matrix"
)

// TestFloorsOfEveryAccount: a holder in two accounts connects with two credentials, and the larger may be the other account's.
func TestFloorsOfEveryAccount(t *testing.T) {
	t.Parallel()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	split, ok := c.Topology("split")
	if !ok {
		t.Fatal("the contract has no topology of several accounts")
	}
	floors, err := floorsFor(t.TempDir(), c, split)
	set, setErr := fixtures.Build(c)
	if err != nil || setErr != nil || floors.ControlLine != set.RequiredControlLine() || floors.ControlLine <= contract.DefaultMargin {
		t.Fatalf("floor of the contract, got %d, %v, %v, want what its fixtures ask for", floors.ControlLine, err, setErr)
	}
	c.Fixtures = nil                // of a contract without fixtures: samples
	const profile = "read-mediator" // its durables stand in the other account, its replies at home
	maps.DeleteFunc(c.Profiles, func(name string, _ *contract.Profile) bool { return name != profile })
	home := 0
	err = sampleScopes(c, split, func(p *contract.Profile, scope *compile.Scope, err error) error {
		if err != nil {
			return err
		}
		set, err := compile.Compile(scope, "")
		if err != nil {
			return err
		}
		doc, err := document(set, p, scope)
		if err != nil {
			return err
		}
		home = max(home, doc.ConnectBytes)
		return nil
	})
	if err != nil || home == 0 {
		t.Fatalf("the largest CONNECT at home is %d bytes, %v", home, err)
	}
	floors, err = floorsFor(t.TempDir(), c, split)
	if err != nil {
		t.Fatal(err)
	}
	if floors.ControlLine <= home+c.Broker.Margin {
		t.Errorf("floor, got %d, want more than %d, which the home account alone asks for", floors.ControlLine, home+c.Broker.Margin)
	}
}
