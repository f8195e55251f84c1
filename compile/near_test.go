package compile_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestGrantsNothing: what grants nothing is answered with what the nearest rows ask for, and beside each stands what they take.
func TestGrantsNothing(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	topology, _ := c.Topology("")
	type m = map[string]any
	command := func(fields ...any) []any {
		k := m{"name": "run", "class": "ephemeral"}
		for i := 0; i < len(fields); i += 2 {
			k[fields[i].(string)] = fields[i+1]
		}
		return []any{k}
	}
	self, one := []any{"self"}, []any{"one"}
	for _, tt := range []struct {
		name       string
		capability m
		want       map[string]string
	}{
		{"no rail", m{"commands": command("targets", self)}, map[string]string{"capabilities.0": "EP-ALL, EP-INST, EP-ONE need commands.0.rails to hold all or inst or one; EP-SUBMIT needs commands.0.class to be journal"}},
		{"a rail", m{"commands": command("targets", self, "rails", one)}, nil},
		{"no target", m{"commands": command("rails", one)}, map[string]string{"capabilities.0": "EP-ONE needs commands.0.targets"}},
		{"no target of a journal command", m{"commands": command("class", "journal")}, map[string]string{"capabilities.0": "EP-SUBMIT needs commands.0.targets"}},
		{"a target of a journal command", m{"commands": command("class", "journal", "targets", self)}, nil},
		{"whole without targets", m{"whole": true, "registered": []any{"cancel"}, "commands": command("name", "cancel", "rails", one, "targets", self)},
			map[string]string{"capabilities.0": "EP-ONE needs whole to be false; EP-ONE-WHOLE needs targets"}},
		{"whole", m{"whole": true, "registered": []any{"cancel"}, "targets": self, "commands": command("name", "cancel", "rails", one)}, nil},
		{"one of two commands", m{"commands": append(command("rails", one, "targets", self), m{"name": "stop", "class": "ephemeral", "rails": one})},
			map[string]string{"capabilities.0.commands.1": "EP-ONE needs targets"}},
		{"no command", m{"commands": []any{}}, map[string]string{"capabilities.0": "EP-ALL, EP-INST, EP-ONE, EP-SUBMIT need commands"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.capability["endpoint"] = "build"
			s, err := compile.NewScope(c, topology, c.Profiles["agent"], compile.Input{Values: m{"space": "main", "owner": owner, "actor": "alice", "uid": uid,
				"capabilities": []any{tt.capability}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := compile.Compile(s, ""); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			var probs contract.Problems
			if err := s.Unused(); err != nil && !errors.As(err, &probs) {
				t.Fatal(err)
			}
			for _, p := range probs {
				got[p.What] = p.Hint
			}
			want := map[string]string{}
			for at, hint := range tt.want {
				want["parameter "+at+" grants nothing"] = hint
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
