package audit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
)

// seedText is a seed as nkeys writes it.
var seedText = regexp.MustCompile(`S[UAOXNC][A-Z2-7]{56}`)

// fuzzTime is far more than any input of the fuzzer's size takes.
const fuzzTime = 20 * time.Second

// audited judges a text and holds what comes of it to what holds for every input: an end, no panic, the same twice, and no
// secret of the input, or of what stands within it, in any form of the output.
func audited(t *testing.T, data []byte, run func() (*Report, error)) {
	t.Helper()
	start := time.Now()
	r, err := run()
	if took := time.Since(start); took > fuzzTime {
		t.Fatalf("took %v for %d bytes", took, len(data))
	}
	if (r == nil) == (err == nil) {
		t.Fatalf("got report %v and error %v, want one", r, err)
	}
	again, errAgain := run()
	out, outAgain := rendered(t, r, err), rendered(t, again, errAgain)
	if diff := cmp.Diff(out, outAgain); diff != "" {
		t.Fatalf("not the same twice:\n%s", diff)
	}
	for _, seed := range seedText.FindAllString(string(data), -1) {
		if strings.Contains(out, seed) {
			t.Fatalf("a seed of the input stands in the output:\n%s", out)
		}
	}
	for _, secret := range fuzzPasswords(data) {
		if strings.Contains(out, secret) {
			t.Fatalf("the password %q of the input stands in the output:\n%s", secret, out)
		}
	}
	if r != nil && len(r.Findings) > 1000+200*len(data) {
		t.Fatalf("%d findings of %d bytes", len(r.Findings), len(data))
	}
}

