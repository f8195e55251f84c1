package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// creds makes a .creds file of a worker and returns it with its seed.
func creds(t *testing.T, c *contract.Contract, edit ...func(*jwt.UserClaims)) (data, seed []byte) {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	uc := user(t, c, "worker", worker(), edit...)
	uc.Subject = public
	if seed, err = key.Seed(); err != nil {
		t.Fatal(err)
	}
	if data, err = jwt.FormatUserConfig(string(signed(t, uc)), seed); err != nil {
		t.Fatal(err)
	}
	return data, seed
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func document(t *testing.T, c *contract.Contract, edit func(*compile.PermissionSet)) []byte {
	t.Helper()
	_, set := compiled(t, c, "worker", worker())
	edit(set)
	data, err := json.Marshal(set.Document())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func accountJWT(t *testing.T) []byte {
	t.Helper()
	key, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, jwt.NewAccountClaims(public))
}

// activationJWT lets one account import from another; it is no credential.
func activationJWT(t *testing.T) []byte {
	t.Helper()
	importer, err := newKey(t, nkeys.CreateAccount).PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	c := jwt.NewActivationClaims(importer)
	c.ImportSubject, c.ImportType = "a", jwt.Stream
	token, err := c.Encode(newKey(t, nkeys.CreateAccount))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(token)
}

func TestPaths(t *testing.T) {
	c, dir := testContract(t), t.TempDir()
	good, seed := creds(t, c)
	forger, _ := creds(t, c, func(uc *jwt.UserClaims) { uc.Pub.Allow[0] = "app.main.talk.*.dev.team" })
	write(t, filepath.Join(dir, "a/good.creds"), good)
	write(t, filepath.Join(dir, "a/forger.creds"), forger)
	write(t, filepath.Join(dir, "a/set.json"), document(t, c, func(*compile.PermissionSet) {}))
	write(t, filepath.Join(dir, "b/user.jwt"), signed(t, user(t, c, "writer", map[string]any{})))
	write(t, filepath.Join(dir, "b/account.jwt"), accountJWT(t))
	write(t, filepath.Join(dir, "b/key.nk"), seed)
	write(t, filepath.Join(dir, "b/image.png"), []byte{0x89, 'P', 0, 0xff})
	write(t, filepath.Join(dir, "b/huge.bin"), bytes.Repeat([]byte{0}, maxFile+10))
	write(t, filepath.Join(dir, "c/cut.creds"), good[:len(good)/2])
	write(t, filepath.Join(dir, "c/cut.jwt"), []byte("eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJ.x"))
	write(t, filepath.Join(dir, "c/two.creds"), append(good, forger...))
	write(t, filepath.Join(dir, "c/empty.creds"), nil)
	for link, to := range map[string]string{"c/loop": "..", "c/self": "self", "c/again.creds": "../a/good.creds"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Paths(Config{Contract: c, Now: now()}, []string{dir})
	if diff := cmp.Diff([]string{codeExcess, codeDefaults, codeLimits, "T101"}, codes(r)); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	if want := (Checked{Invariants: len(Checks()) + len(c.Invariants), Profiles: 2, Entries: r.Checked.Entries, Files: 5}); r.Checked != want || r.Skipped != 3 {
		t.Errorf("checked: got %+v and %d skipped, want %+v and 3", r.Checked, r.Skipped, want)
	}
	var probs contract.Problems
	if !errors.As(err, &probs) {
		t.Fatalf("problems: got %v", err)
	}
	var bad []string
	for _, p := range probs {
		name, _, _ := strings.Cut(strings.TrimPrefix(p.Error(), dir), ":")
		bad = append(bad, name)
	}
	if diff := cmp.Diff([]string{"/c/cut.creds", "/c/cut.jwt", "/c/empty.creds", "/c/self", "/c/two.creds"}, bad); diff != "" {
		t.Errorf("bad files (-want +got):\n%s", diff)
	}
	if out := rendered(t, r, err); strings.Contains(out, string(seed)) || strings.Contains(out, "eyJ0eXAi") {
		t.Error("a seed or JWT stands in the output")
	}
}

// TestNamedFiles: what a person names must be something; what a directory holds need not.
func TestNamedFiles(t *testing.T) {
	c, dir := testContract(t), t.TempDir()
	good, _ := creds(t, c)
	for _, tt := range []struct {
		name, want string
		data       []byte
	}{
		{"good.creds", "", good},
		{"note.txt", "is neither a credential nor a compiled set", []byte("hello")},
		{"activation.jwt", `holds a JWT of type "activation": is neither`, activationJWT(t)},
		{"set.json", "mode, got \"some\"", document(t, c, func(s *compile.PermissionSet) { s.Pub.Mode = "some" })},
		{"cut.json", "compiled set: is not readable JSON", document(t, c, func(*compile.PermissionSet) {})[:200]},
		{"two.json", "more than one JSON value", append(document(t, c, func(*compile.PermissionSet) {}), "{}"...)},
		{"huge.jwt", "is too large", bytes.Repeat([]byte("eyJ"), maxFile)},
		{"absent", "cannot be read: no such file or directory", nil},
	} {
		path := filepath.Join(dir, tt.name)
		if tt.name != "absent" {
			write(t, path, tt.data)
		}
		r, err := Paths(Config{Contract: c, Now: now()}, []string{path})
		switch {
		case tt.want == "" && (err != nil || r.Checked.Files != 1):
			t.Errorf("%s: got %v and %+v, want it judged", tt.name, err, r.Checked)
		case tt.want != "" && (r != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), path+": ")):
			t.Errorf("%s: got %v and %v, want %q and no report", tt.name, err, r, tt.want)
		}
	}
}

