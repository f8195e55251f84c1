package matrix

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
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
		values = nil
		for _, k := range contract.Sorted(c.Kinds) {
			values = append(values, k.Token())
		}
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
	contracts := []*contract.Contract{}
	for _, name := range EmbeddedNames() {
		c, err := Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		extended, err := Load(overlayBase(t), "c")
		if err != nil {
			t.Fatal(err)
		}
		contracts = append(contracts, c, extended)
	}
	for _, c := range contracts {
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

// TestThirdPartyTokens: two names of third parties' kinds never become one token, none becomes the name of a kind that ships, and
// so no name of one lies in the key tree, the durable or the ingress of another.
func TestThirdPartyTokens(t *testing.T) {
	c, err := Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	g := c.ThirdParty.Kinds
	name := rapid.Custom(func(t *rapid.T) string {
		labels := rapid.SliceOfN(rapid.StringMatching(g.Source), 2, 4).Draw(t, "labels")
		return strings.Join(labels, ".")
	}).Filter(func(name string) bool { return fitsDotted(g, name) })
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		if rapid.Bool().Draw(t, "near") { // the same letters with the labels cut elsewhere
			b = strings.Replace(strings.Replace(a, ".", "-", 1), "-", ".", rapid.IntRange(0, 1).Draw(t, "cut"))
		}
		first, second := &contract.Kind{Name: a, Grammar: g, ThirdParty: true}, &contract.Kind{Name: b, Grammar: g, ThirdParty: true}
		l := &loader{c: c}
		if w, shared := l.sharedKey(first, second); shared != (a == b) {
			t.Fatalf("%q and %q share keys: %t (%s)", a, b, shared, w)
		}
		for _, k := range contract.Sorted(c.Kinds) {
			if w, shared := l.sharedKey(first, k); shared || k.Name == first.Token() {
				t.Fatalf("%q and kind %s share the key %s", a, k.Name, w)
			}
		}
		if p, err := subject.ParseStrict(first.Token()); err != nil || strings.Contains(string(p), ".") {
			t.Fatalf("%q becomes %q, want one token", a, first.Token())
		}
	})
}
