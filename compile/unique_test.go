package compile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestUnique: what a list declares once, it declares once, whatever else the two say (§13.6 "A command name is declared once").
func TestUnique(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	serve := func(commands ...any) map[string]any {
		return map[string]any{"endpoint": "build", "instance": uid, "epoch": "0", "commands": commands}
	}
	grant := func(name, class string) map[string]any {
		return map[string]any{"name": name, "class": class, "rails": []any{"one"}, "targets": []any{"self"}}
	}
	agent := func(capabilities ...any) map[string]any {
		return map[string]any{"owner": owner, "actor": "alice", "uid": uid, "capabilities": capabilities}
	}
	capability := func(commands ...any) map[string]any { return map[string]any{"endpoint": "build", "commands": commands} }
	caller := func(actor, uid string) map[string]any {
		return map[string]any{"owner": owner, "actor": actor, "uid": uid, "readers": []any{map[string]any{"dec": map[string]any{"endpoint": "build"}}}}
	}
	mediator := func(callers ...any) map[string]any {
		return map[string]any{"endpoint": "build", "instance": uid, "epoch": "0", "callers": callers}
	}
	const once = "each name once in the list"
	for _, tt := range []struct {
		name, profile string
		values        map[string]any
		want          string
	}{
		{"served", "endpoint-serve", serve(grantless("a", "ephemeral"), grantless("b", "ephemeral")), ""},
		{"served in two classes", "endpoint-serve", serve(grantless("a", "ephemeral"), grantless("b", "ephemeral"), grantless("a", "journal")),
			`f:3:0: parameter commands.2.name: is given twice, also at f:1:0, got "a", want ` + once},
		{"served twice as one", "endpoint-serve", serve(grantless("a", "journal"), grantless("a", "journal")),
			"f:2:0: parameter commands.1: stands twice in the list, got a record, want each element once"},
		{"granted", "agent", agent(capability(grant("a", "ephemeral"), grant("b", "journal"))), ""},
		{"granted in two classes", "agent", agent(capability(grant("a", "ephemeral"), grant("a", "journal"))),
			`parameter capabilities.0.commands.1.name: is given twice, got "a", want ` + once},
		{"granted in two capabilities of one endpoint", "agent", agent(capability(grant("a", "ephemeral")), map[string]any{"endpoint": "build",
			"commands": []any{map[string]any{"name": "a", "class": "ephemeral", "rails": []any{"inst"}, "instance": uid, "targets": []any{"owner"}}}}), ""},
		{"callers", "read-mediator", mediator(caller("alice", uid), caller("bob", "b"+uid[1:])), ""},
		{"callers of one lifecycle", "read-mediator", mediator(caller("alice", uid), caller("bob", uid)),
			`parameter callers.1.uid: is given twice, got "` + uid + `", want each uid once in the list`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.values["space"] = "main"
			in := compile.Input{Values: tt.values, Pos: map[string]contract.Pos{
				"commands.0": {File: "f", Line: 1}, "commands.1": {File: "f", Line: 2}, "commands.2": {File: "f", Line: 3}}}
			topology, _ := c.Topology("")
			got := ""
			if _, err := compile.NewScope(c, topology, c.Profiles[tt.profile], in); err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// grantless is a command as an endpoint registers it.
func grantless(name, class string) map[string]any {
	return map[string]any{"name": name, "class": class}
}
