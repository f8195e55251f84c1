package audit_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/audit/rego"
	"github.com/cotalctl/cotalctl/internal/subject"
	"github.com/cotalctl/cotalctl/matrix"
)

func shippedRules(t testing.TB) *rego.Engine {
	t.Helper()
	e, err := rego.New(t.Context(), rego.Config{Shipped: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// recorder keeps what an engine finds, and what it is asked about.
type recorder struct {
	audit.Ruler
	found []audit.RuleFinding
	asked int
}

func (r *recorder) Judge(in *audit.Input) ([]audit.RuleFinding, error) {
	out, err := r.Ruler.Judge(in)
	r.found, r.asked = append(r.found, out...), r.asked+len(in.Principals)
	for _, f := range out {
		if f.Witness != "" && !admitted(in.Principals[f.Principal], f) {
			err = errors.Join(err, fmt.Errorf("%s: entry %s: witness %s is denied", f.Code, f.Entry, f.Witness))
		}
	}
	return out, err
}

// admitted reports whether the denies of a direction that holds the entry leave its witness; the audit itself asks whether the entry
// admits it.
func admitted(p audit.InputPrincipal, f audit.RuleFinding) bool {
	for _, d := range []audit.InputDirection{p.Pub, p.Sub} {
		held := d.Open && f.Entry == ">" || slices.ContainsFunc(d.Allow, func(e audit.InputEntry) bool { return e.Text == f.Entry })
		if held && !slices.ContainsFunc(d.Deny, func(e audit.InputEntry) bool { return e.Queue == "" && subject.Pattern(e.Pattern).Matches(f.Witness) }) {
			return true
		}
	}
	return false
}

// TestTwinsAgreeOnFixtures: on every fixture of the checks, the rules that ship find what the checks find: the audit itself compares
// them and fails where they differ. Each rule finds something somewhere.
func TestTwinsAgreeOnFixtures(t *testing.T) {
	r := &recorder{Ruler: shippedRules(t)}
	cases := audit.Cases(t)
	for _, c := range cases {
		if _, err := audit.Bytes(audit.Config{Contract: c.Contract, Now: audit.Now(), Rules: r}, "user.jwt", c.Data); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	if len(cases) == 0 || r.asked != len(cases) {
		t.Errorf("asked about %d principals, want %d", r.asked, len(cases))
	}
	for _, rule := range r.Rules() {
		if rule.Code != "A009" && !slices.ContainsFunc(r.found, func(f audit.RuleFinding) bool { return f.Rule.Code == rule.Code }) {
			t.Errorf("%s finds nothing in any fixture", rule.Code)
		}
	}
}

// TestTwinsAgreeOnShipped: the same on every profile of the contracts that ship, in each topology.
func TestTwinsAgreeOnShipped(t *testing.T) {
	asked := 0
	for _, name := range matrix.EmbeddedNames() {
		c, err := matrix.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, topology := range c.Topologies {
			if testing.Short() && !topology.Default {
				continue
			}
			r := &recorder{Ruler: shippedRules(t)}
			report, err := audit.Contract(audit.Config{Contract: c, Topology: topology.Name, Now: audit.Now(), Rules: r})
			if err != nil {
				t.Fatalf("%s %s: %v", name, topology.Name, err)
			}
			if report.Errors() > 0 {
				t.Errorf("%s %s: got %d errors, want 0", name, topology.Name, report.Errors())
			}
			asked += r.asked
		}
	}
	if asked < 100 {
		t.Errorf("asked about %d principals, want every sample of every profile", asked)
	}
}
