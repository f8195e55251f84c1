package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/matrix"
	"github.com/cotalctl/cotalctl/wire"
)

const (
	holderOwner = "u_aaaaaaaaaaaaaaaaaaaaaaaaaa"
	otherOwner  = "u_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	holderUID   = "a1b2c3d4e5f6g7h8i9j0k1l2m3"
	targetUID   = "t1b2c3d4e5f6g7h8i9j0k1l2m3"
	instanceID  = "i1b2c3d4e5f6g7h8i9j0k1l2m3"
	// caller is the triple in every subject of the handle's holder.
	caller = holderOwner + ".bob." + holderUID
)

const handleRegistry = `
endpoints:
  - endpoint: manager
    commands:
      - {name: status, class: ephemeral, targets: [untargeted]}
      - {name: scan, class: ephemeral, rails: [one, all, inst], targets: [untargeted]}
      - {name: pause, class: ephemeral, targets: [self, owner, child, ledger, handle]}
  - endpoint: com.acme.deploy
    commands:
      - {name: run, class: journal, targets: [self, owner, child, ledger, handle], action: true}
      - {name: note, class: journal, targets: [untargeted]}
`

func handleText(grants string) string {
	return `{"v": 1, "id": "h1", "space": "main", "issuer": {"keyId": "k"}, "holder": {"id": "` + holderOwner + `.bob", "lifecycleUid": "` + holderUID + `"},
		"grants": [` + grants + `], "iat": 1790000000000, "exp": 1790000600000, "sturdy": true, "sig": "AA"}`
}

// compileGrants compiles a handle of these grant entries as the command does.
func compileGrants(t testing.TB, ct *contract.Contract, grants string) *compile.PermissionSet {
	t.Helper()
	topology, _ := ct.Topology("")
	set, _, err := compileHandle(ct, topology, ct.Profiles[redeemedProfile], handleInput(t, ct, grants))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// handleInput are the parameters that a handle of these grant entries confers.
func handleInput(t testing.TB, ct *contract.Contract, grants string) compile.Input {
	t.Helper()
	h, err := wire.ParseHandle([]byte(handleText(grants)))
	if err != nil {
		t.Fatal(err)
	}
	r := &source.Report{}
	reg := wire.Registry{}
	registryFile(reg, source.Parse(r, "registry.yaml", []byte(handleRegistry)))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	conferral, err := h.Confer(reg)
	if err != nil {
		t.Fatal(err)
	}
	in, err := (&handleCompileCmd{Set: []string{"connId=conn_id-0123456789abcdef"}}).input(h, ct.Profiles[redeemedProfile], conferral)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func patterns(entries []compile.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.String())
	}
	return out
}

func defaultContractOf(t testing.TB) *contract.Contract {
	t.Helper()
	ct, err := matrix.Embedded(defaultContract)
	if err != nil {
		t.Fatal(err)
	}
	return ct
}

