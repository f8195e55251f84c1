package compile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// capable is an agent with one capability on endpoint "build": commands by name, and what it says of the whole.
func capable(commands []string, whole any, registered []string) compile.Input {
	list := []any{}
	for _, name := range commands {
		list = append(list, map[string]any{"name": name, "class": "ephemeral", "rails": []any{"one"}, "targets": []any{"self"}})
	}
	capability := map[string]any{"endpoint": "build", "commands": list, "targets": []any{"self"}}
	if whole != nil {
		capability["whole"] = whole
	}
	if registered != nil {
		capability["registered"] = anys(registered)
	}
	return compile.Input{Values: map[string]any{"space": "main", "owner": owner, "actor": "alice", "uid": uid, "capabilities": []any{capability}},
		Pos: map[string]contract.Pos{"capabilities.0.whole": {File: "f", Line: 1}, "capabilities.0.registered.0": {File: "f", Line: 2},
			"capabilities.0.registered.1": {File: "f", Line: 3}, "capabilities.0.registered.2": {File: "f", Line: 4}}}
}

func bindCapable(t testing.TB, c *contract.Contract, in compile.Input) contract.Problems {
	t.Helper()
	topology, _ := c.Topology("")
	_, err := compile.NewScope(c, topology, c.Profiles["agent"], in)
	var probs contract.Problems
	if err != nil && !errors.As(err, &probs) {
		t.Fatal(err)
	}
	return probs
}

