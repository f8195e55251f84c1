package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// rotating is a directory with one account whose signing key is being replaced.
func rotating(t *testing.T) (*trust.Dir, *trust.Account, *trust.Rotation) {
	t.Helper()
	d := ensure(t, fresh(t))
	lock(t, d)
	was, _, err := d.EnsureAccount(spec("main", ""))
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.BeginRotation(begin())
	if err != nil {
		t.Fatal(err)
	}
	return d, was, r
}

// begin is the spec that draws the new key: another one than those of the account.
func begin() trust.AccountSpec {
	s := spec("main", "")
	s.Rand = seeded(7)
	return s
}

func rotated(r *trust.Rotation, drop bool) trust.AccountSpec {
	s := spec("main", "")
	s.Rotation, s.DropOld = r, drop
	return s
}

func signers(a *trust.Account) []string {
	keys := a.Claims.SigningKeys.Keys()
	slices.Sort(keys)
	return keys
}

func seedFile(d *trust.Dir, key string) string {
	return filepath.Join(d.Path(), "keys", "keys", key[:1], key[1:3], key+".nk")
}

// TestRotation: the account signs with the old key until its JWT names the new one; an edit that knows nothing of the rotation
// changes nothing of it; and the old seed goes with its end.
func TestRotation(t *testing.T) {
	d, was, r := rotating(t)
	if r.Old != was.Signing || r.New == r.Old {
		t.Fatalf("rotation %+v of %s", r, was.Signing)
	}
	both := slices.Sorted(slices.Values([]string{r.Old, r.New}))
	for _, step := range []struct {
		name    string
		spec    trust.AccountSpec
		change  trust.Change
		signers []string
		signing string
	}{
		{"begun", spec("main", ""), trust.None, []string{r.Old}, r.Old},
		{"added", rotated(r, false), trust.Update, both, r.New},
		{"added again", rotated(r, false), trust.None, both, r.New},
		{"another edit", spec("main", ""), trust.None, both, r.New},
		{"dropped", rotated(r, true), trust.Update, []string{r.New}, r.New},
		{"dropped again", rotated(r, true), trust.None, []string{r.New}, r.New},
		{"added late", rotated(r, false), trust.None, []string{r.New}, r.New},
	} {
		planned, _, err := d.PlanAccount(step.spec)
		if err != nil {
			t.Fatal(err)
		}
		a, change, err := d.EnsureAccount(step.spec)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if change != step.change || planned != step.change || a.Signing != step.signing || cmp.Diff(step.signers, signers(a)) != "" {
			t.Errorf("%s: planned %s, %s, signers %v, signing %s; want %s, %v, %s",
				step.name, planned, change, signers(a), a.Signing, step.change, step.signers, step.signing)
		}
		if a.Public != was.Public || a.Claims.IssuedAt < was.Claims.IssuedAt {
			t.Errorf("%s: account %s of %d, want %s, newer", step.name, a.Public, a.Claims.IssuedAt, was.Public)
		}
	}
	for range 2 {
		if err := d.EndRotation("main", ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(seedFile(d, r.Old)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("seed of the old key: %v, want it gone", err)
	}
	if left, err := d.Rotation("main", ""); left != nil || err != nil {
		t.Errorf("rotation %v (%v), want none", left, err)
	}
	if _, _, err := d.SigningKey("main", ""); err != nil {
		t.Errorf("the account cannot be signed for: %v", err)
	}
}

// TestRotationRefusals: at no step can the account be left with a key whose seed is not there.
func TestRotationRefusals(t *testing.T) {
	cases := 0
	for _, tt := range []struct {
		name string
		do   func(d *trust.Dir, r *trust.Rotation) error
		want string
	}{
		{"drop before add", func(d *trust.Dir, r *trust.Rotation) error {
			_, _, err := d.EnsureAccount(rotated(r, true))
			return err
		}, "stands beside the old one first"},
		{"add without its seed", func(d *trust.Dir, r *trust.Rotation) error {
			_, _, err := d.EnsureAccount(rotated(r, false))
			return errors.Join(os.Remove(seedFile(d, r.New)), err, func() error {
				_, _, err := d.EnsureAccount(rotated(r, false))
				return err
			}())
		}, "the seed of its signing key"},
		{"drop with the new seed gone", func(d *trust.Dir, r *trust.Rotation) error {
			if _, _, err := d.EnsureAccount(rotated(r, false)); err != nil {
				return err
			}
			if err := os.Remove(seedFile(d, r.New)); err != nil {
				return err
			}
			_, _, err := d.EnsureAccount(rotated(r, true))
			return err
		}, "the seed of its signing key"},
		{"begin again with the new seed gone", func(d *trust.Dir, r *trust.Rotation) error {
			if _, _, err := d.EnsureAccount(rotated(r, false)); err != nil {
				return err
			}
			if err := os.Remove(seedFile(d, r.New)); err != nil {
				return err
			}
			_, err := d.BeginRotation(begin())
			return err
		}, "the seed of its signing key"},
		{"end before drop", func(d *trust.Dir, r *trust.Rotation) error {
			if _, _, err := d.EnsureAccount(rotated(r, false)); err != nil {
				return err
			}
			return d.EndRotation("main", "")
		}, "it still names the old signing key"},
		{"end before add", func(d *trust.Dir, _ *trust.Rotation) error { return d.EndRotation("main", "") }, "it still names the old signing key"},
		{"a note of something else", func(d *trust.Dir, _ *trust.Rotation) error {
			if err := os.WriteFile(filepath.Join(d.Path(), "spaces", "main", "account.jwt.rotating"), []byte(`{"old":"../x"}`), 0o600); err != nil {
				return err
			}
			_, err := d.Account("main", "")
			return err
		}, "want a public account key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _, r := rotating(t)
			err := tt.do(d, r)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			noSeed(t, d.Path(), err.Error())
			if _, err := os.Stat(seedFile(d, r.Old)); err != nil {
				t.Errorf("old seed: %v", err)
			}
			cases++
		})
	}
	if cases == 0 {
		t.Error("no case ran")
	}
}

// TestRotationConverges: stopped after any write, the next run ends with one signing key, whose seed is kept.
func TestRotationConverges(t *testing.T) {
	whole := func(d *trust.Dir) error {
		r, err := d.BeginRotation(begin())
		if err != nil {
			return err
		}
		for _, drop := range []bool{false, true} {
			if _, _, err := d.EnsureAccount(rotated(r, drop)); err != nil {
				return err
			}
		}
		return d.EndRotation("main", "")
	}
	stops := 0
	for at := 1; ; at++ {
		d := ensure(t, fresh(t))
		lock(t, d)
		was, _, err := d.EnsureAccount(spec("main", ""))
		if err != nil {
			t.Fatal(err)
		}
		writes := 0
		d.Observe(func(string) error {
			if writes++; writes == at {
				return errKilled
			}
			return nil
		})
		if err := whole(d); err == nil {
			break
		} else if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		stops++
		d.Observe(nil)
		if _, _, err := d.SigningKey("main", ""); err != nil {
			t.Errorf("stopped at %d: %v", at, err)
		}
		r, err := d.Rotation("main", "")
		if err == nil && r != nil { // else it was stopped after its end
			err = whole(d)
		}
		if err != nil {
			t.Fatalf("stopped at %d: %v", at, err)
		}
		a, err := d.Account("main", "")
		if err != nil {
			t.Fatal(err)
		}
		if len(signers(a)) != 1 || a.Signing == was.Signing || a.Public != was.Public {
			t.Errorf("stopped at %d: signers %v, want one other than %s", at, signers(a), was.Signing)
		}
		want := []string{"keys/keys/A", "keys/keys/A", "keys/keys/O"}
		got := slices.DeleteFunc(shape(tree(t, d.Path())), func(p string) bool { return !strings.HasPrefix(p, "keys/") })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("stopped at %d: seeds (-want +got):\n%s", at, d)
		}
	}
	if stops != 6 { // note, seed, both JWTs, the old seed, the note
		t.Errorf("got %d stops, want 6", stops)
	}
}