// handleGoldens: by hand from the request subjects of §13.2 and the compile targets of §13.6. The equal capability, where a standing
// mint has one, is what an agent is given for the same authority.
var handleGoldens = []struct {
	name, grant string
	pub         []string
	sub         []string
	agent       map[string]any
}{
	{"no target, untargeted", `{"endpoint": "manager", "commands": [{"name": "status"}]}`,
		[]string{"cotal.main.ep.one.manager.status." + caller + ".*"}, nil, ephemeral("status", "none", "one")},
	{"no target, self", `{"endpoint": "manager", "commands": [{"name": "pause"}]}`,
		[]string{"cotal.main.ep.one.manager.pause.self." + caller + ".*"}, nil, ephemeral("pause", "self", "one")},
	{"no target, scattered", `{"endpoint": "manager", "commands": [{"name": "scan"}]}`,
		[]string{"cotal.main.ep.all.manager.scan." + caller + ".*", "cotal.main.ep.one.manager.scan." + caller + ".*"}, nil, ephemeral("scan", "none", "one", "all")},
	{"no target, journaled", `{"endpoint": "com.acme.deploy", "commands": [{"name": "note"}]}`,
		[]string{"cotal.main.epj.com_acme_deploy.note." + caller}, nil, nil},
	{"owner by default", `{"endpoint": "manager", "commands": [{"name": "pause", "targetOwner": "` + otherOwner + `"}]}`,
		[]string{"cotal.main.ep.one.manager.pause.owner." + otherOwner + "." + caller + ".*"}, nil, nil},
	{"owner by name, the holder's own", `{"endpoint": "manager", "commands": [{"name": "pause", "targetOwner": "` + holderOwner + `", "authz": "owner"}]}`,
		[]string{"cotal.main.ep.one.manager.pause.owner." + holderOwner + "." + caller + ".*"}, nil, ephemeral("pause", "owner", "one")},
	{"child", `{"endpoint": "manager", "commands": [{"name": "pause", "targetOwner": "` + otherOwner + `", "authz": "child"}]}`,
		[]string{"cotal.main.ep.one.manager.pause.child." + otherOwner + "." + caller + ".*"}, nil, nil},
	{"ledger", `{"endpoint": "manager", "commands": [{"name": "pause", "targetOwner": "` + otherOwner + `", "authz": "ledger"}]}`,
		[]string{"cotal.main.ep.one.manager.pause.ledger." + otherOwner + "." + caller + ".*"}, nil,
		ephemeral("pause", map[string]any{"ledger": map[string]any{"tOwner": otherOwner}}, "one")},
	{"full triple", `{"endpoint": "manager", "commands": [{"name": "pause", "targetOwner": "` + otherOwner + `", "targetActor": "eve", "targetLifecycleUid": "` + targetUID + `"}]}`,
		[]string{"cotal.main.ep.one.manager.pause.handle." + otherOwner + ".eve." + targetUID + "." + caller + ".*"}, nil,
		ephemeral("pause", map[string]any{"handle": map[string]any{"tOwner": otherOwner, "tActor": "eve", "tUid": targetUID}}, "one")},
	{"instance", `{"endpoint": "manager", "instanceId": "` + instanceID + `", "commands": [{"name": "scan"}, {"name": "pause", "targetOwner": "` + otherOwner + `"}]}`,
		[]string{"cotal.main.ep.inst.manager." + instanceID + ".pause.owner." + otherOwner + "." + caller + ".*", "cotal.main.ep.inst.manager." + instanceID + ".scan." + caller + ".*"}, nil, nil},
	{"journaled action", `{"endpoint": "com.acme.deploy", "commands": [{"name": "run", "targetOwner": "` + otherOwner + `", "authz": "child"}]}`,
		[]string{"cotal.main.epj.com_acme_deploy.run.child." + otherOwner + "." + caller},
		[]string{"cotal.main.epe.com_acme_deploy.*.*.goal." + caller + ".>"}, nil},
	{"reads", `{"endpoint": "manager", "commands": [], "reads": ["ev.ai.cotal.lifecycle", "ev.com.acme.>", "svc.manager"]}`, nil,
		[]string{"cotal.main.epe.manager.*.*.ev.ai.cotal.lifecycle", "cotal.main.epe.manager.*.*.ev.ai.cotal.lifecycle.>", "cotal.main.epe.manager.*.*.ev.com.acme.>"}, nil},
	{"reads of every event", `{"endpoint": "manager", "commands": [], "reads": ["ev"]}`, nil, []string{"cotal.main.epe.manager.*.*.ev.>"}, nil},
}

// ephemeral is the capability of one command of manager, as an agent's parameter.
func ephemeral(name string, target any, rails ...any) map[string]any {
	return map[string]any{"endpoint": "manager", "commands": []any{map[string]any{"name": name, "class": "ephemeral", "rails": rails, "targets": []any{target}}}}
}

