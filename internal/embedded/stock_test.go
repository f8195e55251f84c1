package embedded_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/trust"
)

func TestStockServer(t *testing.T) {
	t.Run("push and kill", pushAndKill)
	t.Run("restart with an older configuration", keepNewer)
}

func pushAndKill(t *testing.T) {
	d := newDir(t)
	account(t, d, "main", nil)
	config := writeConfig(t, d)
	s := natstest.StartStock(t, config)
	if n := store(t, connect(t, s.URL(), user(t, d, "main"))); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}

	late := account(t, d, "late", nil) // not in the configuration: it must be pushed
	// The server asks its cluster for an account that it does not know, for about two seconds.
	if _, err := nats.Connect(s.URL(), user(t, d, "late"), nats.Timeout(patience)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("before the push: got %v, want %v", err, nats.ErrAuthorization)
	}
	pusher := systemConn(t, d, s.URL())
	push(t, pusher, late.JWT)
	if n := store(t, connect(t, s.URL(), user(t, d, "late"))); n != 1 {
		t.Errorf("pushed account: %d messages, want 1", n)
	}
	updated := account(t, d, "late", func(c *jwt.AccountClaims) { c.Limits.Conn = 7 })
	push(t, pusher, updated.JWT)

	s.Kill()
	s.Restart() // the very configuration, which knows nothing of the pushed account
	for space, want := range map[string]uint64{"main": 2, "late": 2} {
		if n := store(t, connect(t, s.URL(), user(t, d, space))); n != want {
			t.Errorf("%s after kill and restart: %d messages, want %d", space, n, want)
		}
	}
	if got := lookup(t, systemConn(t, d, s.URL()), late.Public); got != updated.JWT {
		t.Error("after kill and restart the pushed update is lost")
	}
}

// keepNewer: a restart with a configuration written before an update keeps the update.
func keepNewer(t *testing.T) {
	d := newDir(t)
	account(t, d, "main", nil)
	config := writeConfig(t, d)
	s := natstest.StartStock(t, config)
	updated := account(t, d, "main", func(c *jwt.AccountClaims) { c.Limits.Conn = 7 })
	push(t, systemConn(t, d, s.URL()), updated.JWT)
	s.Kill()
	s.Restart()
	if got := lookup(t, systemConn(t, d, s.URL()), updated.Public); got != updated.JWT {
		t.Error("the older account of the configuration replaced the pushed one")
	}
}

func writeConfig(t *testing.T, d *trust.Dir) string {
	t.Helper()
	unlock, err := d.Lock(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	path, _, err := d.WriteServerConfig(trust.ServerOptions{Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func systemConn(t *testing.T, d *trust.Dir, url string) *nats.Conn {
	t.Helper()
	path, err := d.Creds("", "pusher")
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, url, nats.UserCredentials(path))
}

// push is the bare request, without the helper of provisioning.
func push(t *testing.T, nc *nats.Conn, token string) {
	t.Helper()
	msg, err := nc.RequestWithContext(bounded(t), "$SYS.REQ.CLAIMS.UPDATE", []byte(token))
	if err != nil {
		t.Fatal(err)
	}
	var reply struct {
		Data struct {
			Code int `json:"code"`
		} `json:"data"`
	}
	if err := json.Unmarshal(msg.Data, &reply); err != nil || reply.Data.Code != 200 {
		t.Fatalf("push: %s (%v)", msg.Data, err)
	}
}

func lookup(t *testing.T, nc *nats.Conn, account string) string {
	t.Helper()
	msg, err := nc.RequestWithContext(bounded(t), "$SYS.REQ.ACCOUNT."+account+".CLAIMS.LOOKUP", nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(msg.Data)
}
