package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/wire"
)

var holder = wire.Holder{Principal: wire.Principal{Owner: hOwner, Actor: "bob"}, LifecycleUID: hUID}

// The small universe: every shape, mode, two owners and lifecycles, on two commands of two endpoints, of the class or an instance.
var (
	endpoints = []string{"manager", "com.acme.deploy"}
	instances = []string{"", instA, "j1b2c3d4e5f6g7h8i9j0k1l2m3"}
	names     = []string{"list", "stop"}
	shapes    = []wire.HandleCommand{
		{},
		{TargetOwner: hOwner}, {TargetOwner: tOwner}, {TargetOwner: tOwner, Authz: "owner"},
		{TargetOwner: hOwner, Authz: "child"}, {TargetOwner: tOwner, Authz: "child"},
		{TargetOwner: hOwner, Authz: "ledger"}, {TargetOwner: tOwner, Authz: "ledger"},
		{TargetOwner: tOwner, TargetActor: "eve", TargetLifecycleUID: tUID},
		{TargetOwner: tOwner, TargetActor: "eve", TargetLifecycleUID: hUID},
		{TargetOwner: tOwner, TargetActor: "al", TargetLifecycleUID: tUID},
	}
	// Only an issuer's ceiling (§13.10) names these.
	ceilingShapes    = append(slices.Clone(shapes), wire.HandleCommand{Authz: "any"})
	ceilingEndpoints = append(slices.Clone(endpoints), "com.acme.>", "org.>")
)

func atoms(endpoints []string, shapes []wire.HandleCommand) []wire.HandleGrant {
	var out []wire.HandleGrant
	for _, e := range endpoints {
		for _, i := range instances {
			for _, n := range names {
				for _, s := range shapes {
					s.Name = n
					out = append(out, wire.HandleGrant{Endpoint: e, Instance: i, Commands: []wire.HandleCommand{s}})
				}
			}
		}
	}
	return out
}

// rank is the order of §13.6: self < owner < any.
var rank = map[string]int{"self": 0, "owner": 1, "any": 2}

func modeOf(c wire.HandleCommand) string {
	switch {
	case c.TargetActor != "":
		return "handle"
	case c.Authz != "":
		return c.Authz
	case c.TargetOwner != "":
		return "owner"
	}
	return "self"
}

// within is the text, rule by rule, and nothing of the algebra: "endpoint within the parent's endpoint/domain pattern; instanceId
// equal or newly pinned (never widened to absent); commands a name-subset with per-command mode never higher in self < owner < any
// (child/ledger/handle are grantable only where the parent names the same mode); target components equal or newly pinned".
func within(pg wire.HandleGrant, p wire.HandleCommand, cg wire.HandleGrant, c wire.HandleCommand) bool {
	endpoint := pg.Endpoint == cg.Endpoint
	if domain, ok := strings.CutSuffix(pg.Endpoint, ">"); ok {
		endpoint = strings.HasPrefix(cg.Endpoint, domain)
	}
	instance := pg.Instance == "" || pg.Instance == cg.Instance
	pm, cm := modeOf(p), modeOf(c)
	_, ranked := rank[pm]
	_, both := rank[cm]
	mode := pm == cm || ranked && both && rank[cm] <= rank[pm]
	components := true
	for _, v := range [][2]string{{p.TargetOwner, c.TargetOwner}, {p.TargetActor, c.TargetActor}, {p.TargetLifecycleUID, c.TargetLifecycleUID}} {
		components = components && (v[0] == "" || v[0] == v[1])
	}
	return endpoint && instance && p.Name == c.Name && mode && components
}

func contained(ceiling []wire.HandleGrant, g wire.HandleGrant, c wire.HandleCommand) bool {
	for _, pg := range ceiling {
		for _, p := range pg.Commands {
			if within(pg, p, g, c) {
				return true
			}
		}
	}
	return false
}

// subjectOf writes the witness of a command by hand, from the table of request subjects (§13.2).
func subjectOf(g wire.HandleGrant, c wire.HandleCommand) string {
	s := "cotal.main.ep.one." + strings.ReplaceAll(g.Endpoint, ".", "_")
	if g.Instance != "" {
		s = "cotal.main.ep.inst." + strings.ReplaceAll(g.Endpoint, ".", "_") + "." + g.Instance
	}
	s += "." + c.Name + "." + modeOf(c)
	for _, token := range []string{c.TargetOwner, c.TargetActor, c.TargetLifecycleUID} {
		if token != "" {
			s += "." + token
		}
	}
	return s + "." + hOwner + ".bob." + hUID + ".any"
}

// compare holds the algebra against the text for one pair, every command of it.
func compare(t rapid.TB, ceiling, grants []wire.HandleGrant) (wide bool) {
	t.Helper()
	var want, got []string
	for i, g := range grants {
		for j, c := range g.Commands {
			if !contained(ceiling, g, c) {
				want = append(want, fmt.Sprintf("%d/%d %s", i, j, subjectOf(g, c)))
			}
		}
	}
	for _, w := range wire.GrantWidenings("main", holder, ceiling, grants) {
		var i, j int
		if _, err := fmt.Sscanf(w.Path, "grants[%d].commands[%d]", &i, &j); err != nil && len(grants[i].Commands) > 1 {
			j = -1 // an entry's endpoint or instance: the witness says which command it was
		}
		got = append(got, fmt.Sprintf("%d/%d %s", i, j, w.Witness))
		if w.Rule == "" || w.What == "" {
			t.Fatalf("a widening without words: %+v", w)
		}
	}
	if len(want) != len(got) {
		t.Fatalf("ceiling %+v\ngrants %+v\ngot  %v\nwant %v", ceiling, grants, got, want)
	}
	for k := range want {
		if a, b := want[k], got[k]; a != b && strings.SplitN(a, " ", 2)[1] != strings.SplitN(b, " ", 2)[1] {
			t.Fatalf("ceiling %+v\ngrants %+v\ngot  %v\nwant %v", ceiling, grants, got, want)
		}
	}
	return len(want) > 0
}

