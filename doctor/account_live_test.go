package doctor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// fit makes a system user one as the contract mints it.
func fit(c *jwt.UserClaims) {
	c.Expires = time.Now().Add(time.Hour).Unix()
	c.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket)
	c.Tags.Add("profile:doctor")
}

// accountDoctor is the doctor's connection with what it needs to look into accounts.
func accountDoctor(t *testing.T, s *natstest.Server) *nats.Conn {
	t.Helper()
	return s.Connect(t, s.System.User(t, accountGrants(), fit), nats.CustomInboxPrefix(inbox), nats.MaxReconnects(0))
}

func accountGrants() jwt.Permissions {
	var perms jwt.Permissions
	for _, z := range []string{"VARZ", "ROUTEZ", "GATEWAYZ", "LEAFZ", "ACCOUNTZ", "CONNZ", "JSZ"} {
		perms.Pub.Allow.Add("$SYS.REQ.SERVER.PING." + z)
	}
	perms.Pub.Allow.Add(doctor.SubjectUserInfo, "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP")
	perms.Sub.Allow.Add(inbox + ".>")
	return perms
}

// expected is what the operator of the servers knows of accounts.
func expected(t *testing.T, accounts ...*natstest.Account) doctor.Expect {
	t.Helper()
	e := doctor.Expect{SystemProfiles: []string{"doctor"}}
	for _, a := range accounts {
		x, err := doctor.ExpectFrom(a.JWT(t), func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		e.Accounts = append(e.Accounts, x)
	}
	return e
}

func lookInto(s *natstest.Server) doctor.Options {
	return doctor.Options{Timeout: time.Minute, Accounts: []doctor.Account{
		{Name: "space", Key: s.Account.PublicKey()}, {Name: "system", Key: s.System.PublicKey()}}}
}

// awaitHeld waits until a server holds a JWT of an account.
func awaitHeld(t *testing.T, s *natstest.Server, a *natstest.Account, token string) {
	t.Helper()
	natstest.Await(t, func() string {
		z, err := s.Accountz(&server.AccountzOptions{Account: a.PublicKey()})
		if err != nil || z.Account.Jwt != token {
			return "the JWT on " + s.Name()
		}
		return ""
	})
}

// fullCluster is three servers with full resolvers that all hold the account APP, with everything that an account can declare, and a
// connection of a user whom it revokes only in its next JWT.
func fullCluster(t *testing.T) []*natstest.Server {
	t.Helper()
	servers := natstest.StartCluster(t, 3, natstest.FullResolver(t))
	app, other := servers[0].Account, servers[0].NewAccount(t, "OTHER", func(c *jwt.AccountClaims) {
		c.Exports.Add(&jwt.Export{Subject: "time.>", Type: jwt.Stream}, &jwt.Export{Subject: "add", Type: jwt.Service})
	})
	servers[0].UpdateAccount(t, app, func(c *jwt.AccountClaims) {
		c.Exports.Add(&jwt.Export{Subject: "news.>", Type: jwt.Stream}, &jwt.Export{Subject: "ask.*", Type: jwt.Service, TokenReq: true})
		c.Imports.Add(&jwt.Import{Subject: "time.>", Account: other.PublicKey(), Type: jwt.Stream, LocalSubject: "clock.>"},
			&jwt.Import{Subject: "add", Account: other.PublicKey(), Type: jwt.Service, LocalSubject: "sum"})
		c.AddMapping("old.*", jwt.WeightedMapping{Subject: "new.$1", Weight: 40}, jwt.WeightedMapping{Subject: "newer.$1", Weight: 40})
		c.SigningKeys.Add(accountKey(t))
		c.SigningKeys.AddScopedSigner(&jwt.UserScope{Kind: jwt.UserScopeType, Key: accountKey(t), Template: jwt.UserPermissionLimits{
			Permissions: jwt.Permissions{Pub: jwt.Permission{Allow: jwt.StringList{"x"}}}}})
		c.DefaultPermissions.Pub.Deny.Add(">")
		c.DefaultPermissions.Sub.Deny.Add(">")
		c.Limits.LeafNodeConn, c.Limits.DisallowBearer, c.Limits.Conn = 0, true, 100
		c.RevokeAt(userKey(t), time.Now().Add(-time.Minute))
	})
	for _, s := range servers {
		s.SetJWT(t, other, other.JWT(t))
		s.SetJWT(t, app, app.JWT(t))
	}
	return servers
}

// domains gives the servers a JetStream domain, for which they map subjects themselves.
func domains(o *server.Options) { o.JetStreamDomain = "hub" }

func accountKey(t *testing.T) string { return publicKey(t, nkeys.CreateAccount) }
func userKey(t *testing.T) string    { return publicKey(t, nkeys.CreateUser) }

func publicKey(t *testing.T, create func() (nkeys.KeyPair, error)) string {
	t.Helper()
	key, err := create()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return public
}

func TestAccountsHealthy(t *testing.T) {
	t.Parallel()
	for name, servers := range map[string][]*natstest.Server{"memory": natstest.StartCluster(t, 3, domains), "full": fullCluster(t)} {
		nc, app := accountDoctor(t, servers[0]), servers[0].Account
		if _, err := servers[2].Accountz(&server.AccountzOptions{Account: app.PublicKey()}); err == nil {
			t.Errorf("%s: n3 holds the account before anybody asked", name)
		}
		snap := gather(t, nc, lookInto(servers[0]))
		for what, e := range map[string]doctor.Expect{"directory": expected(t, app, servers[0].System), "nothing": {}} {
			r := doctor.Judge(snap, floors, e)
			if diff := cmp.Diff([]string{}, brief(r)); diff != "" || r.ExitCode() != 0 {
				t.Errorf("%s, %s known: exit %d: %s\n%s", name, what, r.ExitCode(), diff, text(t, r))
			}
			ran := map[string]int{}
			for _, c := range r.Checks {
				ran[c.ID]++
			}
			want := map[string]int{"D019": 3, "D021": 6, "D022": 2, "D023": 6, "D024": 6, "D025": 6, "D026": 6, "D027": 6}
			if name == "memory" {
				delete(want, "D022")
			} else {
				want["D026"]++ // the limit of connections
			}
			if what == "nothing" {
				delete(want, "D023")
				delete(want, "D025")
			}
			for _, id := range []string{"D019", "D021", "D022", "D023", "D024", "D025", "D026", "D027"} {
				if ran[id] != want[id] {
					t.Errorf("%s, %s known: %d rows of %s, want %d", name, what, ran[id], id, want[id])
				}
			}
		}
		var b strings.Builder
		if err := snap.Write(&b); err != nil || strings.Contains(b.String(), "eyJ") {
			t.Errorf("%s: the snapshot holds a JWT (%v)", name, err)
		}
		if back, err := doctor.ReadSnapshot(strings.NewReader(b.String())); err != nil || cmp.Diff(snap, back) != "" {
			t.Errorf("%s: written and read: %v %s", name, err, cmp.Diff(snap, back))
		}
	}
}

func text(t *testing.T, r *doctor.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The copies of all resolvers are there as soon as the later answers are, however often one asks.
func TestEveryCopyIsHeard(t *testing.T) {
	t.Parallel()
	servers := fullCluster(t)
	nc := accountDoctor(t, servers[1])
	for range 40 {
		s := gather(t, nc, lookInto(servers[0]))
		for _, a := range s.Accounts {
			if len(a.Lookup.Copies) != 1 || a.Lookup.Copies[0].Count != len(servers) {
				t.Fatalf("copies of %s: got %+v, want one of %d", a.Name, a.Lookup.Copies, len(servers))
			}
		}
	}
}

// TestAccountFaults changes what n2 holds of the account, one thing at a time.
func TestAccountFaults(t *testing.T) {
	t.Parallel()
	servers := fullCluster(t)
	app, n2 := servers[0].Account, servers[1]
	e := expected(t, app, servers[0].System)
	base := app.JWT(t)
	key := accountKey(t)
	const skipped = "skip D021 n2"
	for _, tt := range []struct {
		name string
		edit func(*jwt.AccountClaims)
		want []string
		got  string
	}{
		{"signed anew", func(*jwt.AccountClaims) {}, []string{"fail D021 n2", "skip D022 -"}, "older than the directory's"},
		{"an old one", func(c *jwt.AccountClaims) { c.Tags.Add("old"); c.SigningKeys = jwt.SigningKeys{} },
			[]string{"fail D021 n2", "skip D022 -"}, "lacks signing key A"},
		{"an old one of everything", func(c *jwt.AccountClaims) {
			c.Revocations, c.Mappings = nil, jwt.Mapping{"a": []jwt.WeightedMapping{{Subject: "b"}}}
			c.SigningKeys.Add(key, contract.FixtureSigner)
		}, []string{"fail D021 n2", "skip D022 -", "skip D023 n2", "skip D024 n2", "skip D025 n2", "skip D027 n2"}, "undeclared: mapping a to b (100%)"},
		{"a revocation missing", func(c *jwt.AccountClaims) { c.Revocations = nil },
			[]string{skipped, "skip D022 -", "fail D024 n2"}, "not revoked: user U"},
		{"a mapping", func(c *jwt.AccountClaims) { c.AddMapping("a", jwt.WeightedMapping{Subject: "b"}) },
			[]string{skipped, "skip D022 -", "fail D023 n2"}, "mapping a to b (100%)"},
		{"an export", func(c *jwt.AccountClaims) { c.Exports.Add(&jwt.Export{Subject: "x.>", Type: jwt.Stream}) },
			[]string{skipped, "skip D022 -", "fail D023 n2"}, "export stream x.>"},
		{"an import", func(c *jwt.AccountClaims) {
			c.Imports.Add(&jwt.Import{Subject: "time.more", Account: c.Imports[0].Account, Type: jwt.Stream})
		}, []string{skipped, "skip D022 -", "fail D023 n2"}, "import stream time.more of A"},
		{"default permissions", func(c *jwt.AccountClaims) { c.DefaultPermissions = jwt.Permissions{} },
			[]string{skipped, "skip D022 -", "fail D023 n2"}, "no default permissions"},
		{"leaf nodes", func(c *jwt.AccountClaims) { c.Limits.LeafNodeConn = -1 },
			[]string{skipped, "skip D022 -", "fail D023 n2"}, "limit of leaf nodes none, not 0"},
		{"bearers", func(c *jwt.AccountClaims) { c.Limits.DisallowBearer = false },
			[]string{skipped, "skip D022 -", "fail D023 n2"}, "limit of bearer tokens none, not 0"},
		{"a callout", func(c *jwt.AccountClaims) { c.EnableExternalAuthorization(userKey(t)) },
			[]string{skipped, "skip D022 -", "fail D023 n2"}, "callout {"},
		{"a signing key", func(c *jwt.AccountClaims) { c.SigningKeys.Add(key) }, []string{skipped, "skip D022 -", "fail D025 n2"}, "signing key " + key},
		{"a fixture key", func(c *jwt.AccountClaims) { c.SigningKeys.Add(contract.FixtureSigner) },
			[]string{skipped, "skip D022 -", "fail D027 n2"}, "signing key " + contract.FixtureSigner},
		{"expired", func(c *jwt.AccountClaims) { c.Expires = time.Now().Add(time.Second).Unix() },
			[]string{skipped, "skip D022 -", "fail D026 n2"}, "expired at 2"},
		{"control", nil, []string{}, ""},
	} {
		token := base
		if tt.edit != nil {
			token = app.Sign(t, time.Now().Add(-time.Hour), tt.edit)
		}
		n2.SetJWT(t, app, token)
		gather(t, accountDoctor(t, n2), lookInto(n2)) // so that the server holds the account
		awaitHeld(t, n2, app, token)
		if tt.name == "expired" {
			natstest.Await(t, func() string {
				if z, err := n2.Accountz(&server.AccountzOptions{Account: app.PublicKey()}); err != nil || !z.Account.Expired {
					return "expiry"
				}
				return ""
			})
		}
		r := doctor.Judge(gather(t, accountDoctor(t, servers[0]), lookInto(n2)), floors, e)
		if diff := cmp.Diff(tt.want, brief(r)); diff != "" || !strings.Contains(failing(r), tt.got) {
			t.Errorf("%s: got %q, want %q: %s\n%s", tt.name, failing(r), tt.got, diff, text(t, r))
		}
	}
}

// failing is what was got by the check that failed, if it is one.
func failing(r *doctor.Report) string {
	var got []string
	for _, c := range r.Checks {
		if c.Status == doctor.Fail {
			got = append(got, c.Got)
		}
	}
	return strings.Join(got, " | ")
}

func TestSystemUsers(t *testing.T) {
	t.Parallel()
	servers := natstest.StartCluster(t, 3)
	sys, n2 := servers[0].System, servers[1]
	without := func(edit func(*jwt.UserClaims)) func(*jwt.UserClaims) {
		return func(c *jwt.UserClaims) { fit(c); edit(c) }
	}
	perms := accountGrants()
	all := perms
	all.Pub.Allow = append(slices.Clone(perms.Pub.Allow), "$SYS.>")
	requests := perms
	requests.Pub.Allow = jwt.StringList{"$SYS.REQ.*.>"}
	hears := perms
	hears.Sub.Allow = jwt.StringList{">"}
	for _, tt := range []struct {
		name  string
		perms jwt.Permissions
		edit  func(*jwt.UserClaims)
		want  []string
		got   string
	}{
		{"may do anything", jwt.Permissions{}, fit, []string{"fail D019 n2"}, "(doctor) may publish every request; user"},
		{"publishes", all, fit, []string{"fail D019 n2"}, "may publish every request"},
		{"publishes requests", requests, fit, []string{"fail D019 n2"}, "may publish every request"},
		{"subscribes", hears, fit, []string{"fail D019 n2"}, "may subscribe to every request"},
		{"never expires", perms, without(func(c *jwt.UserClaims) { c.Expires = 0 }), []string{"fail D019 n2"}, "never expires"},
		{"any connection", perms, without(func(c *jwt.UserClaims) { c.AllowedConnectionTypes = nil }),
			[]string{"fail D019 n2"}, "may connect as LEAFNODE"},
		{"MQTT", perms, without(func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("MQTT") }), []string{"fail D019 n2"}, "may connect as MQTT"},
		{"bearer", perms, without(func(c *jwt.UserClaims) { c.BearerToken = true }), []string{"fail D019 n2"}, "does not show its JWT"},
		{"no profile", perms, without(func(c *jwt.UserClaims) { c.Tags = nil }), []string{}, ""},
		{"control", perms, fit, []string{}, ""},
	} {
		nc := n2.Connect(t, sys.User(t, tt.perms, tt.edit))
		r := doctor.Judge(gather(t, accountDoctor(t, servers[0]), lookInto(n2)), floors, expected(t, n2.Account, sys))
		nc.Close()
		natstest.Await(t, func() string {
			if n := n2.NumClients(); n > 0 {
				return fmt.Sprintf("the end of %d clients", n)
			}
			return ""
		})
		if diff := cmp.Diff(tt.want, brief(r)); diff != "" || !strings.Contains(failing(r), tt.got) {
			t.Errorf("%s: got %q, want %q: %s\n%s", tt.name, failing(r), tt.got, diff, text(t, r))
		}
		if noted := strings.Contains(text(t, r), "without a known profile"); noted != (tt.name == "no profile") {
			t.Errorf("%s: noted %v", tt.name, noted)
		}
	}
}
