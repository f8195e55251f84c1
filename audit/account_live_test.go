package audit

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// together judges a user beside its account, as files of one directory are.
func together(t *testing.T, acc *natstest.Account, user string) *Report {
	t.Helper()
	dir := t.TempDir()
	write(t, dir+"/account.jwt", []byte(acc.JWT(t)))
	write(t, dir+"/user.jwt", []byte(user))
	r, err := Paths(Config{Now: time.Now().Add(time.Second)}, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// of returns the witnesses of a code that are about a user's own file.
func witnesses(r *Report, code string) []string {
	out := []string{}
	for _, f := range r.Findings {
		if f.Code == code && strings.HasSuffix(f.File, "user.jwt") {
			out = append(out, f.Witness)
		}
	}
	return out
}

func severities(r *Report, code string) []string {
	out := []string{}
	for _, f := range r.Findings {
		if f.Code == code {
			out = append(out, f.Severity)
		}
	}
	return out
}

// TestMappingIsReal: through a mapping of the account a user publishes the witness without a grant, and what no mapping names is
// refused; where the composition finds nothing, the broker refuses the mapped subjects too.
func TestMappingIsReal(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	s.UpdateAccount(t, s.Account, func(c *jwt.AccountClaims) {
		c.Mappings = jwt.Mapping{
			"other.*":      {{Subject: "app.inst.$1"}},
			"swap.*.*":     {{Subject: "sw.{{wildcard(2)}}.{{Wildcard(1)}}"}},
			"deep.>":       {{Subject: "app.tree.>"}},
			"app.secret.*": {{Subject: "app.open.$1"}},
			"cut.*":        {{Subject: "app.cut.{{partition(4,1)}}"}},
		}
	})
	listener := s.Raw(t, s.User(t, jwt.Permissions{}))
	listener.Do(natstest.SubOp(">", "", "1"))
	for _, tt := range []struct {
		name    string
		pub     jwt.Permission
		want    []string
		arrives []string
		refused string // a mapped subject that no grant admits
	}{
		{"literal", jwt.Permission{Allow: jwt.StringList{"app.inst.a"}}, []string{"other.a"}, []string{"app.inst.a"}, "other.b"},
		{"swapped", jwt.Permission{Allow: jwt.StringList{"sw.x.y"}}, []string{"swap.y.x"}, []string{"sw.x.y"}, "swap.x.y"},
		{"tail", jwt.Permission{Allow: jwt.StringList{"app.tree.a.b"}}, []string{"deep.a.b"}, []string{"app.tree.a.b"}, "deep.a.c"},
		{"against a deny", jwt.Permission{Allow: jwt.StringList{"app.secret.*", "app.open.*"}, Deny: jwt.StringList{"app.secret.k"}},
			[]string{"app.secret.k"}, []string{"app.open.k"}, "deep.a"},
		{"denied where it lands", jwt.Permission{Allow: jwt.StringList{"app.inst.>"}, Deny: jwt.StringList{"app.inst.*"}}, []string{}, nil, "other.a"},
		{"granted itself", jwt.Permission{Allow: jwt.StringList{"app.inst.*", "other.*"}}, []string{}, nil, "deep.a"},
		{"unrelated", jwt.Permission{Allow: jwt.StringList{"else.>"}}, []string{}, nil, "other.a"},
	} {
		user := s.User(t, jwt.Permissions{Pub: tt.pub})
		got := witnesses(together(t, s.Account, user.JWT), codeMapping)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: witnesses (-want +got):\n%s", tt.name, diff)
			continue
		}
		conn := s.Raw(t, user)
		for i, w := range got {
			if errs := conn.Do(natstest.PubOp(w, "", tt.name))[0].Errs; len(errs) > 0 {
				t.Errorf("%s: the broker refuses the witness %s: %v", tt.name, w, errs)
				continue
			}
			if m := listener.Await().Msgs; m[0].Subject != tt.arrives[i] {
				t.Errorf("%s: %s arrives on %s, want %s", tt.name, w, m[0].Subject, tt.arrives[i])
			}
		}
		if errs := conn.Do(natstest.PubOp(tt.refused, "", ""))[0].Errs; len(errs) == 0 {
			t.Errorf("%s: the broker admits %s", tt.name, tt.refused)
		}
	}
}

// dated signs a user again with another iat, which jwt/v2 does not do.
func dated(t *testing.T, acc *natstest.Account, c natstest.Creds, at time.Time) natstest.Creds {
	t.Helper()
	parts := strings.Split(c.JWT, ".")
	var claims map[string]any
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(body, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	claims["iat"] = at.Unix()
	if body, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	parts[1] = base64.RawURLEncoding.EncodeToString(body)
	sig, err := acc.Key.Sign([]byte(parts[0] + "." + parts[1]))
	if err != nil {
		t.Fatal(err)
	}
	return natstest.Creds{JWT: parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(sig), Seed: c.Seed}
}

// TestRevocationIsReal: a revoked user is refused, one whose iat is in the future is not; the audit tells both.
func TestRevocationIsReal(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	user, free := s.User(t, jwt.Permissions{}), s.User(t, jwt.Permissions{})
	uc, err := jwt.DecodeUserClaims(user.JWT)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s.UpdateAccount(t, s.Account, func(c *jwt.AccountClaims) { c.Revocations = jwt.RevocationList{uc.Subject: now.Unix()} })
	for _, tt := range []struct {
		name string
		user natstest.Creds
		in   bool
		want []string // severities of A047
	}{
		{"revoked", dated(t, s.Account, user, now), false, []string{Note}},
		{"signed anew", dated(t, s.Account, user, now.Add(time.Second)), true, []string{Warning}},
		{"from the future", dated(t, s.Account, user, now.Add(time.Hour)), true, []string{Error}},
		{"another", free, true, []string{}},
	} {
		if in := len(s.Login(t, tt.user)) == 0; in != tt.in {
			t.Errorf("%s: the broker admits it: %t, want %t", tt.name, in, tt.in)
		}
		if got := severities(together(t, s.Account, tt.user.JWT), codeRevocation); !cmp.Equal(tt.want, got) {
			t.Errorf("%s: severities, got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestDefaultPermissionsAreReal: a user without permissions has the account's; one with any, in either direction, has none of
// them, so that its other direction is open.
func TestDefaultPermissionsAreReal(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	s.UpdateAccount(t, s.Account, func(c *jwt.AccountClaims) {
		c.DefaultPermissions.Pub.Allow = jwt.StringList{"free"}
		c.DefaultPermissions.Sub.Deny = jwt.StringList{">"}
	})
	for _, tt := range []struct {
		name  string
		perms jwt.Permissions
		pub   bool // "closed"
		sub   bool
		want  []string // entries of A001
	}{
		{"none of its own", jwt.Permissions{}, false, false, []string{}},
		{"a subscription", jwt.Permissions{Sub: jwt.Permission{Allow: jwt.StringList{"own"}}}, true, false, []string{"publish"}},
		{"a publication", jwt.Permissions{Pub: jwt.Permission{Allow: jwt.StringList{"own"}}}, false, true, []string{"subscribe"}},
	} {
		user := s.User(t, tt.perms)
		conn := s.Raw(t, user)
		if in := len(conn.Do(natstest.PubOp("closed", "", ""))[0].Errs) == 0; in != tt.pub {
			t.Errorf("%s: the broker admits a publish: %t, want %t", tt.name, in, tt.pub)
		}
		if in := len(conn.Do(natstest.SubOp("closed", "", "1"))[0].Errs) == 0; in != tt.sub {
			t.Errorf("%s: the broker admits a subscription: %t, want %t", tt.name, in, tt.sub)
		}
		got := []string{}
		for _, f := range together(t, s.Account, user.JWT).Findings {
			if f.Code == codeAllowAll && strings.HasSuffix(f.File, "user.jwt") {
				got = append(got, strings.Fields(strings.TrimPrefix(f.Message, "no allow list restricts "))[0])
			}
		}
		for i := range got {
			got[i] = strings.TrimSuffix(got[i], ":")
		}
		if !cmp.Equal(tt.want, got) {
			t.Errorf("%s: A001 of %v, want %v", tt.name, got, tt.want)
		}
	}
	free := s.Raw(t, s.User(t, jwt.Permissions{}))
	if errs := free.Do(natstest.PubOp("free", "", ""))[0].Errs; len(errs) > 0 {
		t.Errorf("the default grant does not hold: %v", errs)
	}
}

// TestExportIsReal: through a public service export another account publishes as any sender; a private one refuses the import.
func TestExportIsReal(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	listener := s.Raw(t, s.User(t, jwt.Permissions{}))
	listener.Do(natstest.SubOp("app.>", "", "1"))
	for _, tt := range []struct {
		name    string
		private bool
		want    []string // severities of A041
	}{{"public", false, []string{Error}}, {"private", true, []string{}}} {
		s.UpdateAccount(t, s.Account, func(c *jwt.AccountClaims) {
			c.Exports = jwt.Exports{{Subject: "app.talk.*", Type: jwt.Service, TokenReq: tt.private}}
		})
		other := s.NewAccount(t, "OTHER-"+tt.name, func(c *jwt.AccountClaims) {
			c.Imports = jwt.Imports{{Account: s.Account.PublicKey(), Subject: "app.talk.*", Type: jwt.Service}}
		})
		s.Raw(t, other.User(t, jwt.Permissions{})).Do(natstest.PubOp("app.talk.alice", "", tt.name))
		sender := s.Raw(t, s.User(t, jwt.Permissions{}))
		sender.Do(natstest.PubOp("app.talk.end", "", "")) // the control: what comes before it was let in
		heard := []string{}
		for len(heard) == 0 || heard[len(heard)-1] != "app.talk.end" {
			for _, m := range listener.Await().Msgs {
				heard = append(heard, m.Subject)
			}
		}
		want := []string{"app.talk.alice", "app.talk.end"}
		if tt.private {
			want = want[1:]
		}
		if diff := cmp.Diff(want, heard); diff != "" {
			t.Errorf("%s: heard (-want +got):\n%s", tt.name, diff)
		}
		r, err := Bytes(Config{Now: time.Now().Add(time.Second)}, "account.jwt", []byte(s.Account.JWT(t)))
		if err != nil {
			t.Fatal(err)
		}
		if got := severities(r, codeExport); !cmp.Equal(tt.want, got) {
			t.Errorf("%s: A041, got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestRenamedImportIsReal: a service import gives its local subjects the power of the subjects that it renames, in the other account: a
// credential that names nothing of JetStream deletes a stream there. Without the import the same request is answered by nobody.
func TestRenamedImportIsReal(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	b.s.UpdateAccount(t, b.s.Account, func(c *jwt.AccountClaims) {
		c.Exports.Add(&jwt.Export{Name: "api", Subject: "$JS.API.>", Type: jwt.Service})
	})
	perms := jwt.Permissions{Pub: jwt.Permission{Allow: jwt.StringList{"far.>"}}, Sub: jwt.Permission{Allow: jwt.StringList{"_INBOX_u.>"}}}
	near := b.s.NewAccount(t, "NEAR")
	far := b.s.NewAccount(t, "FAR", func(c *jwt.AccountClaims) {
		c.Imports.Add(&jwt.Import{Name: "api", Account: b.s.Account.PublicKey(), Subject: "$JS.API.>", LocalSubject: "far.>", Type: jwt.Service})
	})
	for _, tt := range []struct {
		acc  *natstest.Account
		want []string // severities of A042
	}{{near, []string{}}, {far, []string{Error}}} {
		creds := tt.acc.User(t, perms)
		if diff := cmp.Diff(tt.want, severities(together(t, tt.acc, creds.JWT), codeImport)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.acc.Claims.Name, diff)
		}
		raw := b.s.Raw(t, creds)
		raw.Do(natstest.SubOp("_INBOX_u.r", "", "1"))
		if errs := raw.Do(natstest.PubOp("far.STREAM.DELETE.S", "_INBOX_u.r", ""))[0].Errs; len(errs) > 0 {
			t.Fatalf("%s: %v", tt.acc.Claims.Name, errs)
		}
		if tt.acc == far {
			if m := raw.Await().Msgs[0]; !strings.Contains(m.Data, `"success":true`) {
				t.Errorf("got %s, want the stream deleted", m.Data)
			}
		} else if _, err := b.js.Stream(t.Context(), "S"); err != nil {
			t.Errorf("without the import: %v", err)
		}
	}
}

// TestSystemIsStated: an account is the system account by the word of an operator that was given, and not by its name or by the tags of its
// users. A contract's rules hold for the others.
func TestSystemIsStated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name             string
		operator, system bool // the operator is given, and names the account
		tags             jwt.TagList
		want             bool // what the user asks is outside what it may (A022), and the rule on the log holds for it
	}{
		{"named SYS, no operator", false, false, nil, true},
		{"named SYS, an operator that names another", true, false, nil, true},
		{"a profile of the system account, an operator that names another", true, false, jwt.TagList{"profile:watcher", "space:main"}, true},
		{"the system account", true, true, nil, false},
	} {
		h, dir := newHouse(t), t.TempDir()
		h.account.Name = "SYS"
		h.operator.SystemAccount = public(t, newKey(t, nkeys.CreateAccount))
		if tt.system {
			h.operator.SystemAccount = h.account.Subject
		}
		h.user.Tags = tt.tags
		h.user.Pub, h.user.Sub = jwt.Permission{Allow: jwt.StringList{"$SYS.REQ.SERVER.PING", "app.main.log.x"}}, jwt.Permission{Allow: jwt.StringList{"_INBOX_u.>"}}
		for name, text := range h.files(t) {
			if tt.operator || name != "operator" {
				write(t, dir+"/"+name+".jwt", text)
			}
		}
		r, err := Paths(Config{Contract: testContract(t), Now: now()}, []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range []string{codeSystem, "T102"} {
			if got := len(severities(r, code)) > 0; got != tt.want {
				t.Errorf("%s: %s found: %t, want %t", tt.name, code, got, tt.want)
			}
		}
	}
}