// TestWhole: '*' in the command position needs a list of all that the endpoint registers, cancel among it (D2).
func TestWhole(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	const enumerate = "enumerate the commands instead; or list in registered every command that the endpoint registers, cancel included"
	for _, tt := range []struct {
		name       string
		commands   []string
		whole      any
		registered []string
		want, hint string
	}{
		{"enumerated", []string{"run"}, nil, nil, "", ""},
		{"enumerated in words", []string{"run"}, false, nil, "", ""},
		{"all of it", []string{"run", "cancel"}, true, []string{"run", "cancel"}, "", ""},
		{"all of it and more", []string{"run", "cancel", "describe"}, true, []string{"cancel", "run"}, "", ""},
		{"nothing registered", []string{"run", "cancel"}, true, nil,
			`f:1:0: parameter capabilities.0.whole: is true, but registered lacks an element, got nothing, want "cancel" among them`, enumerate},
		{"no command registered", []string{"run", "cancel"}, true, []string{},
			`f:1:0: parameter capabilities.0.whole: is true, but registered lacks an element, got nothing, want "cancel" among them`, enumerate},
		{"no cancel", []string{"run", "stop"}, true, []string{"run", "stop"},
			`f:1:0: parameter capabilities.0.whole: is true, but registered lacks an element, got "run, stop", want "cancel" among them`, enumerate},
		{"a command left out", []string{"run", "cancel"}, true, []string{"run", "stop", "cancel"},
			`f:3:0: parameter capabilities.0.registered.1: is missing from commands.name, got "stop", want one of run, cancel`, "add it there"},
		{"left out of an enumeration", []string{"run"}, false, []string{"stop"},
			`f:2:0: parameter capabilities.0.registered.0: is missing from commands.name, got "stop", want one of run`, "add it there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			probs := bindCapable(t, c, capable(tt.commands, tt.whole, tt.registered))
			got, hint := "", ""
			if len(probs) > 0 {
				got, hint = probs.Error(), probs[0].Hint
			}
			if d := cmp.Diff([]string{tt.want, tt.hint}, []string{got, hint}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestWholeExhaustive: over all lists of four names, a whole capability binds exactly where the registered commands hold cancel and
// are all listed.
func TestWholeExhaustive(t *testing.T) {
	t.Parallel()
	c, names := embedded(t), []string{"a", "b", "c", "cancel"}
	subset := func(bits int) []string {
		out := []string{}
		for i, n := range names {
			if bits>>i&1 == 1 {
				out = append(out, n)
			}
		}
		return out
	}
	bound := map[bool]int{}
	for bits := range 1 << 9 {
		commands, registered, whole := subset(bits&15), subset(bits>>4&15), bits>>8 == 1
		missing := slices.ContainsFunc(registered, func(n string) bool { return !slices.Contains(commands, n) })
		want := !missing && (!whole || slices.Contains(registered, "cancel"))
		if got := len(bindCapable(t, c, capable(commands, whole, registered))) == 0; got != want {
			t.Errorf("commands %v, registered %v, whole %v: bound %v, want %v", commands, registered, whole, got, want)
		}
		if want {
			bound[whole]++
		}
	}
	if bound[true] != 27 || bound[false] != 81 { // a name is in both, in commands alone or in neither; cancel is in both
		t.Errorf("bound %v, want 27 whole and 81 enumerated", bound)
	}
}

// TestJoin: what two files, or two keys of one, give is refused with both places; a second key is the parameter's own name after it.
func TestJoin(t *testing.T) {
	t.Parallel()
	p := embedded(t).Profiles["endpoint-serve"]
	file := func(name string, keys ...string) compile.Input {
		in := compile.Input{Values: map[string]any{}, Pos: map[string]contract.Pos{}}
		for i, k := range keys {
			in.Values[k], in.Pos[k], in.Pos[k+".0.x"] = name, contract.Pos{File: name, Line: i + 1, Col: 1}, contract.Pos{File: name, Line: i + 1, Col: 9}
		}
		return in
	}
	for _, tt := range []struct {
		name  string
		files []compile.Input
		want  string
		keys  []string
	}{
		{"none", nil, "", []string{}},
		{"one", []compile.Input{file("a", "name", "epoch")}, "", []string{"endpoint", "epoch"}},
		{"two", []compile.Input{file("a", "name"), file("b", "epoch")}, "", []string{"endpoint", "epoch"}},
		{"unknown keys are for the binder", []compile.Input{file("a", "nmae")}, "", []string{"nmae"}},
		{"one key twice", []compile.Input{file("a", "epoch"), file("b", "name", "epoch")}, "b:2:1: parameter epoch: is given twice, also at a:1:1, want once", nil},
		{"both keys", []compile.Input{file("a", "endpoint", "name")}, "a:2:1: parameter endpoint: is given twice, as endpoint and as name, also at a:1:1, want once", nil},
		{"both keys, the other way", []compile.Input{file("a", "name", "endpoint")}, "a:2:1: parameter endpoint: is given twice, as name and as endpoint, also at a:1:1, want once", nil},
		{"both keys in two files", []compile.Input{file("a", "endpoint"), file("b", "name")}, "b:1:1: parameter endpoint: is given twice, as endpoint and as name, also at a:1:1, want once", nil},
		{"an unknown key twice", []compile.Input{file("a", "x"), file("b", "x")}, "b:1:1: parameter x: is given twice, also at a:1:1, want once", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := compile.Join(p, tt.files...)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != tt.want {
				t.Fatalf("got %q, want %q", text, tt.want)
			}
			if err != nil {
				return
			}
			if d := cmp.Diff(tt.keys, contract.SortedKeys(got.Values)); d != "" && len(tt.keys)+len(got.Values) > 0 {
				t.Errorf("keys (-want +got):\n%s", d)
			}
			for _, k := range tt.keys {
				if got.Pos[k] == (contract.Pos{}) || got.Pos[k+".0.x"] == (contract.Pos{}) {
					t.Errorf("%s has no position", k)
				}
			}
		})
	}
}

// TestOwn: a subtree of a kind whose key has a caller is the holder's own, in a reader and in a capability's reads (§13.9).
func TestOwn(t *testing.T) {
	t.Parallel()
	c, mine := embedded(t), owner+".alice."+uid
	hint := "name there the owner, actor, uid of the holder"
	for _, tt := range []struct {
		subtree string
		want    string
	}{
		{"goal.build." + mine + ".>", ""},
		{"goal.build." + mine + ".g1.status", ""},
		{"goal.*." + mine + ".>", ""},
		{"goal.build", ""}, // too short to be a goal
		{"svc.>", ""},
		{"svc.build.*.spec", ""},
		{"cp.build.>", ""},
		{"goal.>", `reaches beyond the holder's own goal, got "goal.>", want "goal.*.` + mine + `.>"`},
		{"goal.build.>", `reaches beyond the holder's own goal, got "goal.build.>", want "goal.*.` + mine + `.>"`},
		{"goal.build.*.alice." + uid + ".>", "reaches beyond the holder's own goal"},
		{"goal.build." + owner + ".alice.*.>", "reaches beyond the holder's own goal"},
		{"goal.build." + owner + ".alice.>", "reaches beyond the holder's own goal"},
		{"goal.build." + owner + ".bob." + uid + ".>", "reaches beyond the holder's own goal"},
		{"*.build." + mine + ".>", "reaches kind answer"},
	} {
		t.Run(tt.subtree, func(t *testing.T) {
			t.Parallel()
			reader := capable([]string{"run"}, nil, nil)
			reader.Values["readers"] = []any{map[string]any{"record": map[string]any{"gid": "g", "n": "0", "subtree": tt.subtree}}}
			reads := capable([]string{"run"}, nil, nil)
			reads.Values["capabilities"].([]any)[0].(map[string]any)["reads"] = []any{tt.subtree}
			for path, in := range map[string]compile.Input{"readers.0.record.subtree": reader, "capabilities.0.reads.0": reads} {
				probs := bindCapable(t, c, in)
				switch {
				case tt.want == "" && len(probs) > 0:
					t.Errorf("%s: got %v, want none", path, probs)
				case tt.want != "" && (len(probs) != 1 || !strings.HasPrefix(probs[0].Error(), "parameter "+path+": "+tt.want)):
					t.Errorf("%s: got %v, want %s", path, probs, tt.want)
				case strings.Contains(tt.want, "own") && probs[0].Hint != hint:
					t.Errorf("%s: hint %q, want %q", path, probs[0].Hint, hint)
				}
			}
		})
	}
	// a mediator holds readers of several callers, and none of its own
	topology, _ := c.Topology("")
	if _, err := compile.NewScope(c, topology, c.Profiles["read-mediator"], compile.Input{Values: map[string]any{"space": "main", "endpoint": "build",
		"instance": uid, "epoch": "0", "callers": []any{map[string]any{"owner": owner, "actor": "bob", "uid": uid,
			"readers": []any{map[string]any{"record": map[string]any{"gid": "g", "n": "0", "subtree": "goal.build." + mine + ".>"}}}}}}}); err != nil {
		t.Errorf("read-mediator: %v", err)
	}
	// a provisioner that was not told whose they are makes none
	if _, err := compile.NewScope(c, topology, c.Profiles["provisioner"], compile.Input{Values: map[string]any{"space": "main", "uid": uid,
		"readers": []any{map[string]any{"record": map[string]any{"gid": "g", "n": "0", "subtree": "goal.build." + mine + ".>"}}}}}); err == nil {
		t.Error("provisioner: bound without an owner, want refused")
	}
}

// TestFrom: an endpoint that states no principal is one of its own, by its instance.
func TestFrom(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	topology, _ := c.Topology("")
	for _, tt := range []struct {
		stated map[string]any
		want   string
	}{
		{map[string]any{}, "local." + uid},
		{map[string]any{"owner": owner}, owner + "." + uid},
		{map[string]any{"owner": owner, "actor": "bob"}, owner + ".bob"},
	} {
		values := map[string]any{"space": "main", "endpoint": "build", "instance": uid, "epoch": "0", "commands": []any{}}
		for k, v := range tt.stated {
			values[k] = v
		}
		s, err := compile.NewScope(c, topology, c.Profiles["endpoint-serve"], compile.Input{Values: values})
		if err != nil {
			t.Fatal(err)
		}
		tags, err := s.Tags()
		if want := "principal:" + tt.want; err != nil || !slices.Contains(tags, want) {
			t.Errorf("tags %v (%v), want %s", tags, err, want)
		}
	}
}
