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

func nats(edit func(map[string]any)) func(map[string]any) {
	return func(claims map[string]any) { edit(claims["nats"].(map[string]any)) }
}

// accountCase is a house that one code is about: severity:witness of each of its findings.
type accountCase struct {
	code, name string
	contract   bool
	edit       func(*testing.T, *house)
	want       []string // "severity:witness" of the code's findings, in their order; none: it passes
}

func exports(list ...*jwt.Export) func(*testing.T, *house) {
	return func(_ *testing.T, h *house) { h.account.Exports = list }
}

func imports(edit func(*jwt.Import)) func(*testing.T, *house) {
	return func(t *testing.T, h *house) {
		other := newKey(t, nkeys.CreateAccount)
		act := jwt.NewActivationClaims(h.account.Subject)
		act.ImportSubject, act.ImportType = "app.feed.>", jwt.Stream
		token, err := act.Encode(other)
		if err != nil {
			t.Fatal(err)
		}
		in := &jwt.Import{Account: public(t, other), Subject: "app.feed.>", Type: jwt.Stream, Token: token}
		edit(in)
		h.account.Imports = jwt.Imports{in}
	}
}

func nothing(*testing.T, *house) {}

func accountCases() []accountCase {
	mapping := func(src, dest jwt.Subject) func(*testing.T, *house) {
		return func(_ *testing.T, h *house) { h.account.Mappings = jwt.Mapping{src: {{Subject: dest}}} }
	}
	scoped := func(tags []string, entries ...string) func(*testing.T, *house) {
		return func(t *testing.T, h *house) { h.scoped(t, entries...); h.user.Tags = tags }
	}
	return []accountCase{
		{codeMapping, "used by the user", false, mapping("other.*", "app.$1"), []string{"error:other.own", "warning:other.any"}},
		{codeMapping, "used by nobody given", false, mapping("other.x", "app.else"), []string{"warning:other.x"}},
		{codeMapping, "onto a bucket", false, mapping("other.x", "$KV.b.x"), []string{"error:other.x"}},
		{codeMapping, "onto what is not known", false, mapping("other.*", "app.{{partition(2,1)}}"), []string{"warning:other.any"}},
		{codeMapping, "with a contract", true, mapping("other.x", "app.else"), []string{"error:other.x"}},
		{codeMapping, "none", false, nothing, nil},

		{codeExport, "public stream", false, exports(&jwt.Export{Subject: "app.feed.>", Type: jwt.Stream}), []string{"error:app.feed.rest"}},
		{codeExport, "public service", false, exports(&jwt.Export{Subject: "app.ask", Type: jwt.Service}), []string{"error:app.ask"}},
		{codeExport, "raw API", false, exports(&jwt.Export{Subject: "$JS.API.>", Type: jwt.Service, TokenReq: true}), []string{"error:$JS.API.rest"}},
		{codeExport, "latency into a bucket", false, exports(&jwt.Export{Subject: "app.ask", Type: jwt.Service, TokenReq: true,
			Latency: &jwt.ServiceLatency{Sampling: 50, Results: "$KV.b.k"}}), []string{"error:$KV.b.k"}},
		{codeExport, "latency, traces and many answers", false, exports(&jwt.Export{Subject: "app.ask", Type: jwt.Service, TokenReq: true, AllowTrace: true,
			ResponseType: jwt.ResponseTypeStream, Latency: &jwt.ServiceLatency{Sampling: 50, Results: "lat.x"}}), []string{"note:", "note:", "note:lat.x"}},
		{codeExport, "confined by its token", false, exports(&jwt.Export{Subject: "app.*.x", Type: jwt.Stream, AccountTokenPosition: 2}), []string{"note:app.any.x"}},
		{codeExport, "no share row", true, exports(&jwt.Export{Subject: "app.main.feed", Type: jwt.Stream, TokenReq: true}), []string{"error:app.main.feed"}},
		{codeExport, "a share row made public", true, exports(&jwt.Export{Subject: "app.main.shared.>", Type: jwt.Stream}), []string{"error:app.main.shared.rest"}},
		{codeExport, "a share row", true, exports(&jwt.Export{Subject: "app.main.shared.>", Type: jwt.Stream, TokenReq: true}), nil},
		{codeExport, "private", false, exports(&jwt.Export{Subject: "app.feed.>", Type: jwt.Stream, TokenReq: true}), nil},

		{codeImport, "onto a bucket", false, imports(func(in *jwt.Import) { in.LocalSubject = "$KV.b.>" }), []string{"error:$KV.b.rest"}},
		{codeImport, "prefixed onto inboxes", false, imports(func(in *jwt.Import) { in.To = "_INBOX" }), []string{"error:_INBOX.app.feed.rest"}},
		{codeImport, "token for another subject", false, imports(func(in *jwt.Import) { in.Subject = "app.else.>" }), []string{"error:"}},
		{codeImport, "token that is none", false, imports(func(in *jwt.Import) { in.Token = "x" }), []string{"error:"}},
		{codeImport, "no share row", true, imports(func(*jwt.Import) {}), []string{"error:app.feed.rest"}},
		{codeImport, "private stream", false, imports(func(*jwt.Import) {}), nil},

		{codeDefaults, "absent", false, func(_ *testing.T, h *house) { h.account.DefaultPermissions = jwt.Permissions{} }, []string{"note:"}},
		{codeDefaults, "absent with a contract", true, func(_ *testing.T, h *house) { h.account.DefaultPermissions = jwt.Permissions{} }, []string{"warning:"}},
		{codeDefaults, "a grant with a contract", true, func(_ *testing.T, h *house) {
			h.account.DefaultPermissions.Pub = jwt.Permission{Allow: jwt.StringList{"a.x"}}
		}, []string{"error:a.x"}},
		{codeDefaults, "nothing", true, nothing, nil},
		{codeAllowAll, "one direction of the defaults", false, func(_ *testing.T, h *house) { h.account.DefaultPermissions.Sub = jwt.Permission{} }, []string{"error:rest"}},

		{codeLimits, "JetStream", false, func(_ *testing.T, h *house) { h.account.Limits.DiskStorage = jwt.NoLimit }, []string{"note:"}},
		{codeLimits, "system JetStream", false, func(_ *testing.T, h *house) {
			h.operator.SystemAccount, h.account.Limits.DiskStorage = h.account.Subject, 1
		}, []string{"error:"}},
		{codeLimits, "bounded", false, nothing, nil},

		{codeCallout, "any account and a curve key", false, func(t *testing.T, h *house) {
			h.account.Authorization = jwt.ExternalAuthorization{AuthUsers: jwt.StringList{h.user.Subject}, AllowedAccounts: jwt.StringList{jwt.AnyAccount},
				XKey: public(t, newKey(t, nkeys.CreateCurveKeys))}
		}, []string{"error:", "warning:", "warning:"}},
		{codeCallout, "none", false, nothing, nil},
		{codeSigningKey, "without a scope", false, nothing, []string{"note:"}},
		{codeSigningKey, "with one", false, scoped(nil, "app.own"), nil},
		{codeRevocation, "revoked", false, func(_ *testing.T, h *house) {
			h.account.Revocations = jwt.RevocationList{jwt.All: time.Now().Unix() + 5}
		}, []string{"note:"}},
		{codeRevocation, "another user", false, func(_ *testing.T, h *house) {
			h.account.Revocations = jwt.RevocationList{h.account.Subject: time.Now().Unix()}
		}, nil},
		{codeRevocation, "dated in the future", false, func(_ *testing.T, h *house) {
			h.account.Revocations = jwt.RevocationList{"U": time.Now().Unix() + 3600}
		}, []string{"warning:"}},

		{codeLostEntry, "queue beside a template", false, func(t *testing.T, h *house) {
			h.scoped(t, "app.own").Template.Sub.Allow = jwt.StringList{"in.* q", "in.{{tag(x)}}"}
			h.user.Tags = jwt.TagList{"x:y"}
		}, []string{"error:"}},
		{codeLostEntry, "missing tag", false, scoped(nil, "app.{{tag(x)}}"), []string{"warning:"}},
		{codeLostEntry, "nothing lost", false, scoped([]string{"x:y"}, "app.{{tag(x)}}"), nil},
		{codeInjected, "a wildcard", false, scoped([]string{"x:*"}, "app.{{tag(x)}}"), []string{"error:"}},
		{codeInjected, "a token more", false, scoped([]string{"x:a.b"}, "app.{{tag(x)}}"), []string{"warning:"}},
		{codeInjected, "one token", false, scoped([]string{"x:a"}, "app.{{tag(x)}}"), nil},
		{codeMultiplied, "two lists", false, scoped([]string{"x:1", "x:2", "y:1", "y:2"}, "app.{{tag(x)}}.{{tag(y)}}"), []string{"warning:"}},
		{codeMultiplied, "too many", false, scoped(many(65), "app.{{tag(x)}}.{{tag(ch)}}"), []string{"error:"}},
		{codeMultiplied, "one list", false, scoped([]string{"x:1", "x:2", "y:1"}, "app.{{tag(x)}}.{{tag(y)}}"), nil},
		{codeScopedOwn, "limits", false, func(t *testing.T, h *house) { h.scoped(t, "app.own"); h.user.SetScoped(false) }, []string{"error:"}},
		{codeScopedOwn, "none", false, scoped(nil, "app.own"), nil},
		{codeConnTypes, "of a scope", false, func(t *testing.T, h *house) { h.scoped(t, "app.own").Template.AllowedConnectionTypes = nil }, []string{"error:"}},
		{codeAllowAll, "of a scope", false, func(t *testing.T, h *house) { h.scoped(t).Template.Pub = jwt.Permission{} }, []string{"error:rest"}},

		{codeForeignSign, "user by a stranger", false, func(t *testing.T, h *house) { h.userSigner = newKey(t, nkeys.CreateAccount) }, []string{"error:"}},
		{codeForeignSign, "account by a stranger", false, func(t *testing.T, h *house) { h.accountSigner = newKey(t, nkeys.CreateOperator) }, []string{"error:"}},
		{codeForeignSign, "account by itself", false, func(_ *testing.T, h *house) { h.accountSigner = h.accountKey }, []string{"error:"}},
		{codeForeignSign, "account by the operator's own key", false, func(t *testing.T, h *house) {
			h.operator.StrictSigningKeyUsage = true
			h.operator.SigningKeys.Add(public(t, newKey(t, nkeys.CreateOperator)))
		}, []string{"error:"}},
		{codeForeignSign, "user without its account", false, func(_ *testing.T, h *house) { h.user.IssuerAccount = "" }, []string{"error:"}},
		{codeForeignSign, "account by a signing key", false, func(t *testing.T, h *house) {
			h.operator.StrictSigningKeyUsage, h.accountSigner = true, newKey(t, nkeys.CreateOperator)
			h.operator.SigningKeys.Add(public(t, h.accountSigner))
		}, nil},
		{codeForeignSign, "user by the account itself", false, func(_ *testing.T, h *house) { h.userSigner, h.user.IssuerAccount = h.accountKey, "" }, nil},
		{codeProvenance, "another account's user", false, func(t *testing.T, h *house) {
			h.userSigner, h.user.IssuerAccount = newKey(t, nkeys.CreateAccount), ""
		}, []string{"warning:"}},
		{codeProvenance, "all given", false, nothing, nil},
		{codeOperator, "no strict signing keys", false, nothing, []string{"note:"}},
		{codeOperator, "signing keys, not strict", false, func(t *testing.T, h *house) {
			h.operator.SigningKeys.Add(public(t, newKey(t, nkeys.CreateOperator)))
			h.operator.SystemAccount, h.operator.AccountServerURL = "", "http://x/jwt/v1"
		}, []string{"warning:", "warning:", "warning:"}},
		{codeOperator, "did not sign its system account", false, func(t *testing.T, h *house) {
			h.operator.SystemAccount, h.accountSigner = h.account.Subject, newKey(t, nkeys.CreateOperator)
		}, []string{"error:", "note:"}},
		{codeOperator, "strict", false, func(t *testing.T, h *house) {
			h.operator.StrictSigningKeyUsage, h.accountSigner = true, newKey(t, nkeys.CreateOperator)
			h.operator.SigningKeys.Add(public(t, h.accountSigner))
		}, nil},
		{codeUnknown, "everywhere", false, func(t *testing.T, h *house) {
			h.scoped(t, "app.own")
			h.raw["operator"] = func(c map[string]any) { c["odd"] = []any{1, "x", map[string]any{"a": "}\\\""}} }
			h.raw["account"] = nats(func(n map[string]any) {
				n["signing_keys"].([]any)[0].(map[string]any)["template"].(map[string]any)["odd"] = true
			})
			h.raw["user"] = nats(func(n map[string]any) { n["audience_limits"] = "x" })
		}, []string{"note:", "note:", "note:"}},
		{codeUnknown, "a map's keys", false, func(t *testing.T, h *house) {
			h.account.Mappings = jwt.Mapping{"a.*": {{Subject: "b.$1", Weight: 50, Cluster: "c"}}}
			h.account.Revocations = jwt.RevocationList{"*": 1}
			h.account.Limits.JetStreamTieredLimits = jwt.JetStreamTieredLimits{"R1": {DiskStorage: 1}}
			h.account.Trace = &jwt.MsgTrace{Destination: "x", Sampling: 1}
			h.account.Exports = jwt.Exports{{Subject: "a", Type: jwt.Service, Latency: &jwt.ServiceLatency{Results: "r"}}}
			h.user.Src, h.user.Times, h.user.Locale, h.user.Resp = jwt.CIDRList{"1.2.3.0/24"}, []jwt.TimeRange{{Start: "01:00:00", End: "02:00:00"}}, "UTC", &jwt.ResponsePermission{MaxMsgs: 1}
		}, nil},
		{codeTrace, "a subject", false, func(_ *testing.T, h *house) { h.account.Trace = &jwt.MsgTrace{Destination: "trace.x", Sampling: 100} }, []string{"warning:trace.x"}},
		{codeTrace, "with a contract", true, func(_ *testing.T, h *house) { h.account.Trace = &jwt.MsgTrace{Destination: "trace.x", Sampling: 100} }, []string{"error:trace.x"}},
		{codeTrace, "none", true, nothing, nil},
		{codeBearer, "allowed", false, func(_ *testing.T, h *house) { h.user.BearerToken, h.account.Limits.DisallowBearer = true, false }, []string{"error:"}},
		{codeBearer, "by its scope", false, func(t *testing.T, h *house) {
			h.account.Limits.DisallowBearer = false
			h.scoped(t, "app.own").Template.BearerToken = true
		}, []string{"error:"}},
		{codeBearer, "disallowed", false, func(_ *testing.T, h *house) { h.user.BearerToken = true }, []string{"warning:"}},
		{codeBearer, "none", false, nothing, nil},
	}
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
