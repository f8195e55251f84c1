package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// Stock servers that have their accounts in the configuration: nobody but the configuration says what each holds.
func TestAccountsInTheConfiguration(t *testing.T) {
	t.Parallel()
	f := natstest.StartProcesses(t, 3)
	n1, n2 := f.Server(t, "n1"), f.Server(t, "n2")
	nc := n1.Connect(t, f.System.User(t, accountGrants(), fit), nats.CustomInboxPrefix(inbox), nats.MaxReconnects(0))
	o := doctor.Options{Timeout: time.Minute, Accounts: []doctor.Account{
		{Name: "space", Key: f.Account.PublicKey()}, {Name: "system", Key: f.System.PublicKey()}}}
	e := expected(t, f.Account, f.System)
	now := f.Account.JWT(t)
	for _, tt := range []struct {
		name string
		edit func(*jwt.AccountClaims)
		want []string
	}{
		{"healthy", nil, []string{}},
		{"a mapping", func(c *jwt.AccountClaims) { c.Mappings = jwt.Mapping{"a": {{Subject: "b"}}} }, []string{"skip D021 n2", "fail D023 n2"}},
		{"an old one", func(c *jwt.AccountClaims) { c.Name = "old" }, []string{"fail D021 n2"}},
	} {
		if tt.edit != nil {
			next := f.Account.Sign(t, time.Now().Add(-time.Hour), tt.edit)
			n2.Edit(func(config string) string { return strings.Replace(config, now, next, 1) })
			n2.Reload()
			now = next
		}
		r := doctor.Judge(gather(t, nc, o), doctor.Floors{}, e)
		if diff := cmp.Diff(tt.want, brief(r)); diff != "" {
			t.Errorf("%s: %s\n%s", tt.name, diff, text(t, r))
		}
	}
}

// A server whose resolver does not know the account, and a leaf node that does not.
func TestAccountIsNotThere(t *testing.T) {
	t.Parallel()
	alone := func(o *server.Options) {
		token, err := o.AccountResolver.Fetch(o.SystemAccount)
		if err != nil {
			t.Error(err)
		}
		own := &server.MemAccResolver{}
		if err := own.Store(o.SystemAccount, token); err != nil {
			t.Error(err)
		}
		o.AccountResolver = own
	}
	servers := natstest.StartCluster(t, 3, natstest.LeafListener, func(o *server.Options) {
		if o.ServerName == "n3" {
			alone(o)
		}
	})
	servers[0].StartLeaf(t, servers[0].System, alone)
	r := doctor.Judge(gather(t, accountDoctor(t, servers[0]), lookInto(servers[0])), doctor.Floors{}, expected(t, servers[0].Account, servers[0].System))
	// The account admits leaf nodes, and every server listens for them.
	want := []string{"fail D012 n1", "fail D012 n2", "fail D012 n3", "fail D021 n3", "skip D023 n3", "skip D024 n3", "skip D025 n3", "skip D026 n3", "skip D027 n3"}
	if diff := cmp.Diff(want, brief(r)); diff != "" {
		t.Errorf("%s\n%s", diff, text(t, r))
	}
}

func TestAccountsOfASupercluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a supercluster; TestAccountFaults has a cluster")
	}
	clusters := natstest.StartSupercluster(t, []natstest.Cluster{{Name: "east", Size: 2}, {Name: "west", Size: 1}}, natstest.FullResolver(t))
	east1, west1 := clusters[0][0], clusters[1][0]
	for _, s := range []*natstest.Server{east1, clusters[0][1], west1} {
		s.SetJWT(t, east1.Account, east1.Account.JWT(t))
	}
	nc, e := accountDoctor(t, east1), expected(t, east1.Account, east1.System)
	if r := doctor.Judge(gather(t, nc, lookInto(east1)), floors, e); r.ExitCode() != 0 {
		t.Errorf("healthy: %s", text(t, r))
	}
	west1.SetJWT(t, east1.Account, east1.Account.Sign(t, time.Now().Add(-time.Hour), func(c *jwt.AccountClaims) { c.Tags.Add("old") }))
	r := doctor.Judge(gather(t, nc, lookInto(east1)), floors, e)
	if diff := cmp.Diff([]string{"fail D021 west1", "skip D022 -"}, brief(r)); diff != "" {
		t.Errorf("%s\n%s", diff, text(t, r))
	}
}

// Another system user answers for the resolvers. It needs no wide permissions for that.
func TestForgedCopies(t *testing.T) {
	t.Parallel()
	servers := fullCluster(t)
	app, other := servers[0].Account, servers[1].NewAccount(t, "STRAY")
	var perms jwt.Permissions
	perms.Pub.Allow.Add(inbox + ".>")
	perms.Sub.Allow.Add("$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP")
	operator, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	claims, err := jwt.DecodeAccountClaims(app.JWT(t))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := claims.Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, reply, got string }{
		{"no JWT", "hello", "1 of 5 bytes: not an account JWT"},
		{"an account JWT of nobody", foreign, "1 signed by O"},
		{"the JWT of another account", other.JWT(t), "1 are of account A"},
		{"an old JWT", app.Sign(t, time.Now().Add(-time.Hour), func(*jwt.AccountClaims) {}), "older than the directory's"},
		{"the JWT once more", app.JWT(t), "4 answers of 3 servers"},
		{"none", "", "4 answers of 3 servers"},
	} {
		nc := servers[0].Connect(t, servers[0].System.User(t, perms, fit))
		natstest.Forge(t, nc, "$SYS.REQ.ACCOUNT."+app.PublicKey()+".CLAIMS.LOOKUP", func(*nats.Msg) [][]byte { return [][]byte{[]byte(tt.reply)} })
		o := lookInto(servers[0])
		o.Timeout, o.Servers = 500*time.Millisecond, 4 // the gathering does not end before the forged answer is there
		r := doctor.Judge(gather(t, accountDoctor(t, servers[0]), o), floors, expected(t, app, servers[0].System))
		nc.Close()
		if diff := cmp.Diff([]string{"fail D022 -"}, brief(r)); diff != "" || !strings.Contains(failing(r), tt.got) {
			t.Errorf("%s: got %q, want %q: %s\n%s", tt.name, failing(r), tt.got, diff, text(t, r))
		}
	}
}

