package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/wire"
)

var subtrees = []string{"ev", "ev.>", "ev.a", "ev.a.>", "ev.a.b", "ev.b", "svc.a", "svc.a.>", "svc.a.b", "svc.>", "goal.a", "eva.a"}

// keys are all texts of up to four tokens over the universe's: what a subtree may hold.
func keys() []string {
	level, out := []string{""}, []string{}
	for range 4 {
		var next []string
		for _, prefix := range level {
			for _, token := range []string{"ev", "eva", "svc", "goal", "a", "b"} {
				next = append(next, strings.TrimPrefix(prefix+"."+token, "."))
			}
		}
		level, out = next, append(out, next...)
	}
	return out
}

var allKeys = keys()

// holds is "subject-prefix-contained", by the text of one key.
func holds(subtree, key string) bool {
	if base, ok := strings.CutSuffix(subtree, ".>"); ok {
		return strings.HasPrefix(key, base+".")
	}
	return key == subtree && subtree != "ev" || strings.HasPrefix(key, subtree+".") // "ev" itself is no topic
}

// compareReads holds the reads of every entry against those that the parent reads of its endpoint, key by key.
func compareReads(t rapid.TB, ceiling, grants []wire.HandleGrant) {
	t.Helper()
	for i, g := range grants {
		var have []string
		for _, p := range ceiling {
			if p.Endpoint == g.Endpoint && p.Instance == "" {
				have = append(have, p.Reads...)
			}
		}
		var want []string
		for j, r := range g.Reads {
			if slices.ContainsFunc(allKeys, func(key string) bool {
				return holds(r, key) && !slices.ContainsFunc(have, func(h string) bool { return holds(h, key) })
			}) {
				want = append(want, fmt.Sprintf("grants[%d].reads[%d]", i, j))
			}
		}
		var got []string
		for _, w := range wire.GrantWidenings("main", holder, ceiling, grants) {
			if strings.HasPrefix(w.Path, fmt.Sprintf("grants[%d].reads", i)) {
				got = append(got, w.Path)
			}
		}
		if !slices.Equal(want, got) {
			t.Fatalf("reads of %+v in %+v: got %v, want %v", g, ceiling, got, want)
		}
	}
}

// TestReadsOfEveryPair compares every pair of subtrees.
func TestReadsOfEveryPair(t *testing.T) {
	pairs := 0
	for _, p := range subtrees {
		for _, c := range subtrees {
			pairs++
			compareReads(t, []wire.HandleGrant{{Endpoint: "manager", Reads: []string{p}}}, []wire.HandleGrant{{Endpoint: "manager", Reads: []string{c}}})
			compareReads(t, []wire.HandleGrant{{Endpoint: "other", Reads: []string{p}}}, []wire.HandleGrant{{Endpoint: "manager", Reads: []string{c}}})
		}
	}
	if pairs < 100 {
		t.Errorf("%d pairs", pairs)
	}
}
