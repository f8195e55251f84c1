package compile_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestNode: values keep their type, what is absent is left out, and records have no text.
func TestNode(t *testing.T) {
	t.Parallel()
	c := loadOver(t, parseArchive(t, "testdata/names.txtar"))
	topology, _ := c.Topology("")
	s, err := compile.NewScope(c, topology, c.Profiles["porter"], compile.Input{Values: map[string]any{"space": "main", "user": "u", "site": "a.b", "bins": []any{"x", "y"}}})
	if err != nil {
		t.Fatal(err)
	}
	s = s.WithText("mode", "fast").WithNumbers("frontier", map[string]uint64{"A": 1<<63 + 1})
	text := func(x string) contract.Node { v := template(t, x); return contract.Node{Text: &v} }
	got, err := s.Node(contract.Node{Map: map[string]contract.Node{
		"list": text("{bins}"), "text": text("{user}-{mode}"), "site": text("{site}"), "role": text("{role}"), "loud": text("{loud}"),
		"number": text("{frontier.A}"), "lit": {Lit: int64(7)}, "nested": {List: []contract.Node{text("{role}"), text("{mode}"), {Lit: true}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"list": []any{"x", "y"}, "text": "u-fast", "site": "a.b", "loud": false, "number": json.Number("9223372036854775809"),
		"lit": int64(7), "nested": []any{"fast", true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
	if _, err := s.Node(text("{frontier}")); err == nil {
		t.Error("a record became a value")
	}
}

// TestParseSet reads flags as the command line gives them.
func TestParseSet(t *testing.T) {
	t.Parallel()
	c := loadOver(t, parseArchive(t, "testdata/names.txtar"))
	got, err := compile.ParseSet(c.Profiles["porter"], []string{"user=a=b", "user=u", "bins=x,y", "loud=true", "space=main", "role=", "sort=item"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"user": "u", "bins": []any{"x", "y"}, "loud": true, "space": "main", "role": "", "sort": "item"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if got, err := compile.ParseSet(c.Profiles["porter"], []string{"bins="}); err != nil || cmp.Diff(map[string]any{"bins": []any{}}, got) != "" {
		t.Errorf("an empty list: got %v, %v", got, err)
	}
	if got, err := compile.ParseSet(c.Profiles["keeper"], []string{"kind=item"}); err != nil || got["kind"] != "item" {
		t.Errorf("the member of a family: got %v, %v", got, err)
	}
	_, err = compile.ParseSet(c.Profiles["porter"], []string{"nobody=1", "user", "loud=yes", "deals=x", "aim=own"})
	var probs contract.Problems
	if !errors.As(err, &probs) || len(probs) != 5 {
		t.Fatalf("bad flags: got %v, want five problems", err)
	}
	for _, want := range []string{`--set nobody`, `--set user`, `loud: is not a boolean, got "yes", want true or false`,
		`deals: is a list of records`, `aim: is a record`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("bad flags: got %v, want %q in it", err, want)
		}
	}
}

// TestUserKey: a parameter that is the credential's own key takes the key, the placeholder of its length, or what is given.
func TestUserKey(t *testing.T) {
	t.Parallel()
	c := loadOver(t, &txtar.Archive{})
	topology, _ := c.Topology("")
	key := "U" + strings.Repeat("B", 55)
	for want, in := range map[string]compile.Input{
		"_INBOX_" + compile.PlaceholderKey + ".>": {Values: map[string]any{"space": "main"}},
		"_INBOX_" + key + ".>":                    {Values: map[string]any{"space": "main"}, UserKey: key},
		"_INBOX_0123456789abcdef012345.>":         {Values: map[string]any{"space": "main", "connId": "0123456789abcdef012345"}, UserKey: key},
	} {
		s, err := compile.NewScope(c, topology, c.Profiles["scanner"], in)
		if err != nil {
			t.Fatal(err)
		}
		set, err := compile.Compile(s, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := entryTexts(set.Sub.Allow); len(got) != 1 || got[0] != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	if len(compile.PlaceholderKey) != len(key) {
		t.Error("the placeholder has not the length of a key")
	}
}

// TestCheckGrammar: a token grammar never admits what is more than one token, whatever its expression says.
func TestCheckGrammar(t *testing.T) {
	t.Parallel()
	loose := &contract.Grammar{Token: regexp.MustCompile(`^(?s:.*)$`), Source: ".*"}
	dotted := &contract.Grammar{Token: regexp.MustCompile(`^(?s:.*)$`), Source: ".*", Dotted: true, Max: 8}
	for text, want := range map[string][2]bool{
		"a": {true, true}, "a.b": {false, true}, "*": {false, false}, ">": {false, false}, "a*": {false, false}, "a b": {false, false}, "": {false, false},
		"a.": {false, false}, "a\tb": {false, false}, "a\x00b": {false, false}, "a\u00a0b": {false, false}, "a\xff": {false, false}, "123456789": {true, false},
	} {
		got := [2]bool{compile.CheckGrammar(loose, text) == nil, compile.CheckGrammar(dotted, text) == nil}
		if got != want {
			t.Errorf("%q: got %v, want %v (token, dotted)", text, got, want)
		}
	}
}
