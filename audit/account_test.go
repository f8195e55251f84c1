package audit

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// house is an operator with one account and one user, each of which a test may change before it is signed.
type house struct {
	operatorKey, accountKey, signerKey nkeys.KeyPair
	operator                           *jwt.OperatorClaims
	account                            *jwt.AccountClaims
	scope                              *jwt.UserScope // of signerKey, where a test asks for one
	user                               *jwt.UserClaims
	userSigner                         nkeys.KeyPair // signerKey, unless a test says otherwise
	accountSigner                      nkeys.KeyPair // operatorKey, unless a test says otherwise
	raw                                map[string]func(map[string]any)
}

func public(t testing.TB, key nkeys.KeyPair) string {
	t.Helper()
	out, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{operatorKey: newKey(t, nkeys.CreateOperator), accountKey: newKey(t, nkeys.CreateAccount), signerKey: newKey(t, nkeys.CreateAccount)}
	h.userSigner, h.accountSigner = h.signerKey, h.operatorKey
	none := jwt.Permission{Deny: jwt.StringList{">"}}
	system := public(t, newKey(t, nkeys.CreateAccount))
	h.operator = jwt.NewOperatorClaims(public(t, h.operatorKey))
	h.operator.Name, h.operator.SystemAccount = "op", system
	h.account = jwt.NewAccountClaims(public(t, h.accountKey))
	h.account.Name, h.account.DefaultPermissions = "main", jwt.Permissions{Pub: none, Sub: none}
	h.account.Limits.LeafNodeConn, h.account.Limits.DisallowBearer = 0, true
	h.account.SigningKeys.Add(public(t, h.signerKey))
	h.user = jwt.NewUserClaims(public(t, newKey(t, nkeys.CreateUser)))
	h.user.Name, h.user.IssuerAccount, h.user.Expires = "u", h.account.Subject, time.Now().Add(time.Hour).Unix()
	h.user.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard}
	h.user.Pub.Allow, h.user.Sub.Allow = jwt.StringList{"app.own"}, jwt.StringList{"app.in"}
	h.raw = map[string]func(map[string]any){}
	return h
}

// scoped makes the signing key a scoped one, and the user one of it.
func (h *house) scoped(t testing.TB, pub ...string) *jwt.UserScope {
	h.scope = jwt.NewUserScope()
	h.scope.Key, h.scope.Role = public(t, h.signerKey), "role"
	h.scope.Template.Pub.Allow, h.scope.Template.Sub.Allow = pub, jwt.StringList{"app.in"}
	h.scope.Template.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard}
	h.account.SigningKeys.AddScopedSigner(h.scope)
	h.user.SetScoped(true)
	return h.scope
}

// files are the JWTs of the house, by what they are.
func (h *house) files(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, f := range []struct {
		name string
		c    jwt.Claims
		key  nkeys.KeyPair
	}{{"operator", h.operator, h.operatorKey}, {"account", h.account, h.accountSigner}, {"user", h.user, h.userSigner}} {
		token, err := f.c.Encode(f.key)
		if err != nil {
			t.Fatal(err)
		}
		if edit := h.raw[f.name]; edit != nil {
			token = rewritten(t, token, f.key, edit)
		}
		out[f.name] = []byte(token)
	}
	return out
}

// rewritten signs a JWT again with claims that jwt/v2 would not write.
func rewritten(t testing.TB, token string, key nkeys.KeyPair, edit func(map[string]any)) string {
	t.Helper()
	parts := strings.Split(token, ".")
	var claims map[string]any
	if err := json.Unmarshal(payload(token), &claims); err != nil {
		t.Fatal(err)
	}
	edit(claims)
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(body)
	sig, err := key.Sign([]byte(signed))
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(sig)
}

func inNats(edit func(map[string]any)) func(map[string]any) {
	return func(claims map[string]any) { edit(claims["nats"].(map[string]any)) }
}

