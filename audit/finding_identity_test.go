package audit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
)

// judged audits files given as texts below a directory.
func judgedFiles(t *testing.T, cfg Config, dir string, files map[string]string) *Report {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Paths(cfg, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const hashed = "$2a$11$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func confOf(perms string) string {
	return "authorization { users = [ { user: bob, password: \"" + hashed + "\", permissions: { " + perms + " } } ] }\n"
}

// TestBaselineTellsDirections: what a baseline knows to be published is new where it is subscribed, and the other way round.
func TestBaselineTellsDirections(t *testing.T) {
	t.Parallel()
	both := confOf(`publish: ["$KV.>"], subscribe: ["$KV.>"]`)
	for known, dir := range map[string]string{confOf(`publish: ["$KV.>"], subscribe: ["x"]`): "sub", confOf(`publish: ["x"], subscribe: ["$KV.>"]`): "pub"} {
		root := t.TempDir()
		first := judgedFiles(t, Config{}, filepath.Join(root, "f"), map[string]string{"s.conf": known})
		base := baselineText(t, first, filepath.Join(root, "base.json"))
		first.Known(base)
		if first.Errors() != 0 || base.Len() == 0 {
			t.Fatalf("positive control: %d errors, %d known", first.Errors(), base.Len())
		}
		r := judgedFiles(t, Config{}, filepath.Join(root, "f"), map[string]string{"s.conf": both})
		r.Known(base)
		fingerprints, found := map[string]bool{}, 0
		for _, f := range r.Findings {
			if f.Entry != "$KV.>" || f.Severity != Error {
				continue
			}
			found++
			fingerprints[f.fingerprint("")] = true
			if f.Counts() != (f.Dir == dir) {
				t.Errorf("%s %s: counts %t, want the added %s alone", f.Code, f.Dir, f.Counts(), dir)
			}
		}
		if found < 2 || len(fingerprints) != found {
			t.Errorf("got %d findings and %d fingerprints, want one of each direction", found, len(fingerprints))
		}
	}
}

// TestBaselineTellsFiles: the defect of one configuration is not known in another, nor that of an included one.
func TestBaselineTellsFiles(t *testing.T) {
	t.Parallel()
	bad, good := confOf(`publish: ["$JS.API.>"], subscribe: ["x"]`), confOf(`publish: ["x"], subscribe: ["x"]`)
	root := t.TempDir()
	dir := filepath.Join(root, "f")
	base := baselineText(t, judgedFiles(t, Config{}, dir, map[string]string{"eu/server.conf": bad, "us/server.conf": good}), filepath.Join(root, "base.json"))
	for _, e := range base.entries {
		if e.File != "f/eu/server.conf" {
			t.Errorf("got %+v, want it in its file", e)
		}
	}
	r := judgedFiles(t, Config{}, dir, map[string]string{"eu/server.conf": good, "us/server.conf": bad})
	r.Known(base)
	if got := states(r); base.Len() == 0 || r.Errors() == 0 || strings.HasSuffix(got, " 0 stale") {
		t.Errorf("moved: got %s", got)
	}
	inc := judgedFiles(t, Config{}, filepath.Join(root, "g"), map[string]string{"a.conf": "include inc/users.conf\nport: 1\n", "b.conf": "include inc/users.conf\nport: 2\n", "inc/users.conf": bad})
	seen := map[string]bool{}
	for _, f := range inc.Findings {
		if filepath.Base(f.File) != "users.conf" {
			continue
		}
		key := strings.Join([]string{f.Code, f.Subject, f.Entry, f.Dir, f.Message}, " ")
		if seen[key] || !f.read {
			t.Errorf("%s at %s: twice or without its file", f.Code, f.File)
		}
		seen[key] = true
	}
	if len(seen) == 0 {
		t.Error("nothing found in the included file")
	}
}

// TestAccountStandsInItsFile: findings of account and operator JWTs are known by their file too.
func TestAccountStandsInItsFile(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.account.Limits.DisallowBearer = false
	token, err := h.account.Encode(h.operatorKey)
	if err != nil {
		t.Fatal(err)
	}
	r := judgedFiles(t, Config{Now: now()}, t.TempDir(), map[string]string{"acc.jwt": token, "copy.jwt": token})
	for _, f := range r.Findings {
		if f.known("").File == "" {
			t.Errorf("%s has no file", f.Code)
		}
		if f.Code == codeLimits && (filepath.Base(f.File) != "acc.jwt" || len(f.Also) != 1) {
			t.Errorf("%s: got %s, also %v, want both files once", f.Code, f.File, f.Also)
		}
	}
	if len(r.Findings) == 0 {
		t.Error("nothing found")
	}
}

// TestOneJWTInTwoFiles: a user's JWT that a store keeps beside its .creds file is judged once, and both are named.
func TestOneJWTInTwoFiles(t *testing.T) {
	t.Parallel()
	c := testContract(t)
	text := string(signed(t, minted(t, c, "nonce1")))
	one := judgedFiles(t, Config{Contract: c, Now: now()}, t.TempDir(), map[string]string{"a.jwt": text})
	two := judgedFiles(t, Config{Contract: c, Now: now()}, t.TempDir(), map[string]string{"a.jwt": text, "store/b.jwt": text})
	if one.Errors() == 0 || one.Errors() != two.Errors() || len(one.Findings) != len(two.Findings) || one.Checked.Entries != two.Checked.Entries || two.Checked.Files != 2 {
		t.Errorf("got %+v and %d errors, want %+v and %d", two.Checked, two.Errors(), one.Checked, one.Errors())
	}
	for _, f := range two.Findings {
		if f.Severity == Error && (filepath.Base(f.File) != "a.jwt" || len(f.Also) != 1 || filepath.Base(f.Also[0]) != "b.jwt") {
			t.Errorf("%s: got %s, also %v", f.Code, f.File, f.Also)
		}
	}
}

// TestHoldersAreNamed: credentials that are all called as their profile are told apart; a name that is an inbox prefix stays one.
func TestHoldersAreNamed(t *testing.T) {
	t.Parallel()
	c := testContract(t)
	uc := minted(t, c, "nonce1", func(uc *jwt.UserClaims) { uc.Name = "worker" })
	r := judgedFiles(t, Config{Contract: c, Now: now()}, t.TempDir(), map[string]string{"a.jwt": string(signed(t, uc))})
	at := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Severity == Error })
	if at < 0 || r.Findings[at].Subject != "worker alice.dev" {
		t.Errorf("got %+v, want worker alice.dev", r.Findings)
	}
	f := Finding{Code: "A004", Subject: "alice", identity: "alice", nonce: "alice", Entry: "_INBOX_alice.>", read: true, File: "a"}
	if k := f.known(""); k.Subject != "alice" || k.Entry != "_INBOX_{inbox}.>" {
		t.Errorf("got %+v", k)
	}
}