// rendered is all that a person or a program is shown.
func rendered(t *testing.T, r *Report, err error) string {
	t.Helper()
	var b bytes.Buffer
	if err != nil {
		b.WriteString(err.Error())
	}
	if r == nil {
		return b.String()
	}
	for _, o := range []Render{{}, {Notes: true}, {Format: FormatJSON}, {Format: FormatSARIF, Notes: true}, {Format: FormatJUnit, FailOn: Note}} {
		if err := r.Write(&b, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.WriteDeputies(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRenderedIsWhole: what the tests on leaks look through holds the notes, in every form.
func TestRenderedIsWhole(t *testing.T) {
	t.Parallel()
	r := &Report{Schema: Schema, Checked: Checked{Files: 1}, Findings: []Finding{
		{Code: codeHalf, Severity: Note, Subject: "k", Message: "to be seen"},
		{Code: codeResidual, Severity: Note, Subject: "k", Rows: []string{"ROW"}, Message: "seen too", residuals: []string{"ID"}},
	}, residuals: map[string]string{"ID": "ID: seen too"}}
	out := rendered(t, r, nil)
	for _, text := range []string{"to be seen", "seen too"} {
		if n := strings.Count(out, text); n < 4 {
			t.Errorf("%q stands %d times in the output, want it in text, JSON, SARIF and JUnit:\n%s", text, n, out)
		}
	}
}

// fuzzPasswords are the long values of password keys, read without this package.
func fuzzPasswords(data []byte) (out []string) {
	defer func() { _ = recover() }() // the parser panics on some texts
	if includeWord.Match(data) {
		return nil
	}
	m, err := conf.Parse(string(data))
	if err != nil {
		return nil
	}
	left := 10000
	var walk func(v any, key string, depth int)
	walk = func(v any, key string, depth int) {
		if left--; left < 0 || depth > maxNesting {
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				walk(e, strings.ToLower(k), depth+1)
			}
		case []any:
			for _, e := range v {
				walk(e, key, depth+1)
			}
		case string:
			if (key == "password" || key == "pass" || key == "token") && len(v) >= 8 && strings.ContainsAny(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") {
				out = append(out, v)
			}
		}
	}
	walk(m, "", 0)
	return out
}

// FuzzConfig feeds the audit texts as server configurations.
func FuzzConfig(f *testing.F) {
	seeds := 0
	for _, fx := range confFixtures() {
		f.Add([]byte(fx.text))
		seeds++
	}
	for _, text := range liveConfs {
		f.Add([]byte(text))
	}
	kp, _ := nkeys.CreateUser()
	seed, _ := kp.Seed()
	f.Add([]byte("authorization { users: [{user: u, password: \"Hidden-Pa55word\", permissions: {publish: \"" + string(seed) + "\"}}] }\n"))
	f.Add([]byte("authorization { token: \"Hidden-Pa55word\" }\nleafnodes { remotes: [{url: \"nats://u:Hidden-Pa55word@h:1\"}] }\n"))
	f.Add([]byte("include 'x'\nauthorization {}\n}}]]"))
	if seeds < 50 {
		f.Fatalf("%d seeds", seeds)
	}
	cfg := Config{Contract: testContract(f), Now: now(), ControlLine: 5000}
	for _, text := range []string{liveConfs[0], liveConfs[8], confFixtures()[0].text} {
		if r, err := Bytes(cfg, "server.conf", []byte(text)); err != nil || len(r.Findings) == 0 {
			f.Fatalf("a known configuration gives %v and no finding, want some", err)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"server.conf", "stdin"} {
			audited(t, data, func() (*Report, error) { return Bytes(cfg, name, data) })
		}
	})
}

// FuzzJWT feeds the audit credentials: files, bare JWTs, compiled sets, and the claims of a JWT.
func FuzzJWT(f *testing.F) {
	c := testContract(f)
	cfg := Config{Contract: c, Now: now()}
	issuer, _ := nkeys.CreateAccount()
	holder, _ := nkeys.CreateUser()
	public, _ := holder.PublicKey()
	seed, _ := holder.Seed()
	known := 0
	for _, profile := range []string{"worker", "server", "writer", "scanner"} {
		uc := user(f, c, profile, values(profile))
		uc.Subject = public
		token, err := uc.Encode(issuer)
		if err != nil {
			f.Fatal(err)
		}
		creds, err := jwt.FormatUserConfig(token, seed)
		if err != nil {
			f.Fatal(err)
		}
		for _, data := range [][]byte{[]byte(token), creds} {
			if r, err := Bytes(cfg, "u.creds", data); err == nil && r.Checked.Files == 1 && r.Checked.Entries > 0 && r.Errors() == 0 {
				known++
			}
			f.Add(data)
		}
	}
	if known != 8 {
		f.Fatalf("%d known credentials are judged without an error, want 8", known)
	}
	found := 0
	for _, fx := range fixtures() {
		token := signed(f, user(f, c, "worker", worker(), fx.edit))
		claims, err := base64.RawURLEncoding.DecodeString(strings.Split(string(token), ".")[1])
		if err != nil {
			f.Fatal(err)
		}
		if r, err := judgedClaims(cfg, claims); err == nil && len(r.Findings) > 0 {
			found++
		}
		f.Add(claims)
	}
	if found < 30 {
		f.Fatalf("%d signed claims have findings, want those of the fixtures", found)
	}
	leaky := user(f, c, "worker", worker(), pubAllow(string(seed)+".x", "x"+string(seed)), func(uc *jwt.UserClaims) { uc.Name = string(seed) })
	claims, _ := base64.RawURLEncoding.DecodeString(strings.Split(string(signed(f, leaky)), ".")[1])
	f.Add(claims)
	account := jwt.NewAccountClaims(must(issuer.PublicKey())(f))
	account.Mappings = jwt.Mapping{"other": {{Subject: "a.x"}}}
	f.Add(signed(f, account))
	set, err := json.Marshal(map[string]any{"schema": compile.DocumentSchema, "contract": c.Name, "profile": "worker", "space": "main", "topology": "one", "account": "main",
		"pub": map[string]any{"mode": "patterns", "allow": []any{map[string]any{"pattern": "a.>", "rows": []string{"POST"}}}, "deny": []any{}},
		"sub": map[string]any{"mode": "none"}})
	if err != nil {
		f.Fatal(err)
	}
	if r, err := Bytes(cfg, "set.json", set); err != nil || len(r.Findings) == 0 {
		f.Fatalf("a known set gives %v and no finding", err)
	}
	f.Add(set)
	f.Fuzz(func(t *testing.T, data []byte) {
		audited(t, data, func() (*Report, error) { return Bytes(cfg, "stdin", data) })
		if json.Unmarshal(data, &jwt.UserClaims{}) == nil {
			audited(t, data, func() (*Report, error) { return judgedClaims(cfg, data) })
		}
	})
}

// judgedClaims judges the claims of a user JWT as if it were signed: a fuzzer that had to sign would learn about signatures alone.
func judgedClaims(cfg Config, claims []byte) (*Report, error) {
	a, err := newAuditor(cfg)
	if err != nil {
		return nil, err
	}
	uc := &jwt.UserClaims{}
	if err := json.Unmarshal(claims, uc); err != nil {
		return nil, err
	}
	p := a.userPrincipal(uc, "u.jwt")
	a.out.Checked.Files++
	a.join(p)
	a.judge(p)
	return a.done()
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
