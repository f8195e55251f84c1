package trust_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/trust"
)

var made = []string{"creds/doctor.creds", "creds/pusher.creds", "keys/keys/O", "operator.jwt", "system.jwt"}

func TestEnsureMakesOnce(t *testing.T) {
	dir := filepath.Join(fresh(t), "below")
	d, first, err := trust.Ensure(t.Context(), dir, options())
	if err != nil || !first {
		t.Fatalf("made %v, error %v; want made", first, err)
	}
	before := tree(t, dir)
	if diff := cmp.Diff(made, shape(before)); diff != "" {
		t.Error(diff)
	}
	modes := 0
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		info, infoErr := e.Info()
		if infoErr != nil {
			return infoErr
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if modes++; info.Mode().Perm() != want {
			t.Errorf("%s: mode %o, want %o", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil || modes < len(made) {
		t.Errorf("looked at %d modes, error %v", modes, err)
	}
	o := options()
	o.MintSystem = func(trust.SystemIssuer) (map[string][]byte, error) { return nil, errors.New("called twice") }
	again, second, err := trust.Ensure(t.Context(), dir, o)
	if err != nil || second {
		t.Fatalf("second run: made %v, error %v; want neither", second, err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error("second run changed the directory")
	}
	if d.OperatorKey() != again.OperatorKey() || d.SystemAccount() != again.SystemAccount() {
		t.Error("second run found other keys")
	}
}

func TestSystemSeedIsNotKept(t *testing.T) {
	dir := fresh(t)
	ensure(t, dir)
	files := tree(t, dir)
	sys, err := jwt.DecodeAccountClaims(files["system.jwt"])
	if err != nil {
		t.Fatal(err)
	}
	if len(sys.SigningKeys) != 1 || sys.Limits.IsJSEnabled() {
		t.Errorf("system account: %d signing keys, JetStream %v; want 1 and off", len(sys.SigningKeys), sys.Limits.IsJSEnabled())
	}
	for p := range files {
		if strings.Contains(p, "keys/A/") {
			t.Errorf("kept %s", p)
		}
	}
	token, err := jwt.ParseDecoratedJWT([]byte(files["creds/doctor.creds"]))
	if err != nil {
		t.Fatal(err)
	}
	user, err := jwt.DecodeUserClaims(token)
	if err != nil || !sys.DidSign(user) {
		t.Errorf("credential is not signed by the system account (%v)", err)
	}
}

// Killed after any write and run again, the directory is what an undisturbed run makes: one operator, no leftovers.
func TestEnsureConverges(t *testing.T) {
	for kill := 1; ; kill++ {
		dir := fresh(t)
		o := options()
		writes := 0
		o.OnWrite = func(string) error {
			if writes++; writes == kill {
				return errKilled
			}
			return nil
		}
		_, _, err := trust.Ensure(t.Context(), dir, o)
		if err == nil {
			if kill != len(made)+2 { // the marker, too
				t.Fatalf("%d writes, want %d", kill-1, len(made)+1)
			}
			return
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "keys", ".half.nk.tmp"), []byte("half"), 0o600); kill > 1 && err != nil {
			t.Fatal(err)
		}
		if _, err := trust.Open(dir); kill <= len(made) && !errors.Is(err, trust.ErrNotMade) {
			t.Errorf("killed after write %d: open, got %v, want %v", kill, err, trust.ErrNotMade)
		}
		o = options()
		o.Rand = seeded(7)
		d, _, err := trust.Ensure(t.Context(), dir, o)
		if err != nil {
			t.Fatalf("killed after write %d: %v", kill, err)
		}
		if diff := cmp.Diff(made, shape(tree(t, dir))); diff != "" {
			t.Errorf("killed after write %d: %s", kill, diff)
		}
		lock(t, d)
		if _, _, err := d.EnsureAccount(spec("main", "")); err != nil {
			t.Errorf("killed after write %d: the operator cannot sign: %v", kill, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	key := func(t *testing.T, dir string) string {
		t.Helper()
		for p := range tree(t, dir) {
			if strings.HasSuffix(p, ".nk") {
				return filepath.Join(dir, p)
			}
		}
		t.Fatal("no key")
		return ""
	}
	chmod := func(path string, mode fs.FileMode) error { return os.Chmod(path, mode) }
	cases := []struct {
		name, want, hint string
		spoil            func(t *testing.T, dir string) error
	}{
		{name: "untouched", spoil: func(*testing.T, string) error { return nil }},
		{"group may list", "mode, got 0750, want 0700", "chmod 700 ", func(_ *testing.T, dir string) error { return chmod(dir, 0o750) }},
		{"world may enter", "mode, got 0701, want 0700", "chmod 700 ", func(_ *testing.T, dir string) error { return chmod(dir, 0o701) }},
		{"seed readable", "mode, got 0640, want 0600", "chmod 600 ", func(t *testing.T, dir string) error { return chmod(key(t, dir), 0o640) }},
		{"seed is a link", "want a regular file", "", func(t *testing.T, dir string) error {
			k := key(t, dir)
			return errors.Join(os.Rename(k, filepath.Join(dir, "elsewhere")), os.Symlink(filepath.Join(dir, "elsewhere"), k))
		}},
		{"no operator", "no space directory", "provision", func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "operator.jwt")) }},
		{"no system account", "not found", "", func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "system.jwt")) }},
		{"foreign system account", "issuer, got", "", func(t *testing.T, dir string) error {
			other := fresh(t)
			o := options()
			o.Rand = seeded(5)
			if _, _, err := trust.Ensure(t.Context(), other, o); err != nil {
				return err
			}
			return os.Rename(filepath.Join(other, "system.jwt"), filepath.Join(dir, "system.jwt"))
		}},
	}
	if os.Geteuid() == 0 {
		cases = append(cases, cases[0])
		cases[len(cases)-1].name, cases[len(cases)-1].want, cases[len(cases)-1].hint = "another owner", "owner, got user 1234", "owner"
		cases[len(cases)-1].spoil = func(_ *testing.T, dir string) error { return os.Chown(dir, 1234, -1) }
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := fresh(t)
			ensure(t, dir)
			if err := c.spoil(t, dir); err != nil {
				t.Fatal(err)
			}
			_, err := trust.Open(dir)
			if c.want == "" {
				if err != nil {
					t.Errorf("control: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(trust.HintOf(err), c.hint) {
				t.Fatalf("got %v (hint %q), want %q (hint %q)", err, trust.HintOf(err), c.want, c.hint)
			}
			noSeed(t, dir, err.Error()+trust.HintOf(err))
		})
	}
}

