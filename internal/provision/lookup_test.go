package provision_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/provision"
)

// TestLookupAccount: one server of three that holds an older JWT is seen, whichever server the connection is to, and a push brings
// all of them to one again.
func TestLookupAccount(t *testing.T) {
	servers := natstest.StartCluster(t, 3, natstest.FullResolver(t))
	app := servers[0].Account
	now, old := app.JWT(t), app.Sign(t, time.Now().Add(-time.Hour), func(c *jwt.AccountClaims) { c.Tags.Add("old") })
	for _, s := range servers {
		s.SetJWT(t, app, now)
	}
	servers[1].SetJWT(t, app, old)
	copies := map[string]string{now: "now", old: "old", "": "none"}
	for _, s := range servers {
		nc := s.Connect(t, s.System.User(t, jwt.Permissions{}))
		natstest.Answering(t, nc, 3)
		for _, n := range []int{3, 0} { // also where the number is not known
			held, err := provision.LookupAccount(t.Context(), nc, app.PublicKey(), n)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, token := range held {
				got[copies[token]] = true
			}
			if diff := cmp.Diff(map[string]bool{"now": true, "old": true}, got); diff != "" || len(held) != 2 {
				t.Errorf("%s, %d servers: %s", s.Name(), n, diff)
			}
		}
	}
	nc := servers[0].Connect(t, servers[0].System.User(t, jwt.Permissions{}))
	natstest.Push(t, nc, now, 3)
	if held, err := provision.LookupAccount(t.Context(), nc, app.PublicKey(), 3); err != nil || len(held) != 1 || held[0] != now {
		t.Errorf("after a push: got %d copies (%v), want one, the pushed", len(held), err)
	}
	if held, err := provision.LookupAccount(t.Context(), nc, servers[0].Server.ID(), 3); err != nil || !cmp.Equal(held, []string{""}) {
		t.Errorf("an account that nobody knows: got %d copies (%v), want an empty one", len(held), err)
	}
}