// TestSystemConverges: stopped after any write, the directory opens, the next run ends with the new key alone, and every
// credential is of it.
func TestSystemConverges(t *testing.T) {
	mints := 0
	o := options()
	o.Rand, o.MintSystem = seeded(5), func(s trust.SystemIssuer) (map[string][]byte, error) {
		mints++
		files, err := mintOne(s)
		delete(files, "pusher") // a contract may drop a profile
		return files, err
	}
	whole := func(d *trust.Dir) error {
		if err := d.StageSystem(o); err != nil {
			return err
		}
		return errors.Join(d.AdoptSystem(), d.DropSystem(start()), d.EndSystem())
	}
	stops := 0
	for at := 1; ; at++ {
		d := ensure(t, fresh(t))
		lock(t, d)
		account, was := d.SystemAccount(), d.SystemSigners()
		writes := 0
		d.Observe(func(string) error {
			if writes++; writes >= at {
				return errKilled
			}
			return nil
		})
		err := whole(d)
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		stops++
		again, err := trust.Open(d.Path())
		if err != nil {
			t.Fatalf("stopped at %d: %v", at, err)
		}
		if again.SystemAccount() != account {
			t.Errorf("stopped at %d: system account %s, want %s", at, again.SystemAccount(), account)
		}
		d.Observe(nil)
		if err := whole(d); err != nil {
			t.Fatalf("stopped at %d: %v", at, err)
		}
		got := d.SystemSigners()
		if len(got) != 1 || got[0] == was[0] || d.SystemAccount() != account {
			t.Errorf("stopped at %d: signers %v of %s, want one other than %v of %s", at, got, d.SystemAccount(), was, account)
		}
		names, err := d.ListCreds("")
		if err != nil || cmp.Diff([]string{"doctor"}, names) != "" {
			t.Fatalf("stopped at %d: credentials %v (%v)", at, names, err)
		}
		path, err := d.Creds("", "doctor")
		if err != nil {
			t.Fatal(err)
		}
		if c := userOf(t, path); c.Issuer != got[0] {
			t.Errorf("stopped at %d: issuer %s, want %s", at, c.Issuer, got[0])
		}
		want := []string{"creds/doctor.creds", "keys/keys/O", "operator.jwt", "system.jwt"}
		if d := cmp.Diff(want, shape(tree(t, d.Path()))); d != "" {
			t.Errorf("stopped at %d: files (-want +got):\n%s", at, d)
		}
	}
	if stops < 5 || mints == 0 {
		t.Errorf("got %d stops and %d mints, want at least 5", stops, mints)
	}
}

