package spacetest_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// deputies is what the audit computes for a credential of a profile in an account.
func deputies(t *testing.T, s *spacetest.Space, set *compile.PermissionSet) []audit.Deputy {
	t.Helper()
	out, err := audit.SetDeputies(audit.Config{Contract: s.Contract, Topology: s.Topology.Name}, set)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// classOf is the audit's class of each kind of redirect that a thief has; the others are answers of the API.
var classOf = map[string]string{
	"acknowledgement": contract.DeputyAck, "duplicate": contract.DeputyAck, "refusal": contract.DeputyAck,
	"message": contract.DeputyStored, "+NXT message": contract.DeputyStored, "push": contract.DeputyStored,
	"+NXT status": contract.DeputyStatus, "no message": contract.DeputyStatus, "expiry": contract.DeputyStatus, "heartbeat": contract.DeputyStatus,
	"DIRECT.GET": contract.DeputyPayload,
}

// computedClasses: the redirects that a credential's grants conveyed on the broker are of exactly the classes that the audit computes.
func computedClasses(t *testing.T, s *spacetest.Space, h *thief, done map[string]bool) {
	t.Helper()
	fired, computed := map[string]bool{}, map[string]bool{}
	for kind := range done {
		class, known := classOf[kind]
		switch {
		case kind == silent:
		case known:
			fired[class] = true
		default:
			fired[contract.DeputyAPI] = true
		}
	}
	for _, d := range deputies(t, s, h.set) {
		computed[d.Class] = true
	}
	if d := cmp.Diff(fired, computed); d != "" {
		t.Errorf("%s in %s: classes (-measured +computed):\n%s", h.set.Profile, h.set.Account, d)
	}
}

// computedStores: the stores whose victim's rows were replaced, and those whose free subjects were taken, are exactly those that the
// audit computes. The audit is coarser in three ways: a message that keeps its own subject takes no row here, what a holder reads
// or removes is no deputy's, and it does not tell whose row it is.
func computedStores(t *testing.T, s *spacetest.Space, profile string, values map[string]any, powers map[string]power) {
	t.Helper()
	computed := map[string]string{}
	for _, account := range s.Topology.Accounts {
		for _, d := range deputies(t, s, s.Grants(t, account, profile, merged(values, map[string]any{"connId": "thief0123456789abcdefghij"}))) {
			if d.Class == contract.DeputyStored {
				continue
			}
			for _, store := range d.Stores {
				if cell := ".S"; slices.Contains(d.FreeOnly, store) {
					computed[store] = cell
				} else {
					computed[store] = "OS"
				}
			}
		}
	}
	measured := map[string]string{}
	for store, p := range powers {
		if cell := p.cell()[:2]; cell != ".." {
			measured[store] = cell
		}
	}
	if d := cmp.Diff(measured, computed); d != "" {
		t.Errorf("%s: stores (-measured +computed):\n%s", profile, d)
	}
	if len(computed) == 0 {
		t.Errorf("%s: nothing computed of %v", profile, slices.Sorted(maps.Keys(powers)))
	}
}
