package compile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
	"pgregory.net/rapid"
)

// universe is every subject of up to four tokens over {a, b}, and every SUB subject of up to three over {a, b, *, >}.
func universe(tokens []string, most int) []string {
	var out, level []string
	level = []string{""}
	for range most {
		var next []string
		for _, prefix := range level {
			for _, t := range tokens {
				next = append(next, strings.TrimPrefix(prefix+"."+t, "."))
			}
		}
		out, level = append(out, next...), next
	}
	return slices.DeleteFunc(out, func(s string) bool { _, err := subject.Parse(s); return err != nil })
}

func drawGrants(t *rapid.T) []Grant {
	patterns := universe([]string{"a", "b", "*", ">"}, 3)
	n := rapid.IntRange(1, 8).Draw(t, "grants")
	grants := make([]Grant, n)
	for i := range grants {
		g := Grant{Row: &contract.Row{ID: fmt.Sprintf("R%d", i)}, Rows: []string{fmt.Sprintf("R%d", i)}, Dir: Sub}
		g.Deny = rapid.IntRange(0, 3).Draw(t, "deny") == 0
		if rapid.Bool().Draw(t, "pub") {
			g.Dir = Pub
		} else {
			g.Entry.Queue = rapid.SampledFrom([]string{"", "", "q", "v.*"}).Draw(t, "queue")
		}
		g.Entry.Pattern = subject.Pattern(rapid.SampledFrom(patterns).Draw(t, "pattern"))
		grants[i] = g
	}
	return grants
}

// raw is the permission set of the grants as they are, with "none" where a direction has no allow.
func raw(grants []Grant) subject.Permissions {
	var p subject.Permissions
	for _, g := range grants {
		l := &p.Sub
		if g.Dir == Pub {
			l = &p.Pub
		}
		if g.Deny {
			l.Deny = append(l.Deny, g.Entry)
		} else {
			l.Allow = append(l.Allow, g.Entry)
		}
	}
	for _, l := range []*subject.List{&p.Pub, &p.Sub} {
		if len(l.Allow) == 0 {
			*l = subject.List{Deny: []subject.Entry{{Pattern: ">"}}}
		}
	}
	return p
}

func compiled(l List) subject.List {
	if l.Mode == ModeNone {
		return subject.List{Deny: []subject.Entry{{Pattern: ">"}}}
	}
	conv := func(entries []Entry) (out []subject.Entry) {
		for _, e := range entries {
			out = append(out, subject.Entry{Pattern: subject.Pattern(e.Pattern), Queue: e.Queue})
		}
		return out
	}
	return subject.List{Allow: conv(l.Allow), Deny: conv(l.Deny)}
}

// TestMinimizeDecidesAlike holds the minimized set against the raw one on every operation of a small universe, deliveries
// included.
func TestMinimizeDecidesAlike(t *testing.T) {
	subjects, subs := universe([]string{"a", "b"}, 4), universe([]string{"a", "b", "*", ">"}, 3)
	operations, dropped := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		grants := drawGrants(t)
		pub, sub := Minimize(grants)
		before, after := raw(grants), subject.Permissions{Pub: compiled(pub), Sub: compiled(sub)}
		dropped += len(grants) - len(pub.Allow) - len(pub.Deny) - len(sub.Allow) - len(sub.Deny)
		operations += alike(t, before, after, nil, subjects, subs)
		for _, l := range []List{pub, sub} {
			checkRows(t, grants, l)
		}
	})
	if operations == 0 || dropped == 0 {
		t.Fatalf("compared %d operations with %d entries dropped: the test saw nothing", operations, dropped)
	}
	t.Logf("compared %d operations, %d entries dropped", operations, dropped)
}

// checkRows holds that no entry is without a row.
func checkRows(t *rapid.T, grants []Grant, l List) {
	for _, e := range slices.Concat(l.Allow, l.Deny) {
		if len(e.Rows) == 0 || !slices.IsSorted(e.Rows) {
			t.Fatalf("entry %s has rows %v", e, e.Rows)
		}
	}
}

// drawAllows draws plain subscribe allows, most of them open and close to each other.
func drawAllows(t *rapid.T) []Grant {
	patterns := universe([]string{"a", "*", ">"}, 3)
	open := slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return !strings.HasSuffix(p, "*") })
	grants := make([]Grant, rapid.IntRange(1, 4).Draw(t, "grants"))
	for i := range grants {
		from := patterns
		if rapid.Bool().Draw(t, "open") {
			from = open
		}
		id := fmt.Sprintf("R%d", i)
		grants[i] = Grant{Row: &contract.Row{ID: id}, Rows: []string{id}, Dir: Sub,
			Entry: subject.Entry{Pattern: subject.Pattern(rapid.SampledFrom(from).Draw(t, "pattern"))}}
	}
	return grants
}

// TestClosingHoldsArity draws subscribe allows, closes them, and holds the result against what the patterns say: a subject is
// delivered exactly when some allow matches it, whatever wildcard the holder subscribes with.
func TestClosingHoldsArity(t *testing.T) {
	subjects, subs := universe([]string{"a", "b"}, 4), universe([]string{"a", "b", "*", ">"}, 4)
	deliveries, refusedSets, closed := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			grants := drawAllows(t)
			out, err := Close(grants)
			if err != nil {
				refusedSets++
				continue
			}
			_, list := Minimize(out)
			closed += len(list.Deny)
			deliveries += checkArity(t, grants, list, subjects, subs)
		}
	})
	if deliveries == 0 || refusedSets == 0 || closed == 0 {
		t.Fatalf("saw %d deliveries, %d refused sets, %d closing denies: the test saw too little", deliveries, refusedSets, closed)
	}
	t.Logf("%d deliveries, %d refused sets, %d closing denies", deliveries, refusedSets, closed)
}

// checkArity holds a closed list against the grants that it was made of, subject by subject, and returns how many it tried.
func checkArity(t *rapid.T, grants []Grant, list List, subjects, subs []string) int {
	perms := subject.Permissions{Sub: compiled(list)}
	for _, g := range grants {
		if !perms.CanSubscribe(string(g.Entry.Pattern), "").Allowed {
			t.Fatalf("%s: granted, but its own subscription is refused", g.Entry)
		}
	}
	accepted := slices.DeleteFunc(slices.Clone(subs), func(s string) bool { return !perms.CanSubscribe(s, "").Allowed })
	for _, m := range subjects {
		want := slices.ContainsFunc(grants, func(g Grant) bool { return g.Entry.Pattern.Matches(m) })
		got := slices.ContainsFunc(accepted, func(s string) bool { return perms.Delivers(s, "", m) })
		if got != want {
			t.Fatalf("%s: reachable %t, want %t; allow %v deny %v", m, got, want, list.Allow, list.Deny)
		}
		// Nothing that the grants admit may be lost on the exact subscription, or on the granted pattern itself.
		if want && (!perms.CanSubscribe(m, "").Allowed || !perms.Delivers(m, "", m)) {
			t.Fatalf("%s: granted but lost", m)
		}
		for _, g := range grants {
			if p := string(g.Entry.Pattern); g.Entry.Pattern.Matches(m) && !perms.Delivers(p, "", m) {
				t.Fatalf("%s: granted by %s, withheld from its subscription", m, p)
			}
		}
	}
	return len(subjects)
}
