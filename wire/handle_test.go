package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/wire"
)

const (
	hOwner = ownerA // the holder's
	tOwner = ownerB // the target's
	hUID   = "aaaaaaaaaaaaaaaaaaaaaaaaaa"
	tUID   = "bbbbbbbbbbbbbbbbbbbbbbbbbb"
	instA  = "i1b2c3d4e5f6g7h8i9j0k1l2m3"
)

// fullHandle has every key of §13.6 and every legal shape of a target.
const fullHandle = `{
  "v": 1, "id": "h-1", "space": "main",
  "issuer": {"keyId": "key_1"},
  "holder": {"id": "` + hOwner + `.bob", "lifecycleUid": "` + hUID + `"},
  "grants": [
    {"endpoint": "manager", "commands": [
      {"name": "list"},
      {"name": "stop", "targetOwner": "` + tOwner + `"},
      {"name": "stop", "targetOwner": "` + tOwner + `", "authz": "child"},
      {"name": "stop", "targetOwner": "` + tOwner + `", "authz": "ledger"},
      {"name": "stop", "targetOwner": "` + tOwner + `", "targetActor": "eve", "targetLifecycleUid": "` + tUID + `"}],
     "reads": ["ev.ai.cotal.lifecycle", "svc.manager.>"]},
    {"endpoint": "com.acme.deploy", "instanceId": "` + instA + `", "commands": [{"name": "status"}]}],
  "iat": 1790000000000, "nbf": 1790000001000, "exp": 1790000600000,
  "parentDigest": "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
  "sturdy": false, "epoch": 7, "sig": "c2ln"
}`

func TestParseHandle(t *testing.T) {
	got, err := wire.ParseHandle([]byte(fullHandle))
	if err != nil {
		t.Fatal(err)
	}
	want := []wire.HandleGrant{
		{Endpoint: "manager", Commands: []wire.HandleCommand{
			{Name: "list"},
			{Name: "stop", TargetOwner: tOwner},
			{Name: "stop", TargetOwner: tOwner, Authz: "child"},
			{Name: "stop", TargetOwner: tOwner, Authz: "ledger"},
			{Name: "stop", TargetOwner: tOwner, TargetActor: "eve", TargetLifecycleUID: tUID},
		}, Reads: []string{"ev.ai.cotal.lifecycle", "svc.manager.>"}},
		{Endpoint: "com.acme.deploy", Instance: instA, Commands: []wire.HandleCommand{{Name: "status"}}},
	}
	if diff := cmp.Diff(want, got.Grants); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
	var modes []wire.Mode
	for _, c := range got.Grants[0].Commands {
		modes = append(modes, c.Mode())
	}
	if diff := cmp.Diff([]wire.Mode{wire.ModeNone, wire.ModeOwner, wire.ModeChild, wire.ModeLedger, wire.ModeHandle}, modes); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
	if got.ID != "h-1" || got.Space != "main" || got.Issuer != "key_1" || got.Holder.Dot() != hOwner+".bob" || got.Holder.LifecycleUID != hUID ||
		got.IssuedAt != 1790000000000 || got.Start() != 1790000001000 || got.Expires != 1790000600000 || got.Sturdy || got.Epoch != 7 || !strings.HasPrefix(got.ParentDigest, "sha256:0123") {
		t.Errorf("envelope: got %+v", got)
	}
	if line, col := got.Place("grants[0].commands[2].authz"); line != 9 || col != 80 {
		t.Errorf("place of an authz, got %d:%d", line, col)
	}
}

// replaced is the full handle with one text replaced by another, which it must hold once.
func replaced(t *testing.T, old, new string) string {
	t.Helper()
	if strings.Count(fullHandle, old) != 1 {
		t.Fatalf("%q stands %d times in the handle, want once", old, strings.Count(fullHandle, old))
	}
	return strings.Replace(fullHandle, old, new, 1)
}

const (
	tripleText = `"targetOwner": "` + tOwner + `", "targetActor": "eve", "targetLifecycleUid": "` + tUID + `"`
	childText  = `"targetOwner": "` + tOwner + `", "authz": "child"`
)

