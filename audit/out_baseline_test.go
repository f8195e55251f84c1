package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// fleet writes credentials into a directory and audits them all.
func fleet(t *testing.T, c *contract.Contract, dir string, creds map[string]*jwt.UserClaims) *Report {
	t.Helper()
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(creds)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, signed(t, creds[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	r, err := Paths(Config{Contract: c, Now: now()}, paths)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// minted is a worker with a fault, each time with another key and inbox.
func minted(t *testing.T, c *contract.Contract, inbox string, edits ...func(*jwt.UserClaims)) *jwt.UserClaims {
	t.Helper()
	v := worker()
	v["conn"] = inbox
	return user(t, c, "worker", v, append([]func(*jwt.UserClaims){pubAllow("app.main.talk.bob.dev.ops"), subAllow("_INBOX.x.>")}, edits...)...)
}

func baselineText(t *testing.T, r *Report, file string) *Baseline {
	t.Helper()
	b, err := r.NewBaseline(file, Error)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := b.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadBaseline(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, got, cmp.AllowUnexported(Baseline{}, baselineEntry{})); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
	return got
}

// states renders a report: how many errors count, are known, and how many entries are stale.
func states(r *Report) string {
	known, stale := 0, 0
	for _, f := range r.Findings {
		if f.Baselined {
			known++
		}
		if f.Code == codeStale {
			stale++
		}
	}
	return fmt.Sprintf("%d errors, %d known, %d stale", r.Errors(), known, stale)
}

// TestBaselineLife: an existing fleet adopts the audit; what it was found with is known in another checkout, after minting anew and in
// another order; what is new fails; what is mended is said.
func TestBaselineLife(t *testing.T) {
	t.Parallel()
	c, dir := testContract(t), t.TempDir()
	anon := func(uc *jwt.UserClaims) { uc.Tags, uc.Name = nil, "" }
	creds := func(a, b string) map[string]*jwt.UserClaims {
		return map[string]*jwt.UserClaims{"team/a.jwt": minted(t, c, a), "b.jwt": minted(t, c, b, anon)}
	}
	first := fleet(t, c, dir, creds("nonce1", "nonce2"))
	total := first.Errors()
	if total < 6 {
		t.Fatalf("got %d errors, want some to know", total)
	}
	base := baselineText(t, first, filepath.Join(dir, "base.json"))
	if base.Len() != total {
		t.Errorf("the baseline has %d findings, want all %d", base.Len(), total)
	}
	first.Known(base)
	other := t.TempDir()
	elsewhere := *base
	elsewhere.dir = other
	for _, tt := range []struct {
		name  string
		base  *Baseline
		dir   string
		creds map[string]*jwt.UserClaims
		want  string
	}{
		{"the same", base, dir, creds("nonce1", "nonce2"), fmt.Sprintf("0 errors, %d known, 0 stale", total)},
		{"minted anew", base, dir, creds("nonce3", "nonce4"), fmt.Sprintf("0 errors, %d known, 0 stale", total)},
		{"another checkout", &elsewhere, other, creds("nonce3", "nonce4"), fmt.Sprintf("0 errors, %d known, 0 stale", total)},
		{"a new fault", base, dir, map[string]*jwt.UserClaims{"team/a.jwt": minted(t, c, "nonce5", pubAllow("$JS.API.>")), "b.jwt": creds("x", "nonce6")["b.jwt"]},
			fmt.Sprintf("7 errors, %d known, 0 stale", total)},
		{"a new credential with known faults", base, dir, map[string]*jwt.UserClaims{"team/c.jwt": minted(t, c, "nonce5"), "b.jwt": creds("x", "nonce6")["b.jwt"]}, ""},
		{"mended", base, dir, map[string]*jwt.UserClaims{"team/a.jwt": user(t, c, "worker", worker())}, ""},
	} {
		r := fleet(t, c, tt.dir, tt.creds)
		before := r.Errors()
		r.Known(tt.base)
		switch got := states(r); {
		case tt.want != "" && got != tt.want:
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
			for _, f := range r.Findings {
				if f.Counts() && f.Severity == Error {
					t.Logf("%+v", f.known(tt.base.dir))
				}
			}
		case tt.want == "" && tt.name == "mended" && (r.Errors() != 0 || !strings.Contains(got, "0 known") || strings.HasSuffix(got, " 0 stale")):
			t.Errorf("%s: got %s, want stale entries alone", tt.name, got)
		case tt.want == "" && tt.name != "mended" && (r.Errors() == 0 || r.Errors() >= before):
			t.Errorf("%s: got %s of %d errors, want those of the new one alone", tt.name, got, before)
		}
	}
	for _, f := range first.Findings {
		if f.Severity == Error && !f.Baselined {
			t.Errorf("%s of the report that the baseline was made of counts", f.Code)
		}
	}
}

// TestBaselineStale: an entry is stale where its file was judged or is gone, and not where the audit did not look.
func TestBaselineStale(t *testing.T) {
	t.Parallel()
	c, dir := testContract(t), t.TempDir()
	base := baselineText(t, fleet(t, c, dir, map[string]*jwt.UserClaims{"a.jwt": minted(t, c, "nonce1"), "b.jwt": minted(t, c, "nonce2")}), filepath.Join(dir, "base.json"))
	only := map[string]*jwt.UserClaims{"a.jwt": minted(t, c, "nonce3")}
	r := fleet(t, c, dir, only)
	r.Known(base)
	if got := states(r); !strings.HasSuffix(got, ", 0 stale") || r.Errors() != 0 {
		t.Errorf("b.jwt was not judged: got %s", got)
	}
	if err := os.Remove(filepath.Join(dir, "b.jwt")); err != nil {
		t.Fatal(err)
	}
	r = fleet(t, c, dir, only)
	r.Known(base)
	if got := states(r); strings.HasSuffix(got, ", 0 stale") {
		t.Errorf("b.jwt is gone: got %s", got)
	}
	text, err := os.ReadFile(base.file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, f := range r.Findings {
		if f.Code == codeStale && (f.File != base.file || !strings.Contains(lines[f.Line-1], `"file":"b.jwt"`) || f.Hint == "") {
			t.Errorf("not at its entry: %+v", f)
		}
	}
}

// TestBaselineCounts: findings that nothing tells apart are known as often as they were found.
func TestBaselineCounts(t *testing.T) {
	t.Parallel()
	f := Finding{Code: "A004", Severity: Error, Subject: "x", Entry: "$JS.API.>", Rows: []string{}}
	file := filepath.Join(t.TempDir(), "b.json")
	b := baselineText(t, &Report{Findings: []Finding{f, f}}, file)
	if b.Len() != 2 || len(b.entries) != 1 {
		t.Errorf("got %d findings in %d entries, want 2 in 1", b.Len(), len(b.entries))
	}
	r := &Report{Findings: []Finding{f, f, f}, whole: true}
	r.Known(b)
	if got := states(r); got != "1 errors, 2 known, 0 stale" {
		t.Errorf("one more: got %s", got)
	}
	r = &Report{Findings: []Finding{f}, whole: true}
	r.Known(b)
	if got := states(r); got != "0 errors, 1 known, 1 stale" {
		t.Errorf("one less: got %s", got)
	}
}

// TestBaselineGrowth: what became worse than it was known to be counts, what became less does not.
func TestBaselineGrowth(t *testing.T) {
	t.Parallel()
	denies := func(list ...subject.Pattern) func(*Finding) { return func(f *Finding) { f.denies = list } }
	reaches := func(list ...string) func(*Finding) { return func(f *Finding) { f.reach = list } }
	severe := func(severity string) func(*Finding) { return func(f *Finding) { f.Severity = severity } }
	same := func(*Finding) {}
	for _, tt := range []struct {
		name        string
		before, now func(*Finding)
		want        string
	}{
		{"the same", same, same, "0 errors, 1 known, 0 stale"},
		{"more severe", severe(Warning), same, "1 errors, 0 known, 1 stale"},
		{"less severe", same, severe(Warning), "0 errors, 1 known, 0 stale"},
		{"a deny less", denies("$KV.a.>"), same, "1 errors, 0 known, 1 stale"},
		{"a narrower deny", denies("$KV.a.>"), denies("$KV.a.b"), "1 errors, 0 known, 1 stale"},
		{"a deny more", denies("$KV.a.>"), denies("$KV.a.>", "$KV.b.>"), "0 errors, 1 known, 0 stale"},
		{"a wider deny", denies("$KV.a.>"), denies("$KV.>"), "0 errors, 1 known, 0 stale"},
		{"a deny in two parts", denies("$KV.a.>"), denies("$KV.a.*", "$KV.a.*.>"), "0 errors, 1 known, 0 stale"},
		{"a deny of another inbox", denies("_INBOX_nonce1.>"), denies("_INBOX_nonce2.>"), "1 errors, 0 known, 1 stale"},
		{"another store", reaches("status", "A"), reaches("status", "A", "B"), "1 errors, 0 known, 1 stale"},
		{"a store less", reaches("status", "A", "B"), reaches("status", "A"), "0 errors, 1 known, 0 stale"},
	} {
		f := func(edit func(*Finding)) Finding {
			f := Finding{Code: "A004", Severity: Error, Subject: "x", Entry: "$KV.>", Dir: dirPub, Rows: []string{}}
			edit(&f)
			return f
		}
		b, err := (&Report{Findings: []Finding{f(tt.before)}}).NewBaseline(filepath.Join(t.TempDir(), "b.json"), Warning)
		if err != nil {
			t.Fatal(err)
		}
		r := &Report{Findings: []Finding{f(tt.now)}, whole: true}
		r.Known(b)
		if got := states(r); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestBaselineLimits: what a baseline keeps of denies is that of the entry's own direction and queue, whoever minted it anew.
func TestBaselineLimits(t *testing.T) {
	t.Parallel()
	of := func(nonce string, deny ...string) []string {
		uc := minted(t, testContract(t), nonce)
		uc.Pub, uc.Sub = jwt.Permission{Allow: jwt.StringList{"$KV.>"}, Deny: deny}, jwt.Permission{Allow: jwt.StringList{"_INBOX_" + nonce + ".>"}, Deny: jwt.StringList{"$KV.x.>"}}
		r, err := Bytes(Config{Contract: testContract(t), Now: now()}, "u.jwt", signed(t, uc))
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Code == codeRawRoot && f.Dir == dirPub {
				return f.limits()
			}
		}
		t.Fatal("no finding on the entry")
		return nil
	}
	for _, tt := range []struct{ got, want []string }{
		{of("n1"), nil},
		{of("n1", "other.>"), nil},
		{of("n1", "$KV.a.>", "other"), []string{"$KV.a.>"}},
		{of("n1", "$KV.n1.>"), of("n2", "$KV.n2.>")},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestBaselineNever: what could not be judged is in no baseline, nor what is waived, nor a finding less severe than asked for.
func TestBaselineNever(t *testing.T) {
	t.Parallel()
	r := &Report{Findings: []Finding{
		{Code: codeUnjudged, Severity: Warning, Subject: "u"}, {Code: codeExpired, Severity: Error}, {Code: codeStale, Severity: Note},
		{Code: "A001", Severity: Error, Waived: &Waiver{}}, {Code: "A010", Severity: Warning}, {Code: "A100", Severity: Note}}}
	for severity, want := range map[string]int{Error: 0, Warning: 1, Note: 2} {
		b, err := r.NewBaseline("b.json", severity)
		if err != nil || b.Len() != want {
			t.Errorf("%s: got %d findings (%v), want %d", severity, b.Len(), err, want)
		}
	}
	b := &Baseline{entries: []baselineEntry{{known: r.Findings[0].known(""), Count: 1}}}
	r.Known(b)
	if r.Findings[slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == codeUnjudged })].Baselined {
		t.Error("what could not be judged is taken for known")
	}
}

// TestBaselineHoldsNoSecret: neither keys of users nor anything that looks like a seed is written.
func TestBaselineHoldsNoSecret(t *testing.T) {
	t.Parallel()
	seed := "SU" + strings.Repeat("A", 56)
	key := "U" + strings.Repeat("B", 55)
	f := Finding{Code: "A007", Severity: Error, Subject: key, Entry: "x." + seed + "." + key, Message: seed, File: seed + ".jwt", read: true, Rows: []string{}}
	b := baselineText(t, &Report{Findings: []Finding{f}}, filepath.Join(t.TempDir(), "b.json"))
	text, err := json.Marshal(b.entries)
	if err != nil || strings.Contains(string(text), seed) || strings.Contains(string(text), key) {
		t.Errorf("got %s (%v)", text, err)
	}
}

func TestBaselineRefused(t *testing.T) {
	t.Parallel()
	head := `{"schema":"cotalctl/baseline/v1","findings":[`
	entry := `{"code":"A004","file":"a","subject":"s","entry":"e","about":"","severity":"error"}`
	dir := t.TempDir()
	for i, tt := range []struct{ text, want string }{
		{"", "1:1: baseline: is not readable JSON"},
		{head, "baseline: is not readable JSON"},
		{head + "\n" + entry + ",\n  oops]}", "3:3: baseline: is not readable JSON"},
		{"not json", "1:2: baseline: is not readable JSON"},
		{`{}`, `schema, got "", want "cotalctl/baseline/v1"`},
		{`[]`, "1:1: baseline: json: cannot unmarshal array"},
		{`{"schema":"cotalctl/findings/v1","findings":[]}`, `schema, got "cotalctl/findings/v1"`},
		{`{"schema":"cotalctl/baseline/v2","findings":[]}`, `schema, got "cotalctl/baseline/v2"`},
		{`{"schema":"cotalctl/baseline/v1"}`, `missing key "findings"`},
		{`{"schema":"cotalctl/baseline/v1","findings":[],"more":1}`, `unknown field "more"`},
		{head + "\n " + `{"code":"A004","extra":1}]}`, `2:2: baseline: json: unknown field "extra"`},
		{head + entry + ",\n" + entry + "]}", "2:1: baseline: the entry stands twice, also at "},
		{head + "\n" + `{"code":"A004","file":"a","subject":"s","entry":"e","about":""}]}`, `2:1: baseline: entry, got severity "", want error, warning or note`},
		{head + "\n" + `{"code":"A013"}]}`, "2:1: baseline: entry of A013"},
		{head + "\n" + `{"code":""}]}`, `2:1: baseline: entry, got code ""`},
		{head + "\n" + `{"code":"A004","count":0}]}`, "count 0"},
		{head + `"A004"]}`, "cannot unmarshal string"},
		{head + `{"code":"A004","code":"A005"}]}`, "a key stands twice"},
		{head + `]} {}`, "is not readable JSON"},
		{head + "\n" + entry + ",\n{\"code\":\"A004\",\n\"code\":\"A005\"}]}", "4:6: baseline: is not readable JSON: a key stands twice"},
		{head + "\n{\"code\":\"A004\",\n\"count\":\"two\"}]}", "3:13: baseline: json: cannot unmarshal string"},
		{"{\"schema\":\"cotalctl/baseline/v1\",\n\"findings\":5}", "2:12: baseline: json: cannot unmarshal number"},
		{head + "\n" + `{"code":"A060","file":"","severity":"error"}]}`, "2:1: baseline: entry of A060, got no file, want the file"},
		{head + "\n" + `{"code":"Z999","file":"a","severity":"error"}]}`, `2:1: baseline: entry, got code "Z999", want the code of a rule`},
		{head + "\n" + `{"code":"A004","file":"a","subject":"s","entry":"e","dir":"up","about":"","severity":"error"}]}`, `2:1: baseline: entry, got dir "up", want pub, sub or none`},
	} {
		file := filepath.Join(dir, fmt.Sprintf("%d.json", i))
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadBaseline(file, Rules(nil)...)
		var p *contract.Problem
		if !errors.As(err, &p) || !strings.Contains(err.Error(), tt.want) || p.Pos.File != file || p.Pos.Line < 1 || p.Pos.Col < 1 || p.Hint == "" {
			t.Errorf("%s: got %v, want %q with a position", tt.text, err, tt.want)
		}
	}
	none := filepath.Join(dir, "none.json")
	var p *contract.Problem
	if _, err := ReadBaseline(none); !errors.As(err, &p) || p.Hint != "--write-baseline "+none+" makes one" {
		t.Errorf("a baseline that is not there: got %v", err)
	}
	ok := filepath.Join(dir, "ok.json")
	if err := os.WriteFile(ok, []byte(head+entry+"]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadBaseline(ok); err != nil || b.Len() != 1 {
		t.Errorf("positive control: %v", err)
	}
}
