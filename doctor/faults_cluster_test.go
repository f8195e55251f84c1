package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/shape"
	"github.com/cotalctl/cotalctl/internal/spacetest"
	"github.com/cotalctl/cotalctl/matrix"
)

// newSpaceStand is a cluster of three that holds a space in several accounts, and a doctor with the contract's own credential.
func newSpaceStand(t *testing.T) *stand {
	t.Helper()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	sp := spacetest.NewResolved(t, c, "split", 3)
	s := &stand{t: t, servers: sp.Servers, system: sp.Servers[0].System, floors: floors,
		nc:   sp.OpenIn(t, contract.SystemAccount, "doctor", nil).Conn,
		hand: &hand{site: &site{Space: sp, t: t}, nc: map[string]*spacetest.Holder{}}}
	s.app = sp.Account(t, sp.Home(t, "CHAT"))
	s.opts = doctor.Options{Timeout: 4 * time.Second, Servers: 3, Identify: true, Streams: map[string][]string{},
		Accounts: []doctor.Account{{Name: contract.SystemAccount, Key: s.system.PublicKey()}}}
	accounts := []*natstest.Account{s.system}
	keys := map[string]string{}
	for _, name := range sp.Topology.Accounts {
		a := sp.Account(t, name)
		accounts, keys[name] = append(accounts, a), a.PublicKey()
		s.opts.Accounts = append(s.opts.Accounts, doctor.Account{Name: name, Key: a.PublicKey()})
	}
	s.expect = expected(t, accounts...)
	s.expect.Servers, s.expect.Keys, s.expect.AuthTimeout = 3, keys, time.Second
	s.expect.APILevel = 2
	if s.expect.Shape, err = shape.Declare(c, sp.Topology, sp.Name, 3); err != nil {
		t.Fatal(err)
	}
	s.expect.Credentials = []doctor.Credential{{File: "agent.creds", Issuer: s.app.PublicKey(), IssuedAt: time.Now().Add(-time.Hour).Unix(),
		Expires: time.Now().Add(9 * time.Hour).Unix()}}
	return s
}

func clusterFaults() []injected {
	var out []injected
	for _, group := range [][]injected{reloadFaults(), answerFaults(), claimFaults(), userFaults(), streamFaults(), fileFaults(), {nodeStopped()}} {
		out = append(out, group...)
	}
	return out
}

func TestFaultsOfACluster(t *testing.T) {
	t.Parallel()
	s := newSpaceStand(t)
	s.try(t, recordedFaults()) // they change nothing
	s.try(t, clusterFaults())
}

// reload changes options of a running server until the fault was seen.
func (s *stand) reload(name string, edit func(*server.Options)) {
	s.t.Helper()
	n := s.server(name)
	n.Reload(s.t, edit)
	s.t.Cleanup(func() { n.Reload(s.t) })
}

func (s *stand) server(name string) *natstest.Server {
	s.t.Helper()
	for _, n := range s.servers {
		if n.Name() == name {
			return n
		}
	}
	s.t.Fatalf("no server %s", name)
	return nil
}

