package compile_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

// contracts are all that the tests of this repository have: the embedded ones, the tiny one, those of testdata.
func contracts(t testing.TB) map[string]*contract.Contract {
	t.Helper()
	out := map[string]*contract.Contract{}
	for _, name := range matrix.EmbeddedNames() {
		c, err := matrix.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = c
	}
	tiny, err := matrix.LoadDir("../testdata/tiny")
	if err != nil {
		t.Fatal(err)
	}
	out["tiny"], out["overlay"] = tiny, overlayWith(t, "")
	for _, name := range []string{"example", "names"} {
		out[name] = loadOver(t, parseArchive(t, "testdata/"+name+".txtar"))
	}
	return out
}

// identities are the entries of a set that name its holder: all but what every holder has.
func identities(set *compile.PermissionSet) string {
	return fmt.Sprint(set.Pub.Allow, set.Sub.Allow)
}

// TestSamplesCompile: every sample of every profile compiles in every topology and account, and different n are different
// holders.
func TestSamplesCompile(t *testing.T) {
	t.Parallel()
	sets := 0
	for name, c := range contracts(t) {
		for _, topology := range c.Topologies {
			byName := map[string][]string{}
			for n := range 4 {
				for _, s := range sampleSets(t, c, topology, n) {
					sets++
					if text := identities(s.set); s.set.Profile != "sentinel" && slices.Contains(byName[s.name], text) { // it holds nothing to tell it by
						t.Errorf("%s/%s: %s: n=%d gives the set of another n", name, topology.Name, s.name, n)
					} else {
						byName[s.name] = append(byName[s.name], text)
					}
				}
			}
		}
	}
	if sets < 200 {
		t.Errorf("compiled %d sets, want at least 200", sets)
	}
	t.Logf("%d sets", sets)
}

// unreached are the rows of testdata whose conditions ask for one text of a grammar, or for an empty list.
var unreached = []string{"WHEN-IN", "WHEN-HAS", "WHEN-ANY-ABSENT"}

// TestSamplesReachEveryRow: a row that no sample reaches is a row that no audit of the contract sees.
func TestSamplesReachEveryRow(t *testing.T) {
	t.Parallel()
	rows := 0
	for name, c := range contracts(t) {
		reached := map[string]bool{}
		for _, topology := range c.Topologies {
			for _, s := range grantsOf(t, c, topology) {
				reached[s] = true
			}
		}
		for _, row := range c.Rows {
			rows++
			idle := len(row.Profiles) == 1 && row.Profiles[0] != "*" && compile.Idle(c, c.Profiles[row.Profiles[0]], row)
			if !reached[row.ID] && !idle && row.Op.Kind != contract.OpShare && !slices.Contains(unreached, row.ID) {
				t.Errorf("%s: no sample reaches row %s", name, row.ID)
			}
		}
	}
	if rows < 100 {
		t.Errorf("looked at %d rows, want at least 100", rows)
	}
}

// grantsOf lists the rows that resolve to a grant for some sample.
func grantsOf(t *testing.T, c *contract.Contract, topology *contract.Topology) []string {
	t.Helper()
	var out []string
	for _, p := range contract.Sorted(c.Profiles) {
		for _, sample := range compile.Samples(c, p, "main", 0) {
			for _, account := range compile.Accounts(c, topology, p) {
				s, err := compile.NewScope(c, topology, p, sample.Input)
				if err != nil {
					t.Fatalf("%s %s: %v", p.Name, sample.Name, err)
				}
				grants, err := compile.Resolve(s, account)
				if err != nil {
					t.Fatalf("%s %s: %v", p.Name, sample.Name, err)
				}
				for _, g := range grants {
					out = append(out, g.Row.ID)
				}
			}
		}
	}
	return out
}

// TestSampleTextFitsDeclared holds the sample texts of every declared grammar against the grammar.
func TestSampleTextFitsDeclared(t *testing.T) {
	t.Parallel()
	texts := 0
	for name, c := range contracts(t) {
		for _, g := range contract.Sorted(c.Grammars) {
			seen := map[string]bool{}
			for n := range 500 {
				text := compile.SampleText(g, n)
				texts++
				if err := compile.CheckGrammar(g, text); err != nil {
					t.Fatalf("%s: grammar %s: sample %d is %q, which does not fit: %v", name, g.Name, n, text, err)
				}
				if seen[text] {
					t.Fatalf("%s: grammar %s: sample %d is %q, as one before", name, g.Name, n, text)
				}
				seen[text] = true
			}
		}
	}
	if texts == 0 {
		t.Error("no grammar")
	}
}

// TestSampleTextFits draws expressions: every sample fits, and samples differ while the expression has more to give.
func TestSampleTextFits(t *testing.T) {
	texts := 0
	rapid.Check(t, func(t *rapid.T) {
		source := drawExpression(t, 3)
		g := &contract.Grammar{Token: regexp.MustCompile("^(?:" + source + ")$"), Source: source}
		for n := range 20 {
			text := compile.SampleText(g, n)
			texts++
			if !g.Token.MatchString(text) {
				t.Fatalf("%s: sample %d is %q, which does not fit", source, n, text)
			}
			if text != compile.SampleText(g, n) {
				t.Fatalf("%s: sample %d is not always the same", source, n)
			}
		}
	})
	if texts == 0 {
		t.Error("no text")
	}
}

func drawExpression(t *rapid.T, depth int) string {
	class := rapid.SampledFrom([]string{"[a-z]", "[0-9a-f]", "[^.]", "[A-Za-z0-9_-]", "x", "local", ".", `\d`, "[-]", "[*.]"})
	if depth == 0 {
		return class.Draw(t, "class")
	}
	switch rapid.IntRange(0, 4).Draw(t, "shape") {
	case 0:
		return drawExpression(t, depth-1) + drawExpression(t, depth-1)
	case 1:
		return "(" + drawExpression(t, depth-1) + "|" + drawExpression(t, depth-1) + ")"
	case 2:
		return "(" + drawExpression(t, depth-1) + ")" + rapid.SampledFrom([]string{"*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"}).Draw(t, "repeat")
	}
	return class.Draw(t, "class")
}

// TestSampleNames: what a sample stands for is in its name, and names are unique within a profile.
func TestSampleNames(t *testing.T) {
	t.Parallel()
	c := loadOver(t, &txtar.Archive{})
	want := map[string]string{
		"agent":         "full, minimal, full reads=mediated, widest",
		"record-writer": "full kind=goal, minimal kind=goal, full kind=svc, minimal kind=svc",
		"doctor":        "full, minimal",
	}
	for profile, names := range want {
		var got []string
		for _, s := range compile.Samples(c, c.Profiles[profile], "main", 0) {
			got = append(got, s.Name)
		}
		if strings.Join(got, ", ") != names {
			t.Errorf("%s: got %v, want %s", profile, got, names)
		}
	}
}