func TestEnsureRefusesForeignDirectory(t *testing.T) {
	dir := fresh(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := trust.Ensure(t.Context(), dir, options())
	if err == nil || trust.HintOf(err) == "" {
		t.Fatalf("got %v, want a refusal with a hint", err)
	}
	if diff := cmp.Diff(map[string]string{"thesis.txt": "mine"}, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestLockExcludes(t *testing.T) {
	dir := fresh(t)
	a := ensure(t, dir)
	b, err := trust.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.EnsureAccount(spec("main", "")); !errors.Is(err, trust.ErrNotLocked) {
		t.Errorf("edit without the lock: got %v, want %v", err, trust.ErrNotLocked)
	}
	unlock, err := a.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Lock(ctx); !errors.Is(err, trust.ErrLocked) || trust.HintOf(err) == "" {
		t.Errorf("second lock: got %v, want %v with a hint", err, trust.ErrLocked)
	}
	if _, _, err := a.EnsureAccount(spec("main", "")); err != nil {
		t.Errorf("edit with the lock: %v", err)
	}
	unlock()
	unlock()
	lock(t, b)
	if _, _, err := b.EnsureAccount(spec("other", "")); err != nil {
		t.Errorf("lock after release: %v", err)
	}
	if _, _, err := a.EnsureAccount(spec("third", "")); !errors.Is(err, trust.ErrNotLocked) {
		t.Errorf("edit after release: got %v, want %v", err, trust.ErrNotLocked)
	}
}
