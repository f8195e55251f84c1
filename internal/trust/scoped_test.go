package trust_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// TestScopedRecord: what a template fixes comes back as it was written, whatever it looks like, and a record that is none is refused.
func TestScopedRecord(t *testing.T) {
	d := ensure(t, fresh(t))
	lock(t, d)
	_, public, err := trust.NewSigningKey(seeded(9))
	if err != nil {
		t.Fatal(err)
	}
	info := trust.SpaceInfo{Contract: "c", Topology: "t", Replicas: 1}
	late := trust.ScopedKey{Name: "late", Profile: "p", Account: "space", Key: public}
	early := trust.ScopedKey{Name: "early", Profile: "p", Account: "space", Key: public, Params: map[string]any{
		"epoch": "7", "reads": "mediated", "yes": "true", "whole": true, "none": nil, "list": []any{"a.>", "1"},
		"records": []any{map[string]any{"name": "x", "of": []any{"self", map[string]any{"other": map[string]any{"id": "0"}}}}}}}
	want := info.WithScoped("late", &late).WithScoped("early", &early).WithScoped("early", &early)
	if _, err := d.WriteSpace("main", want); err != nil {
		t.Fatal(err)
	}
	got, err := d.Space("main")
	if diff := cmp.Diff(want, got); err != nil || diff != "" || got.Scoped[0].Name != "early" || len(info.Scoped) != 0 {
		t.Errorf("%v\n%s", err, diff)
	}
	if k, ok := got.ScopedKey("late"); !ok || k.Key != public {
		t.Errorf("late, got %v and %t, want it", k, ok)
	}
	if _, ok := got.WithScoped("late", nil).ScopedKey("late"); ok {
		t.Error("late is still there once it was taken out")
	}
	for name, edit := range map[string]func(*trust.ScopedKey){
		"a name that is a path": func(k *trust.ScopedKey) { k.Name = "../x" },
		"no profile":            func(k *trust.ScopedKey) { k.Profile = "" },
		"no key":                func(k *trust.ScopedKey) { k.Key = "" },
		"twice":                 func(*trust.ScopedKey) {},
	} {
		bad := late
		edit(&bad)
		info := info
		if info.Scoped = []trust.ScopedKey{bad}; name == "twice" {
			info.Scoped = append(info.Scoped, bad)
		}
		if _, err := d.WriteSpace("main", info); err == nil {
			t.Errorf("%s: was written, want a refusal", name)
		}
	}
}

// TestScopedSigner: a key signs only where its account gives it a scope and its seed is kept.
func TestScopedSigner(t *testing.T) {
	d := ensure(t, fresh(t))
	lock(t, d)
	key, public, err := trust.NewSigningKey(seeded(9))
	if err != nil {
		t.Fatal(err)
	}
	s := spec("main", "x")
	if _, _, err := d.EnsureAccount(s); err != nil {
		t.Fatal(err)
	}
	refused := func(what string) {
		t.Helper()
		if _, _, _, err := d.ScopedSigner("main", s.Account, public); !errors.Is(err, trust.ErrNotFound) {
			t.Errorf("%s: got %v, want %v", what, err, trust.ErrNotFound)
		}
	}
	refused("no scope")
	scope := jwt.NewUserScope()
	scope.Key, scope.Template.Pub.Allow = public, jwt.StringList{"a.{{tag(x)}}"}
	s.Claims = func(c *jwt.AccountClaims) { c.SigningKeys.AddScopedSigner(scope) }
	acc, change, err := d.EnsureAccount(s)
	if err != nil || change != trust.Update {
		t.Fatalf("the scope: %v, %v, want an update", change, err)
	}
	refused("no seed")
	if kept, err := d.HasSeed(public); err != nil || kept {
		t.Errorf("seed, got %t and %v, want none", kept, err)
	}
	if err := d.KeepSigningKey(key); err != nil {
		t.Fatal(err)
	}
	got, of, us, err := d.ScopedSigner("main", s.Account, public)
	if err != nil {
		t.Fatal(err)
	}
	name, _ := got.PublicKey()
	if diff := cmp.Diff([]string{public, acc.Public, "a.{{tag(x)}}"}, []string{name, of.Public, strings.Join(us.Template.Pub.Allow, " ")}); diff != "" {
		t.Error(diff)
	}
	if acc.Signing == public || acc.Signing == "" {
		t.Errorf("the key that signs everything else, got %q, want the one without a scope", acc.Signing)
	}
	if again, change, err := d.EnsureAccount(spec("main", "x")); err != nil || change != trust.None || !again.Claims.SigningKeys.Contains(public) {
		t.Errorf("a run that knows nothing of the scope: %v, %v, want no change", change, err)
	}
	if err := d.DropSigningKey(public); err != nil {
		t.Fatal(err)
	}
	refused("dropped")
}
