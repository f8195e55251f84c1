package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/trust"
)

func TestSpace(t *testing.T) {
	dir := fresh(t)
	d := ensure(t, dir)
	lock(t, d)
	if _, err := d.Space("main"); !errors.Is(err, trust.ErrNotFound) {
		t.Errorf("before: got %v, want %v", err, trust.ErrNotFound)
	}
	want := trust.SpaceInfo{Contract: "0123", Topology: "single", Settings: map[string]string{"deployment": "local"}, Replicas: 3}
	for _, changes := range []bool{true, false} {
		if changed, err := d.WriteSpace("main", want); err != nil || changed != changes {
			t.Errorf("write: changed %v, %v; want %v", changed, err, changes)
		}
	}
	got, err := d.Space("main")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := d.WriteSpace("other", trust.SpaceInfo{Contract: "c", Topology: "t"}); err == nil {
		t.Error("0 replicas were accepted")
	}
	for _, space := range []string{"zeta", "main"} {
		if _, _, err := d.EnsureAccount(spec(space, "x")); err != nil {
			t.Fatal(err)
		}
	}
	spaces, err := d.Spaces()
	if diff := cmp.Diff([]string{"main", "zeta"}, spaces); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestSpaceIsStrict(t *testing.T) {
	dir := fresh(t)
	d := ensure(t, dir)
	lock(t, d)
	const good = "contract: c\ntopology: t\nreplicas: 1\n"
	for _, c := range []struct{ text, want string }{
		{good, ""},
		{good + "replica: 3\n", "field replica not found"},
		{good + "replicas: 1\n", "already defined"},
		{good + "---\ncontract: d\n", "second document"},
		{"topology: t\nreplicas: 1\n", "contract, got nothing"},
		{"contract: c\nreplicas: 9\n", "topology, got nothing"},
		{"contract: [c]\n", "cannot unmarshal"},
		{"", "EOF"},
	} {
		if _, err := d.WriteSpace("main", trust.SpaceInfo{Contract: "c", Topology: "t", Replicas: 2}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "spaces", "main", "space.yaml"), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := d.Space("main")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestCreds(t *testing.T) {
	d := ensure(t, fresh(t))
	if err := d.WriteCreds("main", "alice", []byte("x")); !errors.Is(err, trust.ErrNotLocked) {
		t.Errorf("without the lock: %v", err)
	}
	lock(t, d)
	if err := d.WriteCreds("main", "alice", []byte("x")); err != nil {
		t.Fatal(err)
	}
	path, err := d.Creds("main", "alice")
	if want := filepath.Join(d.Path(), "spaces", "main", "creds", "alice.creds"); err != nil || path != want {
		t.Errorf("got %s, %v; want %s", path, err, want)
	}
	if err := d.WriteCreds("", "doctor", []byte("x")); err == nil {
		t.Error("a system credential was replaced")
	}
	for space, want := range map[string][]string{"": {"doctor", "pusher"}, "main": {"alice"}, "none": {}} {
		got, err := d.ListCreds(space)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", space, err, diff)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Creds("main", "alice"); err == nil || !strings.HasPrefix(trust.HintOf(err), "chmod 600 ") {
		t.Errorf("readable credential: got %v", err)
	}
	if err := d.RemoveCreds("main", "alice"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Creds("main", "alice"); !errors.Is(err, trust.ErrNotFound) {
		t.Errorf("after removal: got %v, want %v", err, trust.ErrNotFound)
	}
}
