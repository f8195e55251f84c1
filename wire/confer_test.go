package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
	"github.com/cotalctl/cotalctl/wire"
)

func testRegistry() wire.Registry {
	return wire.Registry{
		"manager": {
			"list":  {Class: wire.ClassEphemeral, Rails: []string{"one", "all", "inst"}, Targets: []string{wire.Untargeted}},
			"stop":  {Class: wire.ClassEphemeral, Rails: []string{"one", "inst"}, Targets: []string{"self", "owner", "child", "ledger", "handle"}},
			"spawn": {Class: wire.ClassJournal, Targets: []string{"owner", "child"}, Action: true},
		},
		"com.acme.deploy": {"status": {Class: wire.ClassEphemeral, Rails: []string{"one", "inst"}, Targets: []string{"self"}}},
	}
}

// TestConferRefuses: what the command's contract has no place for.
func TestConferRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		edit           func(wire.Registry)
		want           string
	}{
		{"unknown endpoint", `"endpoint": "manager"`, `"endpoint": "auth"`, nil, `6:18: grants[0].endpoint: endpoint is not registered, got "auth", want one of com.acme.deploy, manager`},
		{"unknown command", `{"name": "list"}`, `{"name": "lost"}`, nil, `7:16: grants[0].commands[0].name: command is not registered by manager, got "lost", want one of list, spawn, stop`},
		{"mode that it has not", `{"name": "list"}`, `{"name": "list", "targetOwner": "local"}`, nil, `grants[0].commands[0]: command does not admit the mode owner, got "list", want no target`},
		{"authz that it has not", `{"name": "list"}`, `{"name": "spawn", "targetOwner": "local", "authz": "ledger"}`, nil,
			`grants[0].commands[0].authz: command does not admit the mode ledger, got "spawn", want owner or child`},
		{"authz of a command that has none", `{"name": "list"}`, `{"name": "list", "targetOwner": "local", "authz": "child"}`, nil,
			`grants[0].commands[0].authz: command does not admit the mode child, got "list", want no target`},
		{"triple that it has not", `{"name": "list"}`, `{"name": "spawn", "targetOwner": "local", "targetActor": "al", "targetLifecycleUid": "` + tUID + `"}`, nil,
			`grants[0].commands[0]: command does not admit the mode handle, got "spawn", want targetOwner alone with authz owner or child`},
		{"no form without target", `{"name": "list"}`, `{"name": "spawn"}`, nil, `grants[0].commands[0]: names no target, and the command has neither an untargeted nor a self form, got "spawn", want targetOwner alone with authz owner or child`},
		{"unknown targets", `{"name": "list"}`, `{"name": "list"}`, func(r wire.Registry) {
			r["manager"]["list"] = wire.EndpointCommand{Class: wire.ClassEphemeral, Rails: []string{"one"}}
		}, `grants[0].commands[0].name: the registry does not say which targets the command has`},
		{"an instance of a journaled command", `{"name": "status"}`, `{"name": "status"}`, func(r wire.Registry) {
			r["com.acme.deploy"]["status"] = wire.EndpointCommand{Class: wire.ClassJournal, Targets: []string{"self"}}
		}, `grants[1].instanceId: pins the instance of a journaled command, got "status"`},
		{"no instance rail", `{"name": "status"}`, `{"name": "status"}`, func(r wire.Registry) {
			r["com.acme.deploy"]["status"] = wire.EndpointCommand{Class: wire.ClassEphemeral, Rails: []string{"one", "all"}, Targets: []string{"self"}}
		}, `grants[1].commands[0].name: command has no rail for this entry, got "status" on one, all, want a command with the rail inst`},
		{"no class rail", `{"name": "list"}`, `{"name": "list"}`, func(r wire.Registry) {
			r["manager"]["list"] = wire.EndpointCommand{Class: wire.ClassEphemeral, Rails: []string{"inst"}, Targets: []string{wire.Untargeted}}
		}, `grants[0].commands[0].name: command has no rail for this entry, got "list" on inst, want a command with the rail one or all`},
	} {
		reg := testRegistry()
		if tt.edit != nil {
			tt.edit(reg)
		}
		got, err := parse(t, replaced(t, tt.old, tt.new)).Confer(reg)
		var faults wire.Faults
		if got != nil || !errors.As(err, &faults) || len(faults) != 1 || !strings.Contains(faults[0].Error(), tt.want) || faults[0].Line == 0 {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	if _, err := parse(t, fullHandle).Confer(testRegistry()); err != nil {
		t.Errorf("control: %v", err)
	}
}

// TestConferPlaces: every parameter says where in the handle it came from.
func TestConferPlaces(t *testing.T) {
	h := parse(t, fullHandle)
	c, err := h.Confer(testRegistry())
	if err != nil {
		t.Fatal(err)
	}
	for param, path := range map[string]string{"capabilities.0.endpoint": "grants[0].endpoint", "capabilities.0.commands.4.targets.0.tActor": "grants[0].commands[4].targetActor",
		"capabilities.0.events.1": "grants[0].reads[0]", "reads.0": "grants[0].reads[1]", "capabilities.1.commands.0.name": "grants[1].commands[0].name", "uid": "holder.lifecycleUid"} {
		if c.Paths[param] != path {
			t.Errorf("%s: got %q, want %s", param, c.Paths[param], path)
		}
		if line, _ := h.Place(path); line == 0 {
			t.Errorf("%s has no place", path)
		}
	}
	if diff := cmp.Diff([]wire.ConferredRead{{Endpoint: "manager", Subtree: "svc.manager.>"}}, c.Reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

// envelopeOnly are the components that no grant carries: who issued it, until when, in which chain. Verification consumes them.
var envelopeOnly = []string{"v", "id", "issuer", "issuer.keyId", "iat", "nbf", "exp", "parentDigest", "sturdy", "epoch", "sig"}

// TestEveryComponentIsConsumed: "It MUST consume every present signed component." Each component of a handle in turn is deleted, and
// altered in every way below: then it is refused, or it is another digest, and of a grant, holder or space another permission set or
// mediated read.
func TestEveryComponentIsConsumed(t *testing.T) {
	ct, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	base := parse(t, fullHandle)
	want, err := outputOf(ct, base)
	if err != nil {
		t.Fatal(err)
	}
	altered, refused, paths := 0, 0, map[string]bool{}
	edits(t, fullHandle, func(path, how, text string) {
		paths[path] = true
		h, err := wire.ParseHandle([]byte(text))
		if err != nil {
			refused++
			return
		}
		if h.Digest == base.Digest {
			t.Errorf("%s %s: the digest does not see it", path, how)
		}
		if got, err := outputOf(ct, h); err != nil {
			refused++
		} else if got == want && !slices.Contains(envelopeOnly, path) {
			t.Errorf("%s %s: the output does not see it", path, how)
		} else {
			altered++
		}
	})
	if altered < 25 || refused < 60 || len(paths) < 40 {
		t.Errorf("%d edits seen, %d refused, %d components: want more", altered, refused, len(paths))
	}
	t.Logf("%d components: %d edits change the output, %d are refused", len(paths), altered, refused)
}

// outputOf compiles a handle with the contract's own rows: entries, space, and what the read mediator is told.
func outputOf(ct *contract.Contract, h *wire.Handle) (string, error) {
	c, err := h.Confer(testRegistry())
	if err != nil {
		return "", err
	}
	topology, _ := ct.Topology("")
	scope, err := compile.NewScope(ct, topology, ct.Profiles["redeemed"], compile.Input{Values: c.Params})
	if err != nil {
		return "", err
	}
	set, err := compile.Compile(scope, "")
	if err != nil {
		return "", err
	}
	return fmt.Sprint(set.Space, set.Pub, set.Sub, c.Reads), nil
}

// edits deletes and alters every value of a document in turn.
func edits(t *testing.T, text string, each func(path, how, text string)) {
	t.Helper()
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	emit := func(path, how string) {
		out, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		each(path, how, string(out))
	}
	var walk func(path string, v any, set func(any), remove func() func())
	walk = func(path string, v any, set func(any), remove func() func()) {
		if remove != nil {
			undo := remove()
			emit(path, "deleted")
			undo()
		}
		if set != nil {
			for i, other := range others(v) {
				set(other)
				emit(path, fmt.Sprintf("altered %d", i))
				set(v)
			}
		}
		switch x := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(keysOf(x)) {
				old := x[k]
				walk(strings.TrimPrefix(path+"."+k, "."), old, func(n any) { x[k] = n }, func() func() { delete(x, k); return func() { x[k] = old } })
			}
		case []any:
			for i := range x {
				walk(fmt.Sprintf("%s[%d]", path, i), x[i], func(n any) { x[i] = n }, func() func() {
					rest := slices.Delete(slices.Clone(x), i, i+1)
					set(rest)
					return func() { set(x) }
				})
			}
		}
	}
	walk("", doc, nil, nil)
}

func keysOf(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// others are values in place of one: of its own kind, and of another.
func others(v any) []any {
	switch x := v.(type) {
	case string:
		out := []any{x + "x", 1, nil, "", tOwner, hOwner, "owner", "ledger", "list", "manager", "local.al", tUID, instA}
		return slices.DeleteFunc(out, func(o any) bool { return o == v })
	case float64:
		return []any{x + 1, x - 1, "1"}
	case bool:
		return []any{!x, "true"}
	case []any:
		return []any{[]any{}, map[string]any{}, nil}
	case map[string]any:
		return []any{map[string]any{}, []any{}, nil}
	}
	return nil
}
