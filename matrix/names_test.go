package matrix

import (
	"slices"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// words are all texts of up to three characters that hold a letter, a digit and both separators, and a few long ones for the
// grammars that admit no short text.
func words() []string {
	level, out := []string{""}, []string{}
	for range 3 {
		var next []string
		for _, w := range level {
			for _, c := range []string{"a", "0", "-", "_"} {
				next = append(next, w+c)
			}
		}
		out, level = append(out, next...), next
	}
	a := strings.Repeat("a", 26)
	return append(out, "1", "10", "local", "u_"+a, a, a[1:]+"b", strings.Repeat("a", 27), strings.Repeat("a", 43))
}

// candidates are texts of a grammar as they stand in a name.
func candidates(g *contract.Grammar) []string {
	fit := slices.DeleteFunc(words(), func(w string) bool { return !g.Token.MatchString(w) })
	if !g.Dotted {
		return fit
	}
	out := slices.Clone(fit)
	for _, a := range fit {
		for _, b := range fit {
			text := a + "." + b
			for from, to := range g.AsToken {
				text = strings.ReplaceAll(text, from, to)
			}
			if len(text) < 6 {
				out = append(out, text)
			}
		}
	}
	return out
}

// placeholderGrammar finds the grammar of a placeholder by its last name: of a grammar, a parameter or a record's field.
func placeholderGrammar(c *contract.Contract, path []string) *contract.Grammar {
	name := path[len(path)-1]
	if g, ok := c.Grammars[name]; ok {
		return g
	}
	var params []*contract.Param
	for _, p := range contract.Sorted(c.Profiles) {
		params = append(params, p.Params...)
	}
	for _, r := range contract.Sorted(c.Records) {
		params = append(params, r.Fields...)
		for _, name := range contract.SortedKeys(r.Cases) {
			params = append(params, r.Cases[name]...)
		}
	}
	for _, p := range params {
		if p.Name == name && p.Type.Grammar != nil {
			return p.Type.Grammar
		}
	}
	return nil
}

// namesOf evaluates a name template for every tuple, calling yield with the name and the tuple.
func namesOf(t *testing.T, c *contract.Contract, parts []contract.Part, name, tuple string, yield func(name, tuple string)) {
	t.Helper()
	if len(parts) == 0 {
		yield(name, tuple)
		return
	}
	part := parts[0]
	values := []string{part.Lit}
	switch {
	case part.Path == nil:
	case part.Path[0] == spaceName:
		values = []string{"main"} // a stream belongs to one space
	case part.Path[0] == "kind":
		values = contract.SortedKeys(c.Kinds)
	default:
		g := placeholderGrammar(c, part.Path)
		if g == nil {
			t.Fatalf("placeholder {%s} has no grammar", strings.Join(part.Path, "."))
		}
		if values = candidates(g); len(values) < 2 {
			t.Fatalf("placeholder {%s}: got candidates %v, want two", strings.Join(part.Path, "."), values)
		}
	}
	for _, v := range values {
		at := tuple
		if part.Path != nil {
			at += v + "\x00"
		}
		namesOf(t, c, parts[1:], name+v, at, yield)
	}
}

// TestConsumerNamesAreInjective: no two tuples of a shipped consumer-name grammar give one name, over all short values that hold
// every separator. An endpoint's dotted form and its token form are one endpoint, so that a tuple is compared in token form.
func TestConsumerNamesAreInjective(t *testing.T) {
	tried := 0
	for _, embedded := range EmbeddedNames() {
		c, err := Embedded(embedded)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range contract.Sorted(c.Consumers) {
			seen := map[string]string{}
			namesOf(t, c, d.Name.Parts, "", "", func(name, tuple string) {
				if first, taken := seen[name]; taken && first != tuple {
					t.Errorf("%s: %q is the name of %q and of %q", d.ID, name, first, tuple)
				}
				seen[name], tried = tuple, tried+1
			})
		}
	}
	if tried < 1000 {
		t.Errorf("tried %d tuples, want thousands", tried)
	}
}
