package compile_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestAbsent: whoever gave the parameters hears which one is missing, and where; whoever checks a contract with samples, how to
// guard the row.
func TestAbsent(t *testing.T) {
	t.Parallel()
	c := loadOver(t, parseArchive(t, "testdata/refuse.txtar"))
	topology, _ := c.Topology("")
	in := func(rails, text string, given map[string]contract.Pos) compile.Input {
		k := map[string]any{"name": "n", "class": "ephemeral", "rails": []any{rails}, "targets": []any{}}
		return compile.Input{Pos: given, Values: map[string]any{"space": "main", "owner": "local", "actor": "alice", "uid": uid, "text": text,
			"capabilities": []any{map[string]any{"endpoint": "e", "commands": []any{k}}}}}
	}
	flags, file := map[string]contract.Pos{}, map[string]contract.Pos{"capabilities.0.commands.0": {File: "b.yaml", Line: 6, Col: 7}}
	for _, tt := range []struct {
		name string
		in   compile.Input
		want []contract.Problem
	}{
		{"a field, of a file", in("inst", "x", file), []contract.Problem{{Pos: contract.Pos{File: "b.yaml", Line: 6, Col: 7},
			What: "parameter capabilities.0.commands.0.instance: missing", Got: "nothing", Want: "uid", Hint: "row INSTANCE needs it"}}},
		{"a parameter, of flags", in("one", "optional", flags), []contract.Problem{
			{What: "parameter role: missing", Got: "nothing", Want: "actor", Hint: "row OPTIONAL-COND needs it"}}},
		{"a sample", in("inst", "x", nil), []contract.Problem{{Pos: contract.Pos{File: "rows.yaml", Line: 9, Col: 3}, Row: "INSTANCE",
			What: "placeholder {k.instance} has no value: give the parameter, or guard the row with when: {k.instance: present}"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := compile.NewScope(c, topology, c.Profiles["agent"], tt.in)
			if err != nil {
				t.Fatal(err)
			}
			_, err = compile.Compile(s, "")
			var probs contract.Problems
			if !errors.As(err, &probs) {
				t.Fatalf("got %v, want problems", err)
			}
			got := []contract.Problem{}
			for _, p := range probs {
				got = append(got, *p)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