func reloadFaults() []injected {
	return []injected{
		{"one low max_control_line", "`max_control_line: 4096` on n2, reloaded",
			func(s *stand) { s.reload("n2", func(o *server.Options) { o.MaxControlLine = 4096 }) }, []string{"D004 n2"}, nil, 0},
		{"one low max_payload", "`max_payload: 65536` on n3, reloaded",
			func(s *stand) { s.reload("n3", func(o *server.Options) { o.MaxPayload = 65536 }) }, []string{"D005 n3"}, nil, 0},
		{"an auth timeout below that of the callout", "`timeout: 0.5` on n2, reloaded, where a callout needs 1 s",
			func(s *stand) { s.reload("n2", func(o *server.Options) { o.AuthTimeout = 0.5 }) }, []string{"D017 n2"}, nil, 0},
		{"a server that takes no large credential",
			"`max_control_line: 4096` on n2; a credential of 14,000 bytes connects to every server, and no floor is stated",
			func(s *stand) {
				s.reload("n2", func(o *server.Options) { o.MaxControlLine = 4096 })
				s.floors.ControlLine = 0
				s.opts.Active = s.connects()
			}, []string{"D050 n2"}, nil, 0},
		{"another server at a server's address", "the address of n1 is stated for n2",
			func(s *stand) { s.opts.Addresses = map[string]string{"n2": s.servers[0].Addr().String()} }, []string{"D007 n2"}, nil, 0},
		{"nobody at a server's address", "a port where nobody listens is stated for n2",
			func(s *stand) { s.opts.Addresses = map[string]string{"n2": "127.0.0.1:1"} }, nil, []string{"n2"}, 1},
		{"a number of servers that is not so", "four servers are stated", func(s *stand) {
			s.expect.Servers = 4
		}, []string{"D001 -"}, with(), 0},
	}
}

// connects tries a large credential of the space on every server.
func (s *stand) connects() *doctor.Active {
	large := s.app.User(s.t, jwt.Permissions{}, func(u *jwt.UserClaims) { u.Name = strings.Repeat("x", 10000) })
	return &doctor.Active{Line: len(large.JWT) + 261, Connect: func(_ context.Context, address string) (string, error) {
		nc, err := nats.Connect("nats://"+address, large.Option(), nats.NoReconnect(), nats.IgnoreDiscoveredServers())
		if err != nil {
			return "", err
		}
		defer nc.Close()
		return nc.ConnectedServerId(), nil
	}}
}

// forge answers a monitoring request beside the servers, as another user of the system account, with what edit makes of n2's own
// answer. The doctor awaits one server more, so that this one does not come too late to be seen.
func (s *stand) forge(kind string, edit func(answer []byte) []byte) {
	s.t.Helper()
	var answer []byte
	ask := s.connect(s.system.User(s.t, jwt.Permissions{}))
	for _, a := range natstest.Ping(s.t, ask, kind, "", 3, 10*time.Second) {
		if a.Server.Name == "n2" {
			answer = a.Raw
		}
	}
	ask.Close()
	s.answer("$SYS.REQ.SERVER.PING."+kind, func() []byte { return edit(answer) })
}

// answer has another user of the system account answer a request too. It may do nothing else.
func (s *stand) answer(subject string, reply func() []byte) {
	s.t.Helper()
	var p jwt.Permissions
	p.Pub.Allow.Add(s.nc.Opts.InboxPrefix + ".>")
	p.Sub.Allow.Add(subject)
	natstest.Forge(s.t, s.connect(s.system.User(s.t, p, fit)), subject, func(*nats.Msg) [][]byte { return [][]byte{reply()} })
	s.opts.Servers, s.opts.Timeout = 4, 2*time.Second
}

// connect connects to the server that the doctor is connected to, so that its requests find what is subscribed here.
func (s *stand) connect(c natstest.Creds) *nats.Conn {
	s.t.Helper()
	if s.fleet != nil {
		return s.fleet.All()[0].Connect(s.t, c, nats.MaxReconnects(0))
	}
	return s.servers[0].Connect(s.t, c, nats.MaxReconnects(0))
}

// replaced replaces a text that the answer must hold.
func (s *stand) replaced(answer []byte, old, with string) []byte {
	if !bytes.Contains(answer, []byte(old)) {
		s.t.Errorf("the answer holds no %s: %s", old, answer)
	}
	return bytes.ReplaceAll(answer, []byte(old), []byte(with))
}

