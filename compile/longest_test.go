package compile_test

import (
	"regexp"
	"testing"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestLongestText holds the text to its grammar and to the length that the grammar bounds.
func TestLongestText(t *testing.T) {
	for name, c := range map[string]struct {
		token  string
		dotted bool
		max    int
		want   int
	}{
		"bounded":           {"[a-z]{3,9}", false, 0, 9},
		"longer branch":     {"local|u_[a-z2-7]{26}", false, 0, 28},
		"longer first":      {"u_[a-z]{26}|0", false, 0, 28},
		"literal":           {"all", false, 0, 3},
		"optional part":     {"0|[1-9][0-9]{0,15}", false, 0, 16},
		"bounded by a max":  {"[a-z0-9]([a-z0-9-]*[a-z0-9])?", true, 64, 64},
		"no bound":          {"[a-z]+", true, 0, 1},
		"max cuts a repeat": {"[a-z]+(xy)*", false, 10, 10},
	} {
		t.Run(name, func(t *testing.T) {
			g := &contract.Grammar{Name: "g", Token: regexp.MustCompile("^(?:" + c.token + ")$"), Source: c.token, Dotted: c.dotted, Max: c.max}
			first, second := compile.LongestText(g, 0), compile.LongestText(g, 1)
			for _, text := range []string{first, second} {
				if len(text) > c.want || text == first && len(text) != c.want {
					t.Errorf("text %q of %d bytes, want %d", text, len(text), c.want)
				}
				if p := compile.CheckGrammar(g, text); p != nil {
					t.Errorf("text %q does not fit: %v", text, p)
				}
			}
			if first == second && c.want > 3 {
				t.Errorf("two identities have one text %q", first)
			}
		})
	}
}