// TestHandleGoldens: each legal shape compiles to exactly its subjects, the rail of its replies and its own inbox.
func TestHandleGoldens(t *testing.T) {
	t.Parallel()
	ct := defaultContractOf(t)
	equal := 0
	for _, tt := range handleGoldens {
		set := compileGrants(t, ct, tt.grant)
		sub := slices.Concat([]string{"_INBOX_conn_id-0123456789abcdef.>", "cotal.main.ep.reply.*.*.*." + caller + ".*"}, tt.sub)
		slices.Sort(sub)
		if diff := cmp.Diff(append([]string{}, tt.pub...), patterns(set.Pub.Allow)); diff != "" {
			t.Errorf("%s: pub (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(sub, patterns(set.Sub.Allow)); diff != "" {
			t.Errorf("%s: sub (-want +got):\n%s", tt.name, diff)
		}
		if len(tt.pub) == 0 && set.Pub.Mode != compile.ModeNone {
			t.Errorf("%s: publishes %s, want none", tt.name, set.Pub.Mode)
		}
		if tt.agent == nil {
			continue
		}
		equal++
		minted, err := minted(ct, tt.agent)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(minted, patterns(set.Pub.Allow)); diff != "" {
			t.Errorf("%s (-minted capability +handle):\n%s", tt.name, diff)
		}
	}
	if equal < 6 {
		t.Errorf("compared %d shapes with a minted capability, want at least 6", equal)
	}
}

// minted are the publish patterns that a capability adds to an agent.
func minted(ct *contract.Contract, capability map[string]any) ([]string, error) {
	var sets [2][]string
	for i, capabilities := range [][]any{{}, {capability}} {
		topology, _ := ct.Topology("")
		scope, err := compile.NewScope(ct, topology, ct.Profiles["agent"], compile.Input{Values: map[string]any{"space": "main", "owner": holderOwner, "actor": "bob", "uid": holderUID,
			"reads": "mediated", "capabilities": capabilities}})
		if err != nil {
			return nil, err
		}
		set, err := compile.Compile(scope, "")
		if err != nil {
			return nil, err
		}
		sets[i] = patterns(set.Pub.Allow)
	}
	return slices.DeleteFunc(sets[1], func(p string) bool { return slices.Contains(sets[0], p) }), nil
}

// TestHandleWhole: a redeemed credential has no whole endpoint and no any, whoever writes the parameters.
func TestHandleWhole(t *testing.T) {
	t.Parallel()
	ct := defaultContractOf(t)
	topology, _ := ct.Topology("")
	values := func(whole bool, target string) map[string]any {
		return map[string]any{"space": "main", "owner": holderOwner, "actor": "bob", "uid": holderUID, "capabilities": []any{map[string]any{"endpoint": "manager", "whole": whole,
			"commands": []any{map[string]any{"name": "pause", "class": "ephemeral", "rails": []any{"one"}, "targets": []any{target}}}}}}
	}
	if _, _, err := compileHandle(ct, topology, ct.Profiles[redeemedProfile], compile.Input{Values: values(false, "self")}); err != nil {
		t.Errorf("control: %v", err)
	}
	if _, _, err := compileHandle(ct, topology, ct.Profiles[redeemedProfile], compile.Input{Values: values(true, "self")}); err == nil || !strings.Contains(err.Error(), "grants nothing") {
		t.Errorf("whole: got %v", err)
	}
	if _, _, err := compileHandle(ct, topology, ct.Profiles[redeemedProfile], compile.Input{Values: values(false, "any")}); err == nil || !strings.Contains(err.Error(), "is no case of conferred-target") {
		t.Errorf("any: got %v", err)
	}
}

// TestHandleTooLarge: a file beyond any handle is refused before it is read as one, by both bounds.
func TestHandleTooLarge(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "large.json")
	for size, want := range map[int]string{
		wire.MaxHandleBytes + 1: "large.json:1:1: contract-invalid: too large, got 65537 bytes, want at most 65536",
		source.MaxBytes + 1:     "large.json is too large, got more than 1048576 bytes",
	} {
		if err := os.WriteFile(file, []byte(handleText("")+strings.Repeat(" ", size-len(handleText("")))), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"handle", "check", file}, {"handle", "compile", file, "--commands", file}} {
			if out, errs := command(t, 1, args...); out != "" || !strings.Contains(errs, want) {
				t.Errorf("%d bytes: got %q and %q, want %q", size, out, errs, want)
			}
		}
	}
}