// TestParseHandleRefuses: one fault each, with the path and place of the value.
func TestParseHandleRefuses(t *testing.T) {
	for _, tt := range []struct{ name, old, new, want string }{
		// partial tuples, each way
		{"owner and actor", tripleText, `"targetOwner": "` + tOwner + `", "targetActor": "eve"`, "11:7: grants[0].commands[4]: partial target, got targetOwner and targetActor"},
		{"owner and uid", tripleText, `"targetOwner": "` + tOwner + `", "targetLifecycleUid": "` + tUID + `"`, "11:7: grants[0].commands[4]: partial target, got targetOwner and targetLifecycleUid"},
		{"actor and uid", tripleText, `"targetActor": "eve", "targetLifecycleUid": "` + tUID + `"`, "11:7: grants[0].commands[4]: partial target, got targetActor and targetLifecycleUid"},
		{"actor alone", tripleText, `"targetActor": "eve"`, "11:7: grants[0].commands[4]: partial target, got targetActor"},
		{"uid alone", tripleText, `"targetLifecycleUid": "` + tUID + `"`, "11:7: grants[0].commands[4]: partial target, got targetLifecycleUid"},
		{"actor with authz", childText, `"targetActor": "eve", "authz": "child"`, "9:7: grants[0].commands[2]: partial target, got targetActor"},
		// authz
		{"any", `"authz": "child"`, `"authz": "any"`, `9:80: grants[0].commands[2].authz: is never conferred, got "any"`},
		{"any without target", `{"name": "list"}`, `{"name": "list", "authz": "any"}`, `7:33: grants[0].commands[0].authz: is never conferred, got "any"`},
		{"no target", childText, `"authz": "child"`, `9:33: grants[0].commands[2].authz: stands beside no target, got "child"`},
		{"triple", tripleText, tripleText + `, "authz": "owner"`, `grants[0].commands[4].authz: stands beside the full triple, got "owner"`},
		{"self", `"authz": "child"`, `"authz": "self"`, `grants[0].commands[2].authz: is no mode of a handle, got "self"`},
		{"handle", `"authz": "child"`, `"authz": "handle"`, `grants[0].commands[2].authz: is no mode of a handle, got "handle"`},
		{"empty authz", `"authz": "child"`, `"authz": ""`, `grants[0].commands[2].authz: is no mode of a handle, got ""`},
		{"authz of another type", `"authz": "child"`, `"authz": null`, `grants[0].commands[2].authz: has the wrong type, got null, want a string`},
		// closed keys, types
		{"unknown key", `"v": 1,`, `"v": 1, "scope": {},`, "2:11: scope: unknown key, want one of v, id,"},
		{"unknown key of a command", `{"name": "list"}`, `{"name": "list", "Authz": "owner"}`, "grants[0].commands[0].Authz: unknown key"},
		{"unknown key of an entry", `"endpoint": "manager",`, `"endpoint": "manager", "domain": "x",`, "grants[0].domain: unknown key"},
		{"unknown key of the holder", `"lifecycleUid": "` + hUID + `"`, `"lifecycleUid": "` + hUID + `", "epoch": 1`, "holder.epoch: unknown key"},
		{"duplicate key", `"v": 1,`, `"v": 1, "v": 1,`, "2:11: v: duplicate key, first given in line 2"},
		{"missing key", `"sturdy": false,`, ``, `1:1: missing key "sturdy"`},
		{"null target", `"targetActor": "eve"`, `"targetActor": null`, "grants[0].commands[4].targetActor: has the wrong type, got null, want a string"},
		{"version", `"v": 1,`, `"v": 2,`, "v: is a version that nobody here reads, got 2, want 1"},
		{"version as text", `"v": 1,`, `"v": "1",`, "v: has the wrong type, got a string, want a number"},
		{"no grants", fullHandle[strings.Index(fullHandle, `"grants"`):strings.Index(fullHandle, `  "iat"`)], `"grants": [],`, "grants: an empty list, want at least one element"},
		{"no commands", `[{"name": "status"}]`, `[]`, "grants[1].commands: an empty list"},
		// grammars
		{"endpoint with _", `"endpoint": "manager"`, `"endpoint": "man_ager"`, `grants[0].endpoint: does not fit the grammar of endpoint, got "man_ager"`},
		{"endpoint with leading dash", `"endpoint": "manager"`, `"endpoint": "-manager"`, `grants[0].endpoint: does not fit the grammar of endpoint`},
		{"endpoint with wildcard", `"endpoint": "manager"`, `"endpoint": "com.acme.>"`, `grants[0].endpoint: does not fit the grammar of endpoint`},
		{"endpoint too long", `"endpoint": "manager"`, `"endpoint": "` + strings.Repeat("a", 65) + `"`, `grants[0].endpoint: does not fit the grammar of endpoint`},
		{"command too long", `{"name": "list"}`, `{"name": "` + strings.Repeat("a", 33) + `"}`, `grants[0].commands[0].name: does not fit the grammar of command`},
		{"command with wildcard", `{"name": "list"}`, `{"name": "*"}`, `grants[0].commands[0].name: does not fit the grammar of command, got "*"`},
		{"instance", `"instanceId": "` + instA + `"`, `"instanceId": "short"`, `grants[1].instanceId: does not fit the grammar of instance, got "short"`},
		{"empty instance", `"instanceId": "` + instA + `"`, `"instanceId": ""`, `grants[1].instanceId: does not fit the grammar of instance, got ""`},
		{"instance wildcard", `"instanceId": "` + instA + `"`, `"instanceId": "*"`, `grants[1].instanceId: does not fit the grammar of instance`},
		{"holder", `"id": "` + hOwner + `.bob"`, `"id": "alice.bob"`, `holder.id: is no principal, got "alice.bob"`},
		{"holder dash form", `"id": "` + hOwner + `.bob"`, `"id": "` + hOwner + `-bob"`, `holder.id: is no principal`},
		{"owner wildcard", childText, `"targetOwner": "*", "authz": "child"`, `grants[0].commands[2].targetOwner: does not fit the grammar of owner, got "*"`},
		{"digest", `"sha256:0123`, `"sha256:0`, `parentDigest: does not fit the grammar of digest`},
		{"sig", `"c2ln"`, `"c2ln="`, `sig: does not fit the grammar of signature`},
		{"read wildcard", `"svc.manager.>"`, `"svc.*.x"`, `grants[0].reads[1]: does not fit the grammar of subtree, got "svc.*.x"`},
		{"read of everything", `"svc.manager.>"`, `">"`, `grants[0].reads[1]: does not fit the grammar of subtree, got ">"`},
		{"read too deep", `"svc.manager.>"`, `"svc` + strings.Repeat(".a", 16) + `"`, `grants[0].reads[1]: is too deep`},
		{"topic too deep", `"svc.manager.>"`, `"ev.1.2.3.4.5.6.7.8.9"`, `grants[0].reads[1]: is too deep, got "ev.1.2.3.4.5.6.7.8.9", want at most 10 tokens`},
		{"read twice", `"svc.manager.>"`, `"ev.ai.cotal.lifecycle"`, `grants[0].reads[1]: stands twice in the list`},
		{"reads of an instance", `"instanceId": "` + instA + `",`, `"instanceId": "` + instA + `", "reads": ["ev.a"],`, `grants[1].reads: stands in an instance entry`},
		{"command twice", `{"name": "list"}`, `{"name": "list"}, {"name": "list"}`, `grants[0].commands[1]: stands twice in the list`},
		// times
		{"exp before iat", `"exp": 1790000600000`, `"exp": 1690000600000`, "exp: is not after iat, got 1690000600000, want more than 1790000000000"},
		{"exp at iat", `"exp": 1790000600000`, `"exp": 1790000000000`, "exp: is not after iat"},
		{"exp at nbf", `"nbf": 1790000001000`, `"nbf": 1790000600000`, "exp: is not after nbf"},
		{"fraction", `"exp": 1790000600000`, `"exp": 1790000600000.5`, "exp: is not a plain integer"},
		{"exponent", `"exp": 1790000600000`, `"exp": 2e12`, "exp: is not a plain integer, got 2e12"},
		{"negative", `"iat": 1790000000000`, `"iat": -1`, "iat: is not a plain integer, got -1"},
		{"iat in seconds", `"iat": 1790000000000`, `"iat": 1790000000`,
			"iat: is no time in epoch milliseconds, got 1790000000, want at least 100000000000"},
		{"nbf in seconds", `"nbf": 1790000001000`, `"nbf": 99999999999`, "nbf: is no time in epoch milliseconds, got 99999999999"},
		{"exp in seconds", `"exp": 1790000600000`, `"exp": 1790000600`, "exp: is no time in epoch milliseconds, got 1790000600"},
		{"beyond I-JSON", `"exp": 1790000600000`, `"exp": 9007199254740992`, "exp: is not a plain integer"},
		{"a live one for days", `"exp": 1790000600000`, `"exp": 1790086400001`, "exp: outlives a live handle, got 86400001 ms after iat, want at most 86400000"},
		{"live without epoch", `"sturdy": false, "epoch": 7`, `"sturdy": false`, "sturdy: a live handle without epoch"},
		{"sturdy with epoch", `"sturdy": false`, `"sturdy": true`, "epoch: stands in a sturdy handle"},
		{"sturdy as text", `"sturdy": false`, `"sturdy": "false"`, "sturdy: has the wrong type, got a string, want a boolean"},
	} {
		_, err := wire.ParseHandle([]byte(replaced(t, tt.old, tt.new)))
		var faults wire.Faults
		if !errors.As(err, &faults) || len(faults) != 1 {
			t.Errorf("%s: got %v, want one fault", tt.name, err)
			continue
		}
		if !strings.Contains(faults[0].Error(), tt.want) || faults[0].Line == 0 {
			t.Errorf("%s: got %s, want %s", tt.name, faults[0].Error(), tt.want)
		}
	}
}

