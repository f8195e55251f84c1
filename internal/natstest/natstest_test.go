package natstest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

func TestRawTiesAnswersToOperations(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	r := s.Raw(t, s.User(t, jwt.Permissions{Pub: jwt.Permission{Allow: jwt.StringList{"a.>"}}}))
	got := r.Do(
		natstest.SubOp("a.*", "", "1"),
		natstest.PubOp("b", "", "no"),
		natstest.PubOp("a.x", "back", "yes"),
		"HPUB a.y 12 15\r\nNATS/1.0\r\n\r\nabc",
	)
	want := []natstest.Reply{
		{},
		{Errs: []string{`Permissions Violation for Publish to "b"`}},
		{Msgs: []natstest.Msg{{Subject: "a.x", SID: "1", ReplyTo: "back", Data: "yes"}}},
		{Msgs: []natstest.Msg{{Subject: "a.y", SID: "1", Header: "NATS/1.0\r\n\r\n", Data: "abc"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
}

func TestLoginRefused(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	good := s.User(t, jwt.Permissions{})
	if errs := s.Login(t, good); len(errs) > 0 {
		t.Errorf("login of a good user: got %v, want none", errs)
	}
	leaf := s.User(t, jwt.Permissions{}, func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add(jwt.ConnectionTypeLeafnode) })
	if diff := cmp.Diff([]string{"Authorization Violation"}, s.Login(t, leaf)); diff != "" {
		t.Errorf("login of a leaf user (-want +got):\n%s", diff)
	}
}

func TestAccountsAreApart(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	other := s.NewAccount(t, "OTHER")
	app, foreign := s.Raw(t, s.User(t, jwt.Permissions{})), s.Raw(t, other.User(t, jwt.Permissions{}))
	app.Do(natstest.SubOp(">", "", "1"))
	foreign.Do(natstest.PubOp("x", "", "foreign"))
	got := app.Do(natstest.PubOp("x", "", "own"))[0]
	if diff := cmp.Diff([]natstest.Msg{{Subject: "x", SID: "1", Data: "own"}}, got.Msgs); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestUpdateAccountAppliesAtOnce(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	user := s.User(t, jwt.Permissions{})
	r := s.Raw(t, user)
	if errs := r.Do(natstest.SubOp("a", "", "1"))[0].Errs; len(errs) > 0 {
		t.Fatalf("SUB before: got %v, want none", errs)
	}
	s.UpdateAccount(t, s.Account, func(c *jwt.AccountClaims) {
		c.DefaultPermissions.Sub.Deny = jwt.StringList{">"}
	})
	want := []string{
		`Permissions Violation for Subscription to "a" (sid "1")`, // the standing subscription is taken away
		`Permissions Violation for Subscription to "b"`,
	}
	if diff := cmp.Diff(want, r.Do(natstest.SubOp("b", "", "2"))[0].Errs); diff != "" {
		t.Errorf("SUB after (-want +got):\n%s", diff)
	}
}

func TestClusterHasOneJetStream(t *testing.T) {
	t.Parallel()
	servers := natstest.StartCluster(t, 3)
	nc := servers[2].Connect(t, servers[0].User(t, jwt.Permissions{}))
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	info, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Replicas: 3, Storage: nats.MemoryStorage})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(info.Cluster.Replicas); got != 2 {
		t.Errorf("replicas beside the leader: got %d, want 2", got)
	}
}

// A server without JetStream is no peer of those with it, and is not waited for.
func TestClusterWithoutJetStreamOnOne(t *testing.T) {
	if testing.Short() {
		t.Skip("the peers wait for the missing one for five seconds")
	}
	t.Parallel()
	servers := natstest.StartCluster(t, 3, func(o *server.Options) { o.JetStream = o.ServerName != "n2" })
	got := make([]bool, len(servers))
	for i, s := range servers {
		got[i] = s.JetStreamEnabled()
	}
	if diff := cmp.Diff([]bool{true, false, true}, got); diff != "" {
		t.Errorf("JetStream is on (-want +got):\n%s", diff)
	}
}