// id is the server id in an answer.
func id(answer []byte) string {
	var a struct {
		Server struct {
			ID string `json:"id"`
		} `json:"server"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return "none"
	}
	return a.Server.ID
}

// with are the objects of rows that cannot be looked at while it is open who answered for whom, with these servers beside.
func with(servers ...string) []string {
	return append([]string{"account authority", "account callout", "account space"}, servers...)
}

func answerFaults() []injected {
	const varz = "another system user answers VARZ too, "
	return []injected{
		{"conflicting duplicate answers", varz + "as n2 with another `max_payload`", func(s *stand) {
			s.forge("VARZ", func(a []byte) []byte { return s.replaced(a, `"max_payload":1048576`, `"max_payload":1048577`) })
		}, []string{"D001 -"}, with("n2"), 0},
		{"conflicting duplicate routes", "another system user answers ROUTEZ too, as n2 without routes", func(s *stand) {
			s.forge("ROUTEZ", func(a []byte) []byte { return s.replaced(a, `"routes":[`, `"routes":[],"more":[`) })
		}, []string{"D001 -"}, with("n2"), 0},
		{"a forged answer in the name of a real server", varz + "as n2 with a new id", func(s *stand) {
			s.forge("VARZ", func(a []byte) []byte { return s.replaced(a, id(a), "N"+strings.Repeat("A", 55)) })
		}, []string{"D001 -"}, with("n2"), 0},
		{"a forged answer with the id of a real server", varz + "with n2's id and the name n4", func(s *stand) {
			s.forge("VARZ", func(a []byte) []byte { return s.replaced(a, `"name":"n2"`, `"name":"n4"`) })
		}, []string{"D001 -"}, with("n2"), 0},
		{"a forged answer of a new server", varz + "as n4 with a new id", func(s *stand) {
			s.forge("VARZ", func(a []byte) []byte {
				return s.replaced(s.replaced(a, id(a), "N"+strings.Repeat("A", 55)), `"name":"n2"`, `"name":"n4"`)
			})
		}, []string{"D001 -"}, with("n4"), 0},
		{"a malformed answer", varz + "with what is no JSON", func(s *stand) {
			s.forge("VARZ", func([]byte) []byte { return []byte("\x00hello") })
		}, []string{"D001 -"}, nil, 0},
		{"a malformed answer in the name of a server", varz + "as n2 with data that is a text", func(s *stand) {
			s.forge("VARZ", func(a []byte) []byte { return s.replaced(a, `"data":{`, `"data":"none","more":{`) })
		}, []string{"D001 -"}, with("n2"), 0},
		{"a forged account JWT", "another system user answers the lookup of the account too, with the JWT of another account", func(s *stand) {
			s.answer("$SYS.REQ.ACCOUNT."+s.app.PublicKey()+".CLAIMS.LOOKUP", func() []byte { return []byte(s.system.JWT(s.t)) })
		}, []string{"D022 - account space"}, nil, 0},
	}
}

// hold gives n2 another JWT of the account, signed an hour ago, and waits until it acts on it.
func (s *stand) hold(edit func(*jwt.AccountClaims)) {
	s.t.Helper()
	n2, base := s.server("n2"), s.app.JWT(s.t)
	s.give(s.app.Sign(s.t, time.Now().Add(-time.Hour), edit), n2)
	s.t.Cleanup(func() { s.give(base, n2) })
}

// issue gives servers the account's next JWT, which the operator knows.
func (s *stand) issue(next string, servers ...*natstest.Server) {
	s.t.Helper()
	base := s.app.JWT(s.t)
	s.give(next, servers...)
	s.t.Cleanup(func() { s.give(base, servers...) })
	s.knows(next)
}

// give gives servers a JWT of the account, and waits until they act on it.
func (s *stand) give(token string, servers ...*natstest.Server) {
	s.t.Helper()
	for _, n := range servers {
		n.SetJWT(s.t, s.app, token)
		awaitHeld(s.t, n, s.app, token)
	}
}

// knows makes a JWT the one that the operator knows of the account.
func (s *stand) knows(token string) {
	s.t.Helper()
	x, err := doctor.ExpectFrom(token, func(string) bool { return true })
	if err != nil {
		s.t.Fatal(err)
	}
	s.expect.Accounts = slices.Clone(s.expect.Accounts)
	for i, e := range s.expect.Accounts {
		if e.Key == x.Key {
			s.expect.Accounts[i] = x
		}
	}
}

// claimFault is a change of the account's JWT that n2 alone holds. That it is not the directory's is explained by what the change is.
func claimFault(name, what, check string, edit func(t *testing.T, c *jwt.AccountClaims)) injected {
	return injected{name, what + " in the account JWT on n2", func(s *stand) { s.hold(func(c *jwt.AccountClaims) { edit(s.t, c) }) },
		[]string{check + " n2 account space"}, []string{"account space", "n2"}, 0}
}

func claimFaults() []injected {
	return []injected{
		{"a stale account JWT", "n2 alone holds one that was issued an hour ago", func(s *stand) {
			s.hold(func(c *jwt.AccountClaims) { c.Tags.Add("old") })
		}, []string{"D021 n2 account space"}, []string{"account space"}, 0},
		{"a missing revocation", "every directory revokes a user but that of n2", func(s *stand) {
			next := s.app.Sign(s.t, time.Now(), func(c *jwt.AccountClaims) { c.RevokeAt(userKey(s.t), time.Now()) })
			s.issue(next, s.server("n1"), s.server("n3"))
		}, []string{"D024 n2 account space"}, []string{"account space", "n2"}, 0},
		claimFault("an undeclared mapping", "a mapping", "D023", func(_ *testing.T, c *jwt.AccountClaims) {
			c.Mappings = jwt.Mapping{"a": {{Subject: "b"}}}
		}),
		claimFault("an undeclared export", "an export", "D023", func(_ *testing.T, c *jwt.AccountClaims) {
			c.Exports.Add(&jwt.Export{Subject: "x.>", Type: jwt.Stream})
		}),
		claimFault("default permissions", "a default permission", "D023", func(_ *testing.T, c *jwt.AccountClaims) {
			c.DefaultPermissions.Pub.Deny.Add("x")
		}),
		claimFault("an unknown signing key", "a signing key", "D025", func(t *testing.T, c *jwt.AccountClaims) { c.SigningKeys.Add(accountKey(t)) }),
		claimFault("a signing key of the fixtures", "the fixtures' signing key", "D027", func(_ *testing.T, c *jwt.AccountClaims) {
			c.SigningKeys.Add(contract.FixtureSigner)
		}),
	}
}

func userFaults() []injected {
	user := func(name, what string, edit func(p *jwt.Permissions, c *jwt.UserClaims)) injected {
		return injected{name, "a connection of a doctor's credential " + what + " to n2", func(s *stand) {
			perms := accountGrants()
			nc := s.server("n2").Connect(s.t, s.system.User(s.t, perms, fit, func(c *jwt.UserClaims) { edit(&c.Permissions, c) }), nats.MaxReconnects(0))
			s.t.Cleanup(nc.Close)
		}, []string{"D019 n2 account system"}, nil, 0}
	}
	return []injected{
		user("an unrestricted system user", "with `$SYS.>`", func(p *jwt.Permissions, _ *jwt.UserClaims) { p.Pub.Allow.Add("$SYS.>") }),
		user("a system user that never expires", "without an end", func(_ *jwt.Permissions, c *jwt.UserClaims) { c.Expires = 0 }),
		user("a system user for leaf nodes", "for any type of connection", func(_ *jwt.Permissions, c *jwt.UserClaims) { c.AllowedConnectionTypes = nil }),
	}
}

func nodeStopped() injected {
	return injected{"a node stopped", "n3 is shut down in order", func(s *stand) {
		n3 := s.server("n3")
		n3.Shutdown()
		n3.WaitForShutdown()
		awaitMesh(s.t, s.servers[:2])
		s.missing()
	}, []string{"D001 -"}, with(), 0}
}