// TestNothingToAudit: where nothing was judged there is an error and no report, which would look clean.
func TestNothingToAudit(t *testing.T) {
	c, dir := testContract(t), t.TempDir()
	good, seed := creds(t, c)
	write(t, filepath.Join(dir, "keys/user.nk"), seed)
	write(t, filepath.Join(dir, "keys/readme"), []byte("keys\n"))
	write(t, filepath.Join(dir, "good/a.creds"), good)
	write(t, filepath.Join(dir, "bad/a.creds"), good[:len(good)/2])
	for _, path := range []string{"empty", "loop"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".", filepath.Join(dir, "loop/self")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		paths  []string
		want   string // of the error, "" for none
		judged int    // files; 0 is no report
	}{
		{[]string{"empty"}, "nothing to audit in DIR/empty, got 0 other files, want credentials or compiled sets", 0},
		{[]string{"keys"}, "nothing to audit in DIR/keys, got 2 other files, want credentials or compiled sets", 0},
		{[]string{"loop"}, "nothing to audit in DIR/loop, got 0 other files, want credentials or compiled sets", 0},
		{[]string{"bad"}, "DIR/bad/a.creds: ", 0},
		{nil, "nothing to audit, want a contract with profiles, credentials or compiled sets", 0},
		{[]string{"good", "keys"}, "nothing to audit in DIR/keys, got 2 other files, want credentials or compiled sets", 1},
		{[]string{"good", "bad"}, "DIR/bad/a.creds: ", 1},
		{[]string{"good"}, "", 1},
		{[]string{"good/a.creds", "good"}, "", 1},
		{[]string{"good", "good"}, "", 1},
	} {
		var paths []string
		for _, path := range tt.paths {
			paths = append(paths, filepath.Join(dir, path))
		}
		r, err := Paths(Config{Contract: c, Now: now()}, paths)
		switch got := strings.ReplaceAll(fmt.Sprint(err), dir, "DIR"); {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.HasPrefix(got, tt.want)):
			t.Errorf("%v: got %s, want %q", tt.paths, got, tt.want)
		case (r != nil) != (tt.judged > 0), r != nil && r.Checked.Files != tt.judged:
			t.Errorf("%v: report: got %+v, want %d files judged", tt.paths, r, tt.judged)
		case r != nil:
			var b bytes.Buffer
			if err := r.WriteText(&b); err != nil {
				t.Fatal(err)
			}
			if told := strings.HasSuffix(b.String(), "; 1 could not be judged\n"); told != (err != nil) {
				t.Errorf("%v: got %q, want the last line to tell of problems", tt.paths, b.String())
			}
		}
	}
}