// TestContainmentOfEveryPair enumerates all pairs of single grants, ceilings of issuers among them.
func TestContainmentOfEveryPair(t *testing.T) {
	ceilings, children := atoms(ceilingEndpoints, ceilingShapes), atoms(endpoints, shapes)
	pairs, wide := 0, 0
	for _, p := range ceilings {
		for _, c := range children {
			pairs++
			if compare(t, []wire.HandleGrant{p}, []wire.HandleGrant{c}) {
				wide++
			}
		}
	}
	if pairs < 30000 || wide == 0 || pairs-wide < 500 {
		t.Errorf("%d pairs, %d of them wide: want tens of thousands and both outcomes", pairs, wide)
	}
	t.Logf("%d pairs, %d within, %d wide", pairs, pairs-wide, wide)
}

var drawShape = rapid.Custom(func(t *rapid.T) wire.HandleCommand {
	c := rapid.SampledFrom(shapes).Draw(t, "shape")
	c.Name = rapid.SampledFrom(names).Draw(t, "name")
	return c
})

var drawGrant = rapid.Custom(func(t *rapid.T) wire.HandleGrant {
	g := wire.HandleGrant{Endpoint: rapid.SampledFrom(endpoints).Draw(t, "endpoint"), Instance: rapid.SampledFrom(instances).Draw(t, "instance")}
	g.Commands = rapid.SliceOfN(drawShape, 1, 4).Draw(t, "commands")
	if g.Instance == "" {
		g.Reads = rapid.SliceOfNDistinct(rapid.SampledFrom(subtrees), 0, 3, rapid.ID).Draw(t, "reads")
	}
	return g
})

var drawGrants = rapid.SliceOfN(drawGrant, 1, 4)

func inside(ceiling, grants []wire.HandleGrant) bool {
	return len(wire.GrantWidenings("main", holder, ceiling, grants)) == 0
}

// narrowed draws grants that are likely to lie within others: some of their entries, commands and reads, instances newly pinned.
func narrowed(t *rapid.T, from []wire.HandleGrant) []wire.HandleGrant {
	var out []wire.HandleGrant
	for i, g := range from {
		if rapid.IntRange(0, 4).Draw(t, fmt.Sprintf("drop %d", i)) == 0 {
			continue
		}
		g.Commands = g.Commands[:rapid.IntRange(1, len(g.Commands)).Draw(t, "commands")]
		g.Reads = g.Reads[:rapid.IntRange(0, len(g.Reads)).Draw(t, "reads")]
		if g.Instance == "" && rapid.Bool().Draw(t, "pin") {
			g.Instance, g.Reads = instA, nil
		}
		out = append(out, g)
	}
	if rapid.IntRange(0, 3).Draw(t, "add") == 0 {
		out = append(out, drawGrant.Draw(t, "added"))
	}
	return out
}

// TestContainmentIsAnOrder: reflexive, transitive, the same as the text for whole handles, and pinning only narrows.
func TestContainmentIsAnOrder(t *testing.T) {
	checked, chains, wide := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		a := drawGrants.Draw(t, "a")
		b := narrowed(t, a)
		c := narrowed(t, b)
		checked++
		if !inside(a, a) {
			t.Fatalf("not within itself: %+v", a)
		}
		for _, pair := range [][2][]wire.HandleGrant{{a, b}, {b, c}, {a, c}, {b, a}} {
			parent, child := withoutReads(pair[0]), withoutReads(pair[1])
			if compare(t, parent, child) {
				wide++
			}
			compareReads(t, pair[0], pair[1])
		}
		if inside(a, b) && inside(b, c) {
			chains++
			if !inside(a, c) {
				t.Fatalf("c is within b and b within a, but not c within a:\na %+v\nb %+v\nc %+v", a, b, c)
			}
		}
		pinned := slices.Clone(a)
		i := rapid.IntRange(0, len(pinned)-1).Draw(t, "pin")
		if pinned[i].Instance == "" {
			pinned[i].Instance, pinned[i].Reads = instances[2], nil
		}
		if !inside(a, pinned) {
			t.Fatalf("a newly pinned instance is not within what it pins: %+v", a)
		}
		if inside(pinned, c) && !inside(a, c) {
			t.Fatalf("pinning has widened: %+v", a)
		}
	})
	if checked < 20 || chains < checked/10 || wide < checked/10 {
		t.Errorf("%d draws, %d chains, %d wide pairs: want some of each", checked, chains, wide)
	}
	t.Logf("%d draws, %d chains, %d wide pairs", checked, chains, wide)
}

func withoutReads(grants []wire.HandleGrant) []wire.HandleGrant {
	out := slices.Clone(grants)
	for i := range out {
		out[i].Reads = nil
	}
	return out
}
