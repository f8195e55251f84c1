package compile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// credential is what one holder may write, as one profile.
type credential struct {
	profile string
	writes  []subject.Pattern
}

var writing = []string{"cotal.", "$KV.", "$JS.API.CONSUMER.CREATE.", "$JS.API.CONSUMER.INFO.", "$JS.API.CONSUMER.MSG.NEXT.",
	"$JS.API.CONSUMER.DELETE.",
	"$JS.ACK."}

// writesOf are the entries that name application subjects, keys or a consumer: what a holder can write, or take from another. The
// rest is the API of whole streams, which the rows of trusted principals share.
func writesOf(set *compile.PermissionSet) []subject.Pattern {
	var out []subject.Pattern
	for _, e := range set.Pub.Allow {
		for _, prefix := range writing {
			if strings.HasPrefix(e.Pattern, prefix) {
				out = append(out, subject.Pattern(e.Pattern))
			}
		}
	}
	return out
}

// holdersOf compiles the profiles for one identity; who they call and act for is the other one.
func holdersOf(t rapid.TB, c *contract.Contract, topology *contract.Topology, profiles []string, self, other identity) []credential {
	t.Helper()
	var out []credential
	for _, p := range contract.Sorted(c.Profiles) {
		if p.Home == contract.SystemAccount || len(profiles) > 0 && !slices.Contains(profiles, p.Name) {
			continue
		}
		for _, values := range self.inputs(c, p, other) {
			s, err := compile.NewScope(c, topology, p, compile.Input{Values: values})
			if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			held := credential{profile: p.Name}
			for _, account := range compile.Accounts(c, topology, p) {
				set, err := compile.Compile(s, account)
				if err != nil {
					t.Fatalf("%s: %v", p.Name, err)
				}
				held.writes = append(held.writes, writesOf(set)...)
			}
			out = append(out, held)
		}
	}
	return out
}

// overlapsOf calls yield for each pair of entries of two holders that some subject is in.
func overlapsOf(a, b []credential, yield func(x, y subject.Pattern, who string)) (pairs int) {
	for _, h := range a {
		for _, g := range b {
			for _, x := range h.writes {
				for _, y := range g.writes {
					pairs++
					if subject.Overlaps(x, y) {
						yield(x, y, h.profile+" and "+g.profile)
					}
				}
			}
		}
	}
	return pairs
}

// comparison is what one difference was found to hold for.
type comparison struct {
	apart
	c        *contract.Contract
	topology *contract.Topology
	needed   map[string]bool
	profiles map[string]int // entries compared
	cases    int
	pairs    int
}

// holds compares all that the two write, either way round for those that both hold.
func (k *comparison) holds(t rapid.TB, one, two identity) {
	t.Helper()
	mine, theirs := holdersOf(t, k.c, k.topology, k.apart.profiles, one, two), holdersOf(t, k.c, k.topology, k.others(), two, one)
	k.cases++
	k.pairs += overlapsOf(mine, theirs, func(x, y subject.Pattern, who string) {
		for _, s := range k.shared {
			if f := one.pattern(s.family); subject.Covers(f, x) && subject.Covers(f, y) {
				k.needed[s.family] = true
				return
			}
		}
		hit, _ := subject.Intersect(x, y)
		t.Errorf("%s\nand %s\n%s: %s and %s both admit %s", one, two, who, x, y, hit.Witness())
	})
	for _, h := range mine {
		k.profiles[h.profile] += len(h.writes)
	}
}

