package audit

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// violator is a credential that holds a family whole, in both directions, as a profile that the rule is about: beside the other side of a
// disjoint rule, in another account than a placement asks for, with no deny.
func violator(a *auditor, r *rule, space string, family subject.Pattern) *Principal {
	p := &Principal{Name: "violator", Trust: contract.TrustUntrusted, Space: space, Identity: map[string]string{}}
	if len(r.Profiles) > 0 {
		p.Profile = r.Profiles[0]
	}
	list := subject.Texts{Allow: []string{string(family)}}
	switch r.Kind {
	case KindDisjoint:
		for _, all := range r.families {
			for _, other := range all {
				list.Allow = append(list.Allow, string(other))
			}
		}
	case KindPlacement:
		p.Account = "elsewhere"
	case KindDenyPresent:
		if p.Account = r.Account; p.Account == "" {
			p.Account = a.topology.Account(p.Profile, a.profile(p.Profile).Home)
		}
	}
	p.Pub, p.Sub, p.Ignored = newDirections(list, list)
	return p
}

// TestShippedInvariantsFire: whoever holds a family of a shipped invariant whole is found, for every family and both topologies.
func TestShippedInvariantsFire(t *testing.T) {
	fired, declared := 0, 0
	for _, c := range shipped(t) {
		for _, topology := range c.Topologies {
			a, err := newAuditor(Config{Contract: c, Topology: topology.Name})
			if err != nil {
				t.Fatal(err)
			}
			space := a.sampleSpace()
			for _, r := range a.rulesOf(space).rules {
				if found := declaredFault(t, c, topology, &r); found != nil {
					if !slices.ContainsFunc(found, func(f Finding) bool { return f.Code == r.Code }) {
						t.Errorf("%s %s: %s does not fire on a changed declaration", c.Name, topology.Name, r.Code)
					}
					declared++
				} else if len(r.families[publishing])+len(r.families[subscribing]) == 0 && r.Kind != KindNoDeputy { // TestShippedNoDeputy
					t.Errorf("%s %s: nothing tries %s of kind %s", c.Name, topology.Name, r.Code, r.Kind)
				}
				for _, family := range slices.Concat(r.families[publishing], r.families[subscribing]) {
					a.out.Findings, a.seen = nil, map[string]int{}
					a.invariants(violator(a, &r, space, family))
					if !slices.ContainsFunc(a.out.Findings, func(f Finding) bool { return f.Code == r.Code }) {
						t.Errorf("%s %s: %s of %s does not fire", c.Name, topology.Name, r.Code, family)
					}
					fired++
				}
			}
			if err := a.probs.Err(); err != nil {
				t.Errorf("%s %s: %v", c.Name, topology.Name, err)
			}
		}
	}
	if fired < 300 || declared < 50 {
		t.Errorf("tried %d families and %d declarations, want those of every invariant", fired, declared)
	}
}

// declaredFault changes one declaration that a rule is about and returns what the audit says of the changed contract, nil where the
// rule is about no declaration.
func declaredFault(t *testing.T, c *contract.Contract, topology *contract.Topology, r *rule) []Finding {
	t.Helper()
	changed, place := *c, *topology
	switch {
	case r.Kind == KindSetting:
		res := *c.Resources[r.On[0]]
		res.Config, res.Protect = maps.Clone(res.Config), nil
		for key := range r.Settings {
			res.Config[key] = "changed"
		}
		res.Subjects, res.Update, res.Delete, res.Closed = []contract.Template{tmpl(t, "elsewhere")}, !res.Update, !res.Delete, !res.Closed
		changed.Resources = maps.Clone(c.Resources)
		changed.Resources[res.ID] = &res
	case r.Kind == KindPlacement && len(r.On)+len(r.Profiles) > 0 && len(r.Families) == 0:
		place.Place = maps.Clone(place.Place)
		place.Accounts = append(slices.Clone(place.Accounts), "elsewhere")
		place.Place[slices.Concat(r.On, r.Profiles)[0]] = "elsewhere"
		changed.Topologies = []*contract.Topology{&place}
	case r.Kind == KindLifetime:
		profile := *c.Profiles["agent"]
		if profile.Lifetime = (contract.Lifetime{Class: r.Class, Default: 2 * r.Max}); len(r.Profiles) > 0 {
			profile = *c.Profiles[r.Profiles[0]]
			profile.Lifetime = contract.Lifetime{Class: r.Class, Default: 2 * r.Max}
		}
		changed.Profiles = maps.Clone(c.Profiles)
		changed.Profiles[profile.Name] = &profile
	default:
		return nil
	}
	a, err := newAuditor(Config{Contract: &changed, Topology: topology.Name})
	if err != nil {
		t.Fatal(err)
	}
	a.declared(a.rulesOf(a.sampleSpace()))
	return append([]Finding{}, a.out.Findings...)
}