func userOf(t *testing.T, path string) *jwt.UserClaims {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.ParseDecoratedJWT(data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := jwt.DecodeUserClaims(token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestIssued: a record is kept until its credential expires, whoever holds the lock.
func TestIssued(t *testing.T) {
	d := ensure(t, fresh(t))
	lock(t, ensure(t, d.Path()))
	public := userOf(t, filepath.Join(d.Path(), "creds", "doctor.creds")).Subject
	brief := trust.Issued{User: public, Account: "A", Issuer: "B", Profile: "p", Tags: []string{"x:y"},
		IssuedAt: start().Unix(), Expires: start().Add(time.Minute).Unix()}
	long := brief
	long.Expires = start().Add(time.Hour).Unix()
	for _, i := range []trust.Issued{long, brief} {
		if err := d.RecordIssued("main", i, start()); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		after time.Duration
		want  []trust.Issued
	}{
		{0, []trust.Issued{brief, long}},
		{time.Minute, []trust.Issued{brief, long}},
		{2 * time.Minute, []trust.Issued{long}},
		{2 * time.Hour, []trust.Issued{}},
	} {
		got, err := d.Issued("main", start().Add(tt.after))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("after %s (-want +got):\n%s", tt.after, d)
		}
	}
	later := long
	later.Expires = start().Add(3 * time.Hour).Unix()
	if err := d.RecordIssued("main", later, start().Add(30*time.Minute)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(d.Path(), "issued", "main", "*.json"))
	if err != nil || len(files) != 2 {
		t.Errorf("got %v (%v), want the records of what has not expired", files, err)
	}
	if err := d.RecordIssued("main", trust.Issued{User: "../x"}, start()); err == nil {
		t.Error("a record of no user was kept")
	}
	if err := os.WriteFile(files[0], []byte(`{"user":"U"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Issued("main", start()); err == nil {
		t.Error("a record of another user than its name says was read")
	}
}