// TestInvariantsOfTheTopology: only invariants that hold in the judged topology are counted.
func TestInvariantsOfTheTopology(t *testing.T) {
	t.Parallel()
	c := testContract(t)
	a, err := newAuditor(Config{Contract: c})
	if err != nil {
		t.Fatal(err)
	}
	all := a.out.Checked.Invariants
	c.Invariants[0].Topologies = []string{"other"}
	if a, err = newAuditor(Config{Contract: c}); err != nil || a.out.Checked.Invariants != all-1 {
		t.Errorf("got %d (%v), want one less than %d", a.out.Checked.Invariants, err, all)
	}
}

// TestGrantsThatDoNotResolve: what a row gives is unknown, so that it confers everything, and the audit says that it failed.
func TestGrantsThatDoNotResolve(t *testing.T) {
	t.Parallel()
	a, err := newAuditor(Config{Contract: testContract(t)})
	if err != nil {
		t.Fatal(err)
	}
	p := &Principal{sampled: func() ([]compile.Grant, bool) { return nil, false }}
	if !p.confers("ROW", "ack") {
		t.Error("fails open")
	}
	p = &Principal{sampled: func() ([]compile.Grant, bool) { return nil, true }}
	if p.confers("ROW", "ack") {
		t.Error("positive control: no grant confers nothing")
	}
	a.cfg.Contract.Rows = append(a.cfg.Contract.Rows, nil)
	if a.nextFile(); len(a.seen)+len(a.noted)+len(a.forbids) != 0 {
		t.Error("something of the last file is left")
	}
}
