//go:build unix

package main

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// trusted is the files of a directory that say who is trusted, keys by how many there are: two runs draw different ones.
func trusted(t testing.TB, dir string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, top := range []string{"keys", "creds", "creds.next", "spaces"} {
		err := filepath.WalkDir(filepath.Join(dir, top), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil //nolint:nilerr // an absent folder is an answer too
			}
			rel, err := filepath.Rel(dir, path)
			if strings.HasSuffix(rel, ".nk") {
				rel = "seeds"
			}
			out[filepath.ToSlash(rel)]++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	notes, err := filepath.Glob(filepath.Join(dir, "*.rotating"))
	if err != nil {
		t.Fatal(err)
	}
	out["system notes"] = len(notes)
	if out["seeds"] == 0 {
		t.Fatalf("%s holds no keys", dir)
	}
	return out
}

// TestKilledTrustConverges: wherever a change of trust is killed, users who are not its target are let in then, as before and
// after it, the space can be signed for, and the next run leaves what an uninterrupted one leaves.
func TestKilledTrustConverges(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", base)
	remove := []string{"rotate", "signing-key", "--remove-old"}
	for _, tt := range []struct {
		op     string
		next   []string
		before []string // commands
		fresh  bool     // the target is minted anew before it
	}{
		{op: "add-key", next: []string{"rotate", "signing-key"}},
		{op: "remove-key", next: remove, before: []string{"rotate", "signing-key"}, fresh: true},
		{op: "rotate-system", next: []string{"rotate", "system"}},
		{op: "revoke"},
	} {
		t.Run(tt.op, func(t *testing.T) {
			t.Parallel()
			start := filepath.Join(t.TempDir(), "D")
			copyTree(t, base, start)
			alice := mintAgent(t, start, "alice")
			if tt.before != nil {
				command(t, 0, append(tt.before, "--dir", start)...)
			}
			if tt.fresh {
				mintAgent(t, start, "alice")
			}
			bob := mintAgent(t, start, "bob")
			copyFile := func(dir string) { // where the killed process looks for it
				copyTree(t, filepath.Dir(alice), filepath.Dir(dir))
			}
			reference := filepath.Join(t.TempDir(), "D")
			copyTree(t, start, reference)
			copyFile(reference)
			events := child(t, tt.op, reference, 0)
			if len(events) < 5 {
				t.Fatalf("got events %v, want at least 5", events)
			}
			want := trusted(t, reference)
			for _, at := range killPoints(t, events) {
				dir := filepath.Join(t.TempDir(), strconv.Itoa(at), "D")
				copyTree(t, start, dir)
				copyFile(dir)
				child(t, tt.op, dir, at)
				signable(t, dir, bob, events[at-1])
				next := tt.next
				if next == nil {
					next = []string{"revoke", filepath.Join(filepath.Dir(dir), "alice.creds")}
				}
				command(t, 0, append(slices.Clone(next), "--dir", dir)...)
				if d := cmp.Diff(want, trusted(t, dir)); d != "" {
					t.Errorf("killed after %s (-uninterrupted +converged):\n%s", events[at-1], d)
				}
				plan, _ := command(t, 0, "provision", "space", "main", "--dir", dir, "--plan", "-o", "json")
				wantOnlyNone(t, plan)
			}
		})
	}
}

// signable makes sure that a user is let in, that the directory can mint another who is, and that a system credential works.
func signable(t *testing.T, dir, file, when string) {
	t.Helper()
	visit(t, dir, func(_ *trust.Dir, url string) {
		creds(t, url, file).Close()
		creds(t, url, mintAgent(t, dir, "carol")).Close()
		creds(t, url, filepath.Join(dir, "creds", "claims-pusher.creds")).Close()
	})
	if t.Failed() {
		t.Fatalf("killed after %s", when)
	}
}

// TestKilledTrustBesideBroker: a broker that runs meanwhile knows as much as the killed run had told it, and the next run
// tells it the rest.
func TestKilledTrustBesideBroker(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", base)
	for op, next := range map[string][]string{"remove-key": {"rotate", "signing-key", "--remove-old"}, "rotate-system": {"rotate", "system"}} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			start := filepath.Join(t.TempDir(), "D")
			copyTree(t, base, start)
			old := mintAgent(t, start, "alice")
			if op == "remove-key" {
				command(t, 0, "rotate", "signing-key", "--dir", start)
				mintAgent(t, start, "alice")
			} else {
				old = copyCreds(t, start, "doctor")
			}
			var events []string
			run := func(at int) {
				dir := filepath.Join(t.TempDir(), "D")
				copyTree(t, start, dir)
				visit(t, dir, func(_ *trust.Dir, url string) {
					_, closed := watched(t, url, old)
					if got := child(t, op, dir, at); at == 0 {
						events = got
					} else {
						command(t, 0, append(slices.Clone(next), "--dir", dir)...)
					}
					wantClosed(t, url, old, closed)
					creds(t, url, mintAgent(t, dir, "carol")).Close()
					creds(t, url, filepath.Join(dir, "creds", "claims-pusher.creds")).Close()
				})
				for name := range trusted(t, dir) {
					if strings.HasSuffix(name, ".rotating") {
						t.Errorf("killed at %d: left %s", at, name)
					}
				}
			}
			run(0)
			for _, at := range killPoints(t, events) {
				t.Logf("killed after %s", events[at-1])
				run(at)
			}
		})
	}
}