// A user whom one server still takes, since it does not know of the revocation.
func TestRevokedUserIsConnected(t *testing.T) {
	t.Parallel()
	servers := fullCluster(t)
	app, n3 := servers[0].Account, servers[2]
	old := app.JWT(t)
	creds := app.User(t, jwt.Permissions{Pub: jwt.Permission{Allow: jwt.StringList{"x"}}})
	user, err := jwt.DecodeUserClaims(creds.JWT)
	if err != nil {
		t.Fatal(err)
	}
	next := app.Sign(t, time.Now(), func(c *jwt.AccountClaims) { c.RevokeAt(user.Subject, time.Now()) })
	for _, s := range servers[:2] {
		s.SetJWT(t, app, next)
	}
	if nc, err := nats.Connect(servers[0].URL(), creds.Option()); err == nil && nc.ConnectedServerName() != n3.Name() { // nats.go tries the others too
		t.Errorf("%s takes the revoked user", nc.ConnectedServerName())
	}
	n3.SetJWT(t, app, old)
	n3.Connect(t, creds)
	e := expected(t, app, n3.System)
	if e.Accounts[0], err = doctor.ExpectFrom(next, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	r := doctor.Judge(gather(t, accountDoctor(t, servers[0]), lookInto(n3)), floors, e)
	want, got := []string{"skip D021 n3", "skip D022 -", "fail D024 n3"}, "not revoked: user "+user.Subject
	if diff := cmp.Diff(want, brief(r)); diff != "" || !strings.Contains(failing(r), got) || !strings.Contains(failing(r), "connected though revoked") {
		t.Errorf("got %q: %s\n%s", failing(r), diff, text(t, r))
	}
}

func TestManyConnectionsAreRead(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	const n = 130
	for range n {
		s.Connect(t, s.User(t, jwt.Permissions{}))
	}
	snap := gather(t, accountDoctor(t, s), lookInto(s))
	users := map[uint64]bool{}
	for _, page := range snap.Accounts[0].Connz {
		for _, c := range page.Answers[0].Data.Connections {
			users[c.ID] = true
		}
	}
	if len(users) != n || len(snap.Accounts[0].Connz) != 3 {
		t.Errorf("got %d users on %d pages, want %d on 3", len(users), len(snap.Accounts[0].Connz), n)
	}
}

// What the doctor may not ask, its checks could not look at.
func TestAccountsWithoutAGrant(t *testing.T) {
	t.Parallel()
	for grant, want := range map[string][]string{
		"$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP": {"skip D022 -", "skip D022 -"},
		"$SYS.REQ.SERVER.PING.CONNZ": {"skip D019 test", "skip D021 test",
			"skip D023 test", "skip D024 test", "skip D024 test", "skip D025 test", "skip D026 test", "skip D027 test", "skip D027 test"},
		"$SYS.REQ.SERVER.PING.ACCOUNTZ": {"skip D019 test", "skip D021 test", "skip D021 test",
			"skip D023 test", "skip D023 test", "skip D024 test", "skip D024 test",
			"skip D025 test", "skip D025 test", "skip D026 test", "skip D026 test", "skip D027 test", "skip D027 test"},
		"": {},
	} {
		s := natstest.Start(t, natstest.FullResolver(t))
		s.SetJWT(t, s.Account, s.Account.JWT(t))
		perms := accountGrants()
		perms.Pub.Allow.Remove(grant)
		nc := s.Connect(t, s.System.User(t, perms, fit), nats.CustomInboxPrefix(inbox))
		r := doctor.Judge(gather(t, nc, lookInto(s)), floors, expected(t, s.Account, s.System))
		if diff := cmp.Diff(want, brief(r)); diff != "" {
			t.Errorf("without %q: %s\n%s", grant, diff, text(t, r))
		}
	}
}

// The refusal of a request comes by another way than answers do, and may be later than all of them.
func TestLateRefusalIsAwaited(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t, natstest.FullResolver(t))
	s.SetJWT(t, s.Account, s.Account.JWT(t))
	perms := accountGrants()
	perms.Pub.Allow.Remove("$SYS.REQ.SERVER.PING.ROUTEZ") // the first refusal, which holds up the others
	perms.Pub.Allow.Remove("$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP")
	release := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() { close(release) })
	nc := s.Connect(t, s.System.User(t, perms, fit), nats.CustomInboxPrefix(inbox),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) { <-release }))
	snap := gather(t, nc, lookInto(s))
	for _, a := range snap.Accounts {
		if !strings.Contains(a.Lookup.Refused, "the broker refuses the publish") {
			t.Errorf("account %s: got %+v, want a refusal", a.Name, a.Lookup)
		}
	}
}