// TestDocument: a compiled set is judged as the JWT that would carry it, and brings its rows.
func TestDocument(t *testing.T) {
	c := testContract(t)
	for _, tt := range []struct {
		name string
		edit func(*compile.PermissionSet)
		want []string
		rows []string
	}{
		{"as compiled", func(*compile.PermissionSet) {}, []string{}, nil},
		{"allow-all", func(s *compile.PermissionSet) { s.Sub = compile.List{Mode: compile.ModeAll} },
			[]string{codeAllowAll, codeInbox, codeRawRoot, "T103", "T104", "T112", "T113", "T120"}, []string{}},
		{"patterns without one", func(s *compile.PermissionSet) { s.Sub = compile.List{Mode: compile.ModePatterns} },
			[]string{codeAllowAll, codeInbox, codeRawRoot, "T103", "T104", "T112", "T113", "T120"}, []string{}},
		{"none", func(s *compile.PermissionSet) { s.Sub = compile.List{Mode: compile.ModeNone} }, []string{}, nil},
		{"two senders", func(s *compile.PermissionSet) { s.Pub.Allow[0].Pattern = "app.main.status.bob.dev" }, []string{"T101"}, []string{"STATUS"}},
		{"unknown profile", func(s *compile.PermissionSet) { s.Profile = "root" }, []string{codeUnjudged}, []string{}},
	} {
		r, err := Bytes(Config{Contract: c}, "set.json", document(t, c, tt.edit))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, codes(r)); diff != "" {
			t.Errorf("%s: codes (-want +got):\n%s", tt.name, diff)
		}
		if tt.rows != nil && !cmp.Equal(tt.rows, r.Findings[0].Rows) {
			t.Errorf("%s: rows: got %v, want %v", tt.name, r.Findings[0].Rows, tt.rows)
		}
	}
}

// TestDeterministic: the same files give the same bytes.
func TestDeterministic(t *testing.T) {
	c, dir := testContract(t), t.TempDir()
	for _, name := range []string{"x.jwt", "y.jwt", "z.jwt"} {
		write(t, filepath.Join(dir, name), signed(t, user(t, c, "worker", worker(), func(uc *jwt.UserClaims) { uc.Pub = jwt.Permission{} })))
	}
	var first string
	for n := range 10 {
		r, err := Paths(Config{Contract: c}, []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			first = b.String()
		} else if b.String() != first {
			t.Fatal("two runs differ")
		}
	}
}

// TestStdinBesideFilesOfItsName: a file that is called "-" or "stdin" is judged beside standard input, in either order.
func TestStdinBesideFilesOfItsName(t *testing.T) {
	c, dir := testContract(t), t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"-", "stdin"} {
		write(t, name, signed(t, user(t, c, "worker", worker())))
	}
	bad := signed(t, user(t, c, "worker", worker(), func(uc *jwt.UserClaims) { uc.Pub.Allow.Add("app.main.log.x") }))
	for _, paths := range [][]string{{"./-", "-"}, {"-", "./-"}, {"stdin", "-"}, {"-", "stdin"}, {"./stdin", "./-", "-"}} {
		r, err := Paths(Config{Contract: c, Now: now(), Stdin: bytes.NewReader(bad)}, paths)
		if err != nil {
			t.Fatal(err)
		}
		if r.Checked.Files != len(paths) || !slices.Contains(codes(r), "T102") {
			t.Errorf("%q: %d files, codes %v, want all judged and T102 of standard input", paths, r.Checked.Files, codes(r))
		}
	}
}
