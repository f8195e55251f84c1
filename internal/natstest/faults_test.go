package natstest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

func denyAll(c *jwt.AccountClaims) { c.DefaultPermissions.Pub.Deny = jwt.StringList{">"} }

// publishes reports whether a user of the account may publish on the server.
func publishes(t *testing.T, s *natstest.Server) bool {
	t.Helper()
	return len(s.Raw(t, s.User(t, jwt.Permissions{})).Do(natstest.PubOp("x", "", ""))[0].Errs) == 0
}

func TestOneServerHasAnOldJWT(t *testing.T) {
	t.Parallel()
	servers := natstest.StartCluster(t, 2, natstest.FullResolver(t))
	app := servers[0].Account
	for _, s := range servers {
		s.SetJWT(t, app, app.JWT(t))
	}
	hourAgo := time.Now().Add(-time.Hour).Unix()
	old := app.Sign(t, time.Unix(hourAgo, 0), denyAll)
	if c, err := jwt.DecodeAccountClaims(old); err != nil || c.IssuedAt != hourAgo || c.ID == app.Claims.ID {
		t.Errorf("old JWT: got %+v, %v, want one issued at %d with an id of its own", c, err, hourAgo)
	}
	servers[1].SetJWT(t, app, old)
	if diff := cmp.Diff([]bool{true, false}, []bool{publishes(t, servers[0]), publishes(t, servers[1])}); diff != "" {
		t.Errorf("users may publish (-want +got):\n%s", diff)
	}
}

func TestProcessReloadsAnotherJWT(t *testing.T) {
	t.Parallel()
	f := natstest.StartProcesses(t, 1)
	n1 := f.Server(t, "n1")
	n1.Edit(func(config string) string {
		return strings.Replace(config, f.Account.JWT(t), f.Account.Sign(t, time.Now(), denyAll), 1)
	})
	n1.Reload()
	nc := n1.Connect(t, f.Account.User(t, jwt.Permissions{}))
	if err := nc.Publish("x", nil); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil || nc.LastError() == nil {
		t.Errorf("publish with the new JWT: got %v, %v, want a refusal", err, nc.LastError())
	}
}

func TestPushReachesEveryResolver(t *testing.T) {
	t.Parallel()
	servers := natstest.StartCluster(t, 2, natstest.FullResolver(t))
	nc := servers[0].Connect(t, servers[0].System.User(t, jwt.Permissions{}))
	natstest.Push(t, nc, servers[0].Account.JWT(t), len(servers))
	if !publishes(t, servers[1]) {
		t.Error("a user of the pushed account may not publish")
	}
}

func TestForgedAnswers(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	natstest.Forge(t, s.Connect(t, s.System.User(t, jwt.Permissions{})), "$SYS.REQ.SERVER.PING.VARZ", func(*nats.Msg) [][]byte {
		return [][]byte{[]byte(`{"server":{"name":"forged","cluster":"x"}}`)}
	})
	asks := s.Connect(t, s.System.User(t, jwt.Permissions{}))
	if diff := cmp.Diff(map[string]string{"test": "", "forged": "x"}, natstest.Answering(t, asks, 2)); diff != "" {
		t.Errorf("servers that answer, with their clusters (-want +got):\n%s", diff)
	}
}