// sharing is the test contract with a second account, from which the first exports.
func sharing(t *testing.T) *contract.Contract {
	c := testContract(t)
	c.Topologies[0].Accounts = []string{"main", "back"}
	c.Rows = append(c.Rows, &contract.Row{ID: "SHARE", Pos: contract.Pos{File: "rows.yaml", Line: 12, Col: 1}, Cite: "§SHARE",
		Op: contract.Op{Kind: contract.OpShare, Subject: tmpl(t, "{P}.shared.>"), From: "main", To: []string{"back"}, Type: "stream"}})
	return c
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	c := sharing(t)
	fired, passed := map[string]bool{codeOtherJWT: true}, map[string]bool{codeOtherJWT: true} // TestBadJWTs
	for _, tt := range accountCases() {
		h := newHouse(t)
		tt.edit(t, h)
		cfg := Config{Now: now()}
		if tt.contract {
			cfg.Contract = c
		}
		dir := t.TempDir()
		for name, data := range h.files(t) {
			write(t, filepath.Join(dir, name+".jwt"), data)
		}
		r, err := Paths(cfg, []string{dir})
		if err != nil {
			t.Fatalf("%s %s: %v", tt.code, tt.name, err)
		}
		var got []string
		for _, f := range r.Findings {
			if f.Code == tt.code {
				got = append(got, f.Severity+":"+f.Witness)
				if f.Message == "" || f.Cite == "" || !strings.HasPrefix(f.File, dir) || f.Subject == "" {
					t.Errorf("%s %s: incomplete finding %+v", tt.code, tt.name, f)
				}
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.code, tt.name, diff)
		}
		if len(tt.want) > 0 {
			fired[tt.code] = true
		} else {
			passed[tt.code] = true
		}
		if r.Checked.Files != 3 {
			t.Errorf("%s %s: files, got %d, want 3", tt.code, tt.name, r.Checked.Files)
		}
	}
	for _, check := range accountChecks() {
		if !fired[check.Code] || !passed[check.Code] {
			t.Errorf("%s: fires %t, passes %t, want both", check.Code, fired[check.Code], passed[check.Code])
		}
	}
}

// TestAccountOrder: the order of files decides nothing, and the system account is known wherever it stands.
func TestAccountOrder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scoped(t, "app.{{tag(x)}}")
	h.user.Tags = jwt.TagList{"x:*"}
	h.operator.SystemAccount = h.account.Subject
	files := h.files(t)
	var first string
	for n, order := range [][]string{{"operator", "account", "user"}, {"user", "account", "operator"}, {"account", "user", "operator"}} {
		dir := t.TempDir()
		for at, name := range order {
			write(t, filepath.Join(dir, fmt.Sprint(at)+".jwt"), files[name])
		}
		r, err := Paths(Config{Now: now()}, []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Findings {
			got = append(got, f.Code+" "+f.Severity+" "+f.Subject+" "+f.Entry+" "+f.Message)
		}
		slices.Sort(got)
		if text := strings.Join(got, "\n"); n == 0 {
			first = text
		} else if text != first {
			t.Errorf("%v: got\n%s\nwant\n%s", order, text, first)
		}
	}
	a, err := newAuditor(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range files {
		a.trust.learn("x.jwt", data)
	}
	list, err := a.principals("user.jwt", files["user"])
	if err != nil || !a.joinAccount(list[0]) || !list[0].System {
		t.Errorf("system user: got %v and %v, want it known", err, list)
	}
}

// TestProvisioned: users are joined to what this tool keeps, which is not judged itself; an account that none of its operators signed is
// none of it, and nothing is said to be as provisioning makes it where it is another JWT.
func TestProvisioned(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		edit  func(h *house)
		files []string
		want  []string
	}{
		{"joined", func(*house) {}, []string{"user"}, nil},
		{"a mapping of the account", func(h *house) {
			h.account.Mappings = jwt.Mapping{"other": {{Subject: "app.own", Weight: 100}}}
		}, []string{"user"}, []string{"A040 app.own other"}},
		{"an account of nobody", func(h *house) { h.accountSigner = newKey(t, nkeys.CreateOperator) }, []string{"user"}, []string{"A053  "}},
		{"judged too", func(*house) {}, []string{"account", "user"}, []string{"A046  made"}},
	} {
		h := newHouse(t)
		tt.edit(h)
		files, dir := h.files(t), t.TempDir()
		for _, name := range tt.files {
			write(t, filepath.Join(dir, name+".jwt"), files[name])
		}
		r, err := Paths(Config{Now: now(), Provisioned: []string{string(files["account"]), string(files["operator"]) + "\n"}}, []string{dir})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got []string
		for _, f := range r.Findings {
			if strings.Contains(f.Message, "as provisioning makes it") {
				f.Witness = "made"
			}
			if f.Code >= "A040" {
				got = append(got, f.Code+" "+f.Entry+" "+f.Witness)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if r.Checked.Files != len(tt.files) {
			t.Errorf("%s: %d files, want %d", tt.name, r.Checked.Files, len(tt.files))
		}
	}
}

// sign1 signs claims over the claims alone, with the header of the first version.
func sign1(t testing.TB, claims map[string]any, key nkeys.KeyPair) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	sig, err := key.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(`{"typ":"jwt","alg":"ed25519"}`)) + "." + text + "." + base64.RawURLEncoding.EncodeToString(sig)
}