// TestHoldersAreDisjoint: what two holders write does not overlap, but for what they share on purpose, for names of the maximum
// length of each grammar that collide as nearly as the grammar lets them. The topology is single, where all stand in one account.
func TestHoldersAreDisjoint(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	topology, _ := c.Topology("single")
	for _, a := range aparts {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			k := &comparison{apart: a, c: c, topology: topology, needed: map[string]bool{}, profiles: map[string]int{}}
			for _, pair := range a.table {
				one := rapid.Custom(drawIdentity).Example(0)
				two := one
				two.connID = one.connID[1:]
				pair(&one, &two)
				k.holds(t, one, two)
			}
			if t.Failed() {
				return
			}
			rapid.Check(t, func(rt *rapid.T) {
				one := drawIdentity(rt)
				two := one
				a.differ(rt, &one, &two)
				two.connID = near(rt, one.connID, wordChars+"-", 22)
				k.holds(rt, one, two)
			})
			for _, s := range a.shared {
				if !k.needed[s.family] {
					t.Errorf("%s is shared (%s), but nobody shares it", s.family, s.why)
				}
			}
			for _, name := range a.profiles {
				if k.profiles[name] == 0 && name != "activator" { // which watches and writes nothing, but names a consumer
					t.Errorf("profile %s was not compared", name)
				}
			}
			if k.pairs == 0 {
				t.Errorf("compared no entries")
			}
			t.Logf("%d pairs of holders, %d pairs of entries, %d profiles", k.cases, k.pairs, len(k.profiles))
		})
	}
}

// TestOneHolderOverlapsItself is the positive control: a second credential of the same holder, with an inbox of its own, writes all
// that the first one does.
func TestOneHolderOverlapsItself(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	topology, _ := c.Topology("single")
	entries := 0
	rapid.Check(t, func(rt *rapid.T) {
		one := drawIdentity(rt)
		two := one
		two.connID = near(rt, one.connID, wordChars+"-", 22)
		mine, theirs := holdersOf(t, c, topology, nil, one, one), holdersOf(t, c, topology, nil, two, one)
		for i, h := range mine {
			own := map[subject.Pattern]bool{}
			overlapsOf(mine[i:i+1], theirs[i:i+1], func(x, _ subject.Pattern, _ string) { own[x] = true })
			if len(own) != len(distinct(h.writes)) {
				rt.Errorf("%s: %d of %d entries overlap those of a second credential", h.profile, len(own), len(h.writes))
			}
			entries += len(own)
		}
	})
	if entries < 1000 {
		t.Errorf("compared %d entries, want at least 1000", entries)
	}
}

func distinct(ps []subject.Pattern) map[subject.Pattern]bool {
	out := map[subject.Pattern]bool{}
	for _, p := range ps {
		out[p] = true
	}
	return out
}

// inputs are the parameters of a profile for this identity, once per choice that gives other subjects.
func (id identity) inputs(c *contract.Contract, p *contract.Profile, other identity) []map[string]any {
	values := map[string]any{"space": id.space}
	known, sample := id.known(c, other), compile.Samples(c, p, id.space, 0)[0].Input.Values
	for _, param := range p.Params {
		if v, ok := known[param.Name]; ok {
			values[param.Name] = v
		} else if !param.Optional && param.Default == nil {
			values[param.Name] = sample[param.Name]
		}
	}
	out := []map[string]any{values}
	with := func(name string, vs ...any) {
		out = nil
		for _, v := range vs {
			m := maps.Clone(values)
			m[name] = v
			out = append(out, m)
		}
	}
	switch {
	case p.Family != nil:
		var kinds []any
		for _, k := range contract.Sorted(c.Kinds) {
			if k.Split && k.Readable {
				kinds = append(kinds, k.Name)
			}
		}
		with(p.Family.Param, kinds...)
	case p.Name == "redeemed": // its targets name an owner each: there is no own one, and no any
		with("capabilities", id.conferred(other))
	case p.Name == "drain-applier":
		with("commit", id.commits(other)...)
	case p.Name == "drain-canceller":
		with("completion", id.completions(other)...)
	}
	return out
}

// pattern writes out a family for this identity.
func (id identity) pattern(family string) subject.Pattern {
	return subject.Pattern(strings.NewReplacer("<space>", id.space, "<owner>", id.owner, "<actor>", id.actor, "<uid>", id.uid, "<role>",
		id.role, "<pool>", id.pool, "<run>", id.run, "<gid>", id.gid, "<n>", id.n,
		"<e>", strings.ReplaceAll(id.endpoint, ".", "_")).Replace(family))
}

// String names what a failing draw is made of.
func (id identity) String() string {
	return fmt.Sprintf("space %s, %s.%s.%s, endpoint %s, instance %s", id.space, id.owner, id.actor, id.uid, id.endpoint, id.instance)
}
