package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/wire"
)

// childOf is a child of a handle, as text: the same but for one replacement, and linked.
func childOf(t *testing.T, parent *wire.Handle, old, new string) *wire.Handle {
	t.Helper()
	text := replaced(t, old, new)
	start := strings.Index(text, "sha256:")
	h, err := wire.ParseHandle([]byte(text[:start] + parent.Digest + text[start+len(parent.Digest):]))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func parse(t *testing.T, text string) *wire.Handle {
	t.Helper()
	h, err := wire.ParseHandle([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestEnvelopeContainment: space, window, sturdiness, link and holder of a child against its parent; the narrower beside each.
func TestEnvelopeContainment(t *testing.T) {
	parent := parse(t, fullHandle)
	sturdy := parse(t, strings.Replace(fullHandle, `"sturdy": false, "epoch": 7`, `"sturdy": true`, 1))
	for _, tt := range []struct {
		name     string
		parent   *wire.Handle
		old, new string
		want     []wire.Widening
	}{
		{"equal", parent, `"id": "h-1"`, `"id": "h-2"`, nil},
		{"space", parent, `"space": "main"`, `"space": "other"`, []wire.Widening{{Path: "space", Rule: "space", What: "is bound to other, the parent to main"}}},
		{"later end", parent, `"exp": 1790000600000`, `"exp": 1790000600001`, []wire.Widening{{Path: "exp", Rule: "window",
			What: "is valid until 1790000600001, the parent until 1790000600000", Witness: "at 1790000600000 ms"}}},
		{"earlier end", parent, `"exp": 1790000600000`, `"exp": 1790000500000`, nil},
		{"earlier start", parent, `"nbf": 1790000001000`, `"nbf": 1790000000999`, []wire.Widening{{Path: "nbf", Rule: "window",
			What: "is valid from 1790000000999, the parent from 1790000001000", Witness: "at 1790000000999 ms"}}},
		{"no nbf", parent, `"nbf": 1790000001000, `, ``, []wire.Widening{{Path: "iat", Rule: "window",
			What: "is valid from 1790000000000, the parent from 1790000001000", Witness: "at 1790000000000 ms"}}},
		{"later iat without nbf", parent, `"iat": 1790000000000, "nbf": 1790000001000`, `"iat": 1790000001000`, nil},
		{"later start", parent, `"nbf": 1790000001000`, `"nbf": 1790000002000`, nil},
		{"sturdy of live", parent, `"sturdy": false, "epoch": 7`, `"sturdy": true`, []wire.Widening{{Path: "sturdy", Rule: "sturdy", What: "is sturdy, and its parent dies on restart"}}},
		{"live of sturdy", sturdy, `"id": "h-1"`, `"id": "h-2"`, nil},
		{"sturdy of sturdy", sturdy, `"sturdy": false, "epoch": 7`, `"sturdy": true`, nil},
		{"another holder", parent, `"holder": {"id": "` + hOwner + `.bob", "lifecycleUid": "` + hUID + `"}`, `"holder": {"id": "local.al", "lifecycleUid": "` + tUID + `"}`, nil},
		{"a successor", parent, `"lifecycleUid": "` + hUID + `"}`, `"lifecycleUid": "` + tUID + `"}`, nil},
		{"a uid of another principal", parent, `.bob"`, `.al"`, []wire.Widening{{Path: "holder.lifecycleUid", Rule: "holder",
			What: "lifecycle " + hUID + " is that of " + hOwner + ".bob: a UID names one incarnation of one principal"}}},
	} {
		child := childOf(t, tt.parent, tt.old, tt.new)
		if diff := cmp.Diff(tt.want, wire.Widenings(tt.parent, child)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestLinks: a child names its parent by digest, whatever else it says.
func TestLinks(t *testing.T) {
	parent := parse(t, fullHandle)
	foreign := parse(t, fullHandle) // its parentDigest is not that of the parent
	got := wire.Widenings(parent, foreign)
	if len(got) != 1 || got[0].Rule != "link" || got[0].Path != "parentDigest" || !strings.Contains(got[0].What, parent.Digest) {
		t.Errorf("foreign digest: got %+v", got)
	}
	root := parse(t, replaced(t, `"parentDigest": "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",`, ""))
	got = wire.Widenings(parent, root)
	if len(got) != 1 || got[0].Rule != "link" || !strings.Contains(got[0].What, "want "+parent.Digest) {
		t.Errorf("no digest: got %+v", got)
	}
}

// TestWideningsAreExplained: which rule a widening breaks, at which path, with the subject that shows it.
func TestWideningsAreExplained(t *testing.T) {
	parent := []wire.HandleGrant{
		{Endpoint: "manager", Commands: []wire.HandleCommand{{Name: "list"}, {Name: "stop", TargetOwner: tOwner}}, Reads: []string{"ev.a", "svc.manager"}},
		{Endpoint: "delivery", Instance: instA, Commands: []wire.HandleCommand{{Name: "list"}}},
	}
	caller := "." + hOwner + ".bob." + hUID + ".any"
	for _, tt := range []struct {
		grant wire.HandleGrant
		want  wire.Widening
	}{
		{wire.HandleGrant{Endpoint: "auth", Commands: []wire.HandleCommand{{Name: "list"}}},
			wire.Widening{Path: "grants[0].endpoint", Rule: "endpoint", What: "endpoint auth is not granted", Witness: "cotal.main.ep.one.auth.list.self" + caller}},
		{wire.HandleGrant{Endpoint: "delivery", Commands: []wire.HandleCommand{{Name: "list"}}},
			wire.Widening{Path: "grants[0]", Rule: "instanceId", What: "the instance of delivery that the parent pins is widened to all", Witness: "cotal.main.ep.one.delivery.list.self" + caller}},
		{wire.HandleGrant{Endpoint: "delivery", Instance: instances[2], Commands: []wire.HandleCommand{{Name: "list"}}},
			wire.Widening{Path: "grants[0].instanceId", Rule: "instanceId", What: "instance " + instances[2] + " of delivery is not granted",
				Witness: "cotal.main.ep.inst.delivery." + instances[2] + ".list.self" + caller}},
		{wire.HandleGrant{Endpoint: "manager", Commands: []wire.HandleCommand{{Name: "list"}, {Name: "spawn"}}},
			wire.Widening{Path: "grants[0].commands[1].name", Rule: "command", What: "command spawn of manager is not granted", Witness: "cotal.main.ep.one.manager.spawn.self" + caller}},
		{wire.HandleGrant{Endpoint: "manager", Commands: []wire.HandleCommand{{Name: "stop", TargetOwner: tOwner, Authz: "child"}}},
			wire.Widening{Path: "grants[0].commands[0].authz", Rule: "mode", What: "mode child of stop is not the parent's, owner",
				Witness: "cotal.main.ep.one.manager.stop.child." + tOwner + caller}},
		{wire.HandleGrant{Endpoint: "manager", Commands: []wire.HandleCommand{{Name: "stop", TargetOwner: hOwner}}},
			wire.Widening{Path: "grants[0].commands[0].targetOwner", Rule: "target", What: "target owner." + hOwner + " of stop is not that of the parent, owner." + tOwner,
				Witness: "cotal.main.ep.one.manager.stop.owner." + hOwner + caller}},
		{wire.HandleGrant{Endpoint: "manager", Commands: []wire.HandleCommand{{Name: "stop"}}},
			wire.Widening{Path: "grants[0].commands[0]", Rule: "target", What: "the target owner." + tOwner + " of stop that the parent pins is dropped",
				Witness: "cotal.main.ep.one.manager.stop.self" + caller}},
		{wire.HandleGrant{Endpoint: "manager", Commands: []wire.HandleCommand{{Name: "list", TargetOwner: tOwner}}},
			wire.Widening{Path: "grants[0].commands[0]", Rule: "mode", What: "mode owner of list is not the parent's, none",
				Witness: "cotal.main.ep.one.manager.list.owner." + tOwner + caller}},
		{wire.HandleGrant{Endpoint: "manager", Reads: []string{"ev.a.b", "ev.b"}},
			wire.Widening{Path: "grants[0].reads[1]", Rule: "reads", What: "subtree ev.b lies in no subtree that the parent reads of manager", Witness: "cotal.main.epe.manager.any.any.ev.b"}},
		{wire.HandleGrant{Endpoint: "manager", Reads: []string{"svc.>"}},
			wire.Widening{Path: "grants[0].reads[0]", Rule: "reads", What: "subtree svc.> lies in no subtree that the parent reads of manager", Witness: "record svc.rest"}},
	} {
		got := wire.GrantWidenings("main", holder, parent, []wire.HandleGrant{tt.grant})
		if diff := cmp.Diff([]wire.Widening{tt.want}, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.grant, diff)
		}
	}
}