// TestShippedRowsAreReached: some input of each profile's parameters makes an entry of each of its rows, in some account, and
// what it compiles to has no error.
func TestShippedRowsAreReached(t *testing.T) {
	for _, c := range shipped(t) {
		for _, topology := range c.Topologies {
			a, err := newAuditor(Config{Contract: c, Topology: topology.Name})
			if err != nil {
				t.Fatal(err)
			}
			for _, profile := range contract.Sorted(c.Profiles) {
				if missed := a.unreached(profile, reachedRows(t, a, profile)); len(missed) > 0 {
					t.Errorf("%s %s: rows of %s that no input reaches: %v", c.Name, topology.Name, profile.Name, missed)
				}
			}
			if err := a.probs.Err(); err != nil {
				t.Errorf("%s %s: %v", c.Name, topology.Name, err)
			}
			noErrors(t, &a.out)
		}
	}
}

func reachedRows(t *testing.T, a *auditor, profile *contract.Profile) map[string]bool {
	t.Helper()
	reached := map[string]bool{}
	for _, in := range sampleInputs(a.cfg.Contract, profile, a.sampleSpace()) {
		scope, err := compile.NewScope(a.cfg.Contract, a.topology, profile, in)
		if err != nil {
			t.Fatalf("%s: %v", profile.Name, err)
		}
		for _, account := range compile.Accounts(a.cfg.Contract, a.topology, profile) {
			grants, err := compile.Resolve(scope, account)
			if err != nil {
				t.Fatalf("%s: %v", profile.Name, err)
			}
			for i := range grants {
				reached[grants[i].Row.ID] = true
			}
		}
		a.sample(profile, in, false)
	}
	return reached
}

// TestExceptAndFamily: a profile that a row of "*" excepts does not have it, a family binds its parameter, and names that a key
// leaves unbound become one "*" each.
func TestExceptAndFamily(t *testing.T) {
	c := testContract(t)
	word := c.Grammars["word"]
	c.Kinds = map[string]*contract.Kind{"job": {Name: "job", Key: tmpl(t, "job.{word}.{nonce}"), Split: true}, "head": {Name: "head", Key: tmpl(t, "head.{word}")}}
	c.Resources["shelf"] = &contract.Resource{ID: "shelf", Bucket: true, Name: tmpl(t, "shelf_{space}"), Home: "main", Config: map[string]any{}}
	c.Profiles["keeper"] = &contract.Profile{Name: "keeper", Home: "main", Trust: contract.TrustSinglePurpose, Params: []*contract.Param{
		{Name: "kind", Type: &contract.Type{Kind: contract.TypeMember, Of: "kinds", Within: &contract.Filter{Of: "kinds", Where: map[string]bool{"split": true}}}},
		{Name: "conn", Type: &contract.Type{Kind: contract.TypeScalar, Grammar: word}}}}
	key := tmpl(t, "{kind.key}.spec")
	c.Rows = []*contract.Row{
		{ID: "INBOX", Profiles: []string{"*"}, Except: []string{"keeper"}, Op: contract.Op{Kind: contract.OpSubscribe, Subject: tmpl(t, "_INBOX_{conn}.>")}},
		{ID: "KEEP", Profiles: []string{"keeper"}, Unbound: "*", Op: contract.Op{Kind: contract.OpKV, Resource: "shelf", Verbs: []string{"put"}, Key: &key}},
	}
	_, set := compiled(t, c, "keeper", map[string]any{"kind": "job", "conn": "abcd"})
	if diff := cmp.Diff([]compile.Entry{{Pattern: "$KV.shelf_main.job.*.*.spec", Rows: []string{"KEEP"}}}, set.Pub.Allow); diff != "" {
		t.Errorf("keeper publishes (-want +got):\n%s", diff)
	}
	if set.Sub.Mode != compile.ModeNone {
		t.Errorf("keeper subscribes, got %s, want none: the row excepts it", set.Sub.Mode)
	}
	if _, set := compiled(t, c, "scanner", map[string]any{"conn": "abcd"}); len(set.Sub.Allow) != 1 {
		t.Errorf("scanner, got %v, want the row of every other profile", set.Sub.Allow)
	}
	topology, _ := c.Topology("")
	in := compile.Input{Values: map[string]any{"space": "main", "kind": "head", "conn": "abcd"}}
	if _, err := compile.NewScope(c, topology, c.Profiles["keeper"], in); err == nil {
		t.Error("keeper of kind head, got no error, want one: the family does not select it")
	}
}

// sampleInputs are the inputs of a profile's samples.
func sampleInputs(c *contract.Contract, profile *contract.Profile, space string) []compile.Input {
	var out []compile.Input
	for _, s := range compile.Samples(c, profile, space, 0) {
		out = append(out, s.Input)
	}
	return out
}