// TestParseHandleAccepts: the neighbours of what is refused.
func TestParseHandleAccepts(t *testing.T) {
	for _, tt := range []struct{ name, old, new string }{
		{"as it is", `"v": 1,`, `"v": 1,`},
		{"owner is the default", `"authz": "child"`, `"authz": "owner"`},
		{"open mode", `"id": "` + hOwner + `.bob"`, `"id": "local.bob"`},
		{"32 bytes of command", `{"name": "list"}`, `{"name": "` + strings.Repeat("a", 32) + `"}`},
		{"64 bytes of endpoint", `"endpoint": "manager"`, `"endpoint": "` + strings.Repeat("a", 64) + `"`},
		{"a live one for a day", `"exp": 1790000600000`, `"exp": 1790086400000`},
		{"a sturdy one for days", `"exp": 1790000600000,`, `"exp": 1790086400001,`},
		{"no nbf", `"nbf": 1790000001000,`, ``},
		{"the first instant", `"iat": 1790000000000, "nbf": 1790000001000`, `"iat": 1789999999999, "nbf": 100000000000`},
		{"no parent", `"parentDigest": "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",`, ``},
		{"reads alone", `[{"name": "status"}]`, `[], "reads": ["ev.a"]`},
		{"topic as deep as a subject", `"svc.manager.>"`, `"ev.1.2.3.4.5.6.7.8"`},
		{"escapes", `"name": "list"`, `"\u006eame": "lis\u0074"`},
	} {
		text := replaced(t, tt.old, tt.new)
		if tt.name == "a sturdy one for days" {
			text = strings.Replace(text, `"sturdy": false, "epoch": 7`, `"sturdy": true`, 1)
		}
		if tt.name == "reads alone" {
			text = strings.Replace(text, `"instanceId": "`+instA+`", `, "", 1)
		}
		if _, err := wire.ParseHandle([]byte(text)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestParseHandleReportsAll: every fault at once, in the order of the text, and no more than a person reads.
func TestParseHandleReportsAll(t *testing.T) {
	_, err := wire.ParseHandle([]byte(`{"v": 3, "id": "a b", "grants": [{"endpoint": "X", "commands": [{"name": "A", "authz": "any"}]}]}`))
	var faults wire.Faults
	if !errors.As(err, &faults) || len(faults) < 8 {
		t.Fatalf("got %v, want all faults", err)
	}
	for i := range faults[1:] {
		if a, b := faults[i], faults[i+1]; a.Line > b.Line || a.Line == b.Line && a.Col > b.Col {
			t.Errorf("%v stands before %v", a, b)
		}
	}
	many := `{"v": 1, "grants": [` + strings.Repeat(`{},`, 5000) + `{}]}`
	if _, err := wire.ParseHandle([]byte(many)); !errors.As(err, &faults) || len(faults) > 100 {
		t.Errorf("got %d faults, want at most 100", len(faults))
	}
	if _, err := wire.ParseHandle([]byte(`"` + strings.Repeat("a", wire.MaxHandleBytes) + `"`)); err == nil || !strings.Contains(err.Error(), "too large, got 65538 bytes, want at most 65536") {
		t.Errorf("oversize: got %v", err)
	}
}

// TestHandleDigest: the digest is that of the RFC 8785 form, however the artifact is written, and sees every component.
func TestHandleDigest(t *testing.T) {
	// From another implementation: python3 -c 'json.dumps(…, sort_keys=True, separators=(",", ":"))' | sha256sum
	const small = `{"exp":1790000000002,"grants":[{"commands":[{"name":"a"}],"endpoint":"e"}],"holder":{"id":"local.a","lifecycleUid":"aaaaaaaaaaaaaaaaaaaaaaaaaa"},"iat":1790000000001,"id":"h","issuer":{"keyId":"k"},"sig":"AA","space":"s","sturdy":true,"v":1}`
	const want = "sha256:9e0bab600d9ce2f028d848a94fc8ff677c9e31d44f8b19b157c39fc58fb0300e"
	for _, text := range []string{small, strings.NewReplacer(`,"`, ",\n\t\"", `:`, " : ").Replace(small), strings.Replace(small, `"id":"h"`, `"\u0069d":"\u0068"`, 1)} {
		h, err := wire.ParseHandle([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if h.Digest != want {
			t.Errorf("%s\ngot %s, want %s", text, h.Digest, want)
		}
	}
	h, err := wire.ParseHandle([]byte(strings.Replace(small, `"sig":"AA"`, `"sig":"AB"`, 1)))
	if err != nil || h.Digest == want {
		t.Errorf("another signature: got %v, %v", h.Digest, err)
	}
}

// TestHandleDigestOfReads: what JSON encoders like to escape stands in the canonical form as it is.
func TestHandleDigestOfReads(t *testing.T) {
	// From another implementation, as in TestHandleDigest.
	const text = `{"exp":1700000100000,"grants":[{"commands":[{"name":"a"}],"endpoint":"e","reads":["ev.deploy.>","svc.e.>"]}],"holder":{"id":"local.a","lifecycleUid":"aaaaaaaaaaaaaaaaaaaaaaaaaa"},"iat":1700000000000,"id":"h","issuer":{"keyId":"k"},"sig":"AA","space":"s","sturdy":true,"v":1}`
	const want = "sha256:cb0682de13dc14686e228409ae21f7484ae7fcb3c2e8f0b35b83249f7b7c5662"
	h, err := wire.ParseHandle([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if h.Digest != want {
		t.Errorf("got %s, want %s", h.Digest, want)
	}
}

// TestHandleBounds: lists that no credential carries are refused before they are worked on, and hostile ones take no time.
func TestHandleBounds(t *testing.T) {
	list := func(n int, each string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf(each, i)
		}
		return strings.Join(items, ",")
	}
	entry := func(commands, reads string) string {
		return fmt.Sprintf(`{"v":1,"id":"h","space":"s","issuer":{"keyId":"k"},"holder":{"id":"local.a","lifecycleUid":"aaaaaaaaaaaaaaaaaaaaaaaaaa"},`+
			`"grants":[{"endpoint":"e","commands":[%s],"reads":[%s]}],"iat":1700000000000,"exp":1700000100000,"sturdy":true,"sig":"AA"}`, commands, reads)
	}
	command, read := `{"name":"c%d"}`, `"svc.e.i%d"`
	for _, c := range []struct {
		text string
		want string // part of the error; "" is none
	}{
		{entry(list(512, command), list(128, read)), ""},
		{entry(list(513, command), list(1, read)), "grants[0].commands: brings the handle above its bound, got 513, want at most 512"},
		{entry(list(1, command), list(129, read)), "grants[0].reads: brings the handle above its bound, got 129, want at most 128"},
	} {
		h, err := wire.ParseHandle([]byte(c.text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if err == nil && len(wire.GrantWidenings(h.Space, h.Holder, h.Grants, h.Grants)) > 0 {
			t.Error("a handle is not within itself")
		}
	}
	if _, err := wire.ParseHandle([]byte(`{"grants":[` + list(9000, "%d") + `]}`)); err == nil {
		t.Error("a list of numbers parses")
	}
}

// FuzzParseHandle: nothing panics, every fault has a place, and what parses confers only what stands in its text.
func FuzzParseHandle(f *testing.F) {
	f.Add([]byte(fullHandle))
	f.Add([]byte(`{"v":1}`))
	f.Add([]byte(strings.Replace(fullHandle, `"authz": "child"`, `"authz": "any"`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := wire.ParseHandle(data)
		if err != nil {
			var faults wire.Faults
			if h != nil || !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("got %v, %v", h, err)
			}
			for _, fault := range faults {
				if fault.Line < 1 || fault.Col < 1 || fault.What == "" {
					t.Fatalf("got %+v, want a place", fault)
				}
			}
			return
		}
		if w := wire.GrantWidenings(h.Space, h.Holder, h.Grants, h.Grants); len(w) > 0 {
			t.Fatalf("wider than itself: %+v", w)
		}
		reg := wire.Registry{}
		for _, g := range h.Grants {
			reg[g.Endpoint] = map[string]wire.EndpointCommand{}
			for _, c := range g.Commands {
				if c.Authz == "any" || (c.TargetActor == "") != (c.TargetLifecycleUID == "") || c.TargetOwner == "" && c.TargetActor != "" {
					t.Fatalf("parsed %+v", c)
				}
			}
		}
		for _, g := range h.Grants {
			for _, c := range g.Commands {
				reg[g.Endpoint][c.Name] = wire.EndpointCommand{Class: wire.ClassEphemeral, Rails: []string{"one", "inst"}, Targets: []string{"self", "owner", "child", "ledger", "handle"}}
			}
		}
		if _, err := h.Confer(reg); err != nil {
			t.Fatalf("a legal handle with a contract that admits it: %v", err)
		}
	})
}
