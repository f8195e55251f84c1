package main

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// entriesOf reads "pattern queue" texts.
func entriesOf(texts ...string) []compile.Entry {
	out := []compile.Entry{}
	for _, s := range texts {
		p, q, _ := strings.Cut(s, " ")
		out = append(out, compile.Entry{Pattern: p, Queue: q})
	}
	return out
}

func list(allow, deny []string) compile.List {
	l := compile.List{Mode: compile.ModePatterns, Allow: entriesOf(allow...), Deny: entriesOf(deny...)}
	if len(allow) == 0 {
		l = compile.List{Mode: compile.ModeNone}
	}
	return l
}

// TestGained: what a set admits beyond another, with what over-admission, queues and denies do to it.
func TestGained(t *testing.T) {
	type pair struct{ allow, deny []string }
	for name, c := range map[string]struct {
		sub           bool
		mutant, whole pair
		want          string // "" : nothing is gained
	}{
		"the same":                     {false, pair{[]string{"a.b"}, nil}, pair{[]string{"a.b"}, nil}, ""},
		"wider":                        {false, pair{[]string{"a.*"}, nil}, pair{[]string{"a.b"}, nil}, "pub a.any"},
		"covered by another":           {false, pair{[]string{"a.*", "a.>"}, nil}, pair{[]string{"a.b", "a.>"}, nil}, ""},
		"covered by two":               {false, pair{[]string{"a.>"}, nil}, pair{[]string{"a.*", "a.*.>"}, nil}, ""},
		"a deny dropped":               {false, pair{[]string{"a.>"}, nil}, pair{[]string{"a.>"}, []string{"a.b"}}, "pub a.b"},
		"a deny of nothing dropped":    {false, pair{[]string{"a.>"}, nil}, pair{[]string{"a.>"}, []string{"b.>"}}, ""},
		"wider below a deny":           {false, pair{[]string{"a.*"}, []string{"a.*"}}, pair{[]string{"a.b"}, []string{"a.*"}}, ""},
		"from nothing":                 {false, pair{[]string{"a"}, nil}, pair{}, "pub a"},
		"to nothing":                   {false, pair{}, pair{[]string{"a"}, nil}, ""},
		"a final star over-admits":     {true, pair{[]string{"a.*"}, nil}, pair{[]string{"a.*"}, []string{"a.*.>"}}, "sub a.any.rest"},
		"a subtree is a final star":    {true, pair{[]string{"a.>"}, nil}, pair{[]string{"a.*"}, nil}, ""},
		"a subtree is no closed star":  {true, pair{[]string{"a.>"}, nil}, pair{[]string{"a.*"}, []string{"a.*.>"}}, "sub a.any.rest"},
		"a queue removed":              {true, pair{[]string{"a.b"}, nil}, pair{[]string{"a.b q"}, nil}, "sub a.b"},
		"a queue added":                {true, pair{[]string{"a.b q"}, nil}, pair{[]string{"a.b"}, nil}, ""},
		"another queue":                {true, pair{[]string{"a.b p"}, nil}, pair{[]string{"a.b q"}, nil}, "sub a.b p"},
		"a restriction removed":        {true, pair{[]string{"a.b"}, nil}, pair{[]string{"a.b", "a.b q"}, nil}, "sub a.b another"},
		"a restriction of another":     {true, pair{[]string{"a.>"}, nil}, pair{[]string{"a.>", "a.b q"}, nil}, ""},
		"a deny for one queue dropped": {true, pair{[]string{"a.b"}, nil}, pair{[]string{"a.b"}, []string{"a.b q"}}, "sub a.b q"},
	} {
		t.Run(name, func(t *testing.T) {
			none := list(nil, nil)
			mutant, whole := &compile.PermissionSet{Pub: none, Sub: none}, &compile.PermissionSet{Pub: none, Sub: none}
			m, w := list(c.mutant.allow, c.mutant.deny), list(c.whole.allow, c.whole.deny)
			if c.sub {
				mutant.Sub, whole.Sub = m, w
			} else {
				mutant.Pub, whole.Pub = m, w
			}
			got := ""
			if g, ok := gained(mutant, whole); ok {
				got = g.String()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestGainedAgainstDecisions holds the proof to the broker's decisions on single operations, which package subject compares with the
// broker: every subject of up to three tokens that one set lets publish or hear and the other does not must be known to it, and the
// subject that it names must be such a one.
func TestGainedAgainstDecisions(t *testing.T) {
	subjects, texts := words(3, "a", "b"), words(3, "a", "b", "*", ">")
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		mutant, whole := drawSet(t, "mutant"), drawSet(t, "whole")
		m, w := permissions(mutant), permissions(whole)
		g, more := gained(mutant, whole)
		if more {
			found++
			if g.dir == compile.Pub && (!m.CanPublish(g.subject).Allowed || w.CanPublish(g.subject).Allowed) {
				t.Fatalf("%v is not gained by %v over %v", g, mutant, whole)
			}
			return
		}
		for _, s := range subjects {
			if m.CanPublish(s).Allowed && !w.CanPublish(s).Allowed {
				t.Fatalf("nothing gained, but may publish %s: %v over %v", s, mutant, whole)
			}
			for _, q := range []string{"", "q", "p"} {
				if hears(m, texts, s, q) && !hears(w, texts, s, q) {
					t.Fatalf("nothing gained, but hears %s in queue %q: %v over %v", s, q, mutant, whole)
				}
			}
		}
	})
	if found == 0 {
		t.Error("no pair of sets differed")
	}
}

// hears reports whether some accepted subscription delivers a subject.
func hears(p subject.Permissions, texts []string, s, queue string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		return p.CanSubscribe(text, queue).Allowed && p.Delivers(text, queue, s)
	})
}

// words are all subjects of up to n tokens.
func words(n int, tokens ...string) []string {
	last, out := []string{""}, []string{}
	for range n {
		var next []string
		for _, head := range last {
			for _, t := range tokens {
				next = append(next, strings.TrimPrefix(head+"."+t, "."))
			}
		}
		out, last = append(out, next...), next
	}
	return out
}

func drawSet(t *rapid.T, name string) *compile.PermissionSet {
	var valid []string
	for _, s := range words(3, "a", "b", "*", ">") {
		if _, err := subject.ParseStrict(s); err == nil {
			valid = append(valid, s)
		}
	}
	draw := func(what string, queues bool) []string {
		out := rapid.SliceOfN(rapid.SampledFrom(valid), 0, 3).Draw(t, name+" "+what)
		for i := range out {
			if queues {
				out[i] = strings.TrimSpace(out[i] + " " + rapid.SampledFrom([]string{"", "", "q"}).Draw(t, "queue"))
			}
		}
		return out
	}
	return &compile.PermissionSet{Pub: list(draw("pub allow", false), draw("pub deny", false)), Sub: list(draw("sub allow", true), draw("sub deny", true))}
}
