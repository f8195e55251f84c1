package audit

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nkeys"
)

// seedText is a seed as nkeys writes it.
var seedText = regexp.MustCompile(`S[UAOXNC][A-Z2-7]{56}`)

// fuzzTime is far more than any input of the fuzzer's size takes.
const fuzzTime = 20 * time.Second

// audited judges a text and holds what comes of it to what holds for every input: an end, no panic, the same twice, and no
// secret of the input in any form of the output.
func audited(t *testing.T, cfg Config, name string, data []byte) *Report {
	t.Helper()
	start := time.Now()
	r, err := Bytes(cfg, name, data)
	if took := time.Since(start); took > fuzzTime {
		t.Fatalf("took %v for %d bytes", took, len(data))
	}
	if (r == nil) == (err == nil) {
		t.Fatalf("got report %v and error %v, want one", r, err)
	}
	again, errAgain := Bytes(cfg, name, data)
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
	return r
}

// rendered is all that a person or a program is shown.
func rendered(t *testing.T, r *Report, err error) string {
	t.Helper()
	var b bytes.Buffer
	if err != nil {
		b.WriteString(err.Error())
	}
	if r != nil {
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
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
			audited(t, cfg, name, data)
		}
	})
}

// FuzzJWT feeds the audit credentials: files, bare JWTs and compiled sets.
func FuzzJWT(f *testing.F) {
	c := testContract(f)
	cfg := Config{Contract: c, Now: now()}
	known := 0
	for _, profile := range []string{"worker", "server", "writer"} {
		uc := user(f, c, profile, values(profile))
		kp, _ := nkeys.CreateUser()
		seed, _ := kp.Seed()
		token := signed(f, uc)
		creds, err := jwt.FormatUserConfig(string(token), seed)
		if err != nil {
			f.Fatal(err)
		}
		for _, data := range [][]byte{token, creds} {
			if r, err := Bytes(cfg, "u.creds", data); err == nil && r.Checked.Files == 1 && r.Checked.Entries > 0 {
				known++
			}
			f.Add(data)
		}
	}
	for _, fx := range fixtures()[:20] {
		f.Add(signed(f, user(f, c, "worker", worker(), fx.edit)))
	}
	if known < 3 {
		f.Fatalf("%d known credentials are judged, want all", known)
	}
	op, _ := nkeys.CreateOperator()
	acc, _ := nkeys.CreateAccount()
	pub, _ := acc.PublicKey()
	claims := jwt.NewAccountClaims(pub)
	claims.Mappings = jwt.Mapping{"other": {{Subject: "a.x"}}}
	account, err := claims.Encode(op)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(account))
	f.Add([]byte(`{"schema":"cotalctl/permission-set/v1","profile":"worker","pub":{"mode":"patterns","allow":[{"entry":"a.>"}],"deny":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"u.creds", "stdin"} {
			audited(t, cfg, name, data)
		}
	})
}
