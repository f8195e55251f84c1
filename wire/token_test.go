package wire

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/matrix"
)

// TestGrammarsAreTheContracts: a handle is read by the grammars that its compile applies, so that nothing parses and then has no
// compile target, and nothing is refused that the contract has.
func TestGrammarsAreTheContracts(t *testing.T) {
	ct, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	agreed, accepted := 0, 0
	for _, ours := range []tokenGrammar{ownerGrammar, actorGrammar, uidGrammar, instanceGrammar, endpointGrammar, commandGrammar, idGrammar, keyIDGrammar, spaceGrammar} {
		g := ct.Grammars[ours.name]
		if g == nil {
			t.Errorf("the contract has no grammar %s", ours.name)
			continue
		}
		same := func(t rapid.TB, text string) {
			got, want := ours.fits(text), compile.CheckGrammar(g, text) == nil
			if got != want {
				t.Fatalf("%s %q: got %t, the contract says %t", ours.name, text, got, want)
			}
			agreed++
			if got {
				accepted++
			}
		}
		for n := range 200 {
			text := compile.SampleText(g, n)
			for _, near := range []string{text, text + "a", text[1:], text + "-", text + "_", "-" + text, text + ".a", text + ".", strings.ToUpper(text), text + "*", text + "\n", strings.Repeat(text, 3)} {
				same(t, near)
			}
		}
		rapid.Check(t, func(t *rapid.T) { same(t, rapid.StringMatching(`[a-cA-C0-9_.-]{0,70}`).Draw(t, "text")) })
	}
	if agreed < 10000 || accepted < 1000 {
		t.Errorf("%d texts, %d accepted, want thousands", agreed, accepted)
	}
	topics := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`ev(\.[a-cA-C0-9_-]{1,3}){0,9}(\.>)?`).Draw(t, "subtree")
		if !subtreeGrammar.fits(text) {
			t.Fatalf("%q is refused", text)
		}
		if _, deep := tooDeep(text); deep {
			return
		}
		topic, _ := eventTopic(text)
		for _, p := range subtreePatterns(topic) {
			topics++
			if err := compile.CheckGrammar(ct.Grammars["eventTopic"], p); err != nil {
				t.Fatalf("%q: topic %q: %v", text, p, err)
			}
		}
	})
	if topics == 0 {
		t.Error("no topic")
	}
	for _, k := range ct.Kinds { // a record subtree must never be read as one of events
		if lit := k.Key.Parts[0].Lit; lit == "" || strings.HasPrefix(lit, eventRoot+".") || lit == eventRoot {
			t.Errorf("kind %s begins with %q", k.Name, lit)
		}
	}
}
