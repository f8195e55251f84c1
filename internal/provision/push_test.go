package provision_test

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/embedded"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// pushUser is a user of an account that may publish the given subjects.
func pushUser(account string, key nkeys.KeyPair, allow ...string) ([]byte, error) {
	user, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	public, err := user.PublicKey()
	if err != nil {
		return nil, err
	}
	seed, err := user.Seed()
	if err != nil {
		return nil, err
	}
	c := jwt.NewUserClaims(public)
	c.IssuerAccount, c.Pub.Allow, c.Sub.Allow = account, allow, jwt.StringList{"_INBOX.>"}
	token, err := c.Encode(key)
	if err != nil {
		return nil, err
	}
	return jwt.FormatUserConfig(token, seed)
}

// pushBroker is a broker with one space, main, and system credentials that may push and that may do nothing.
func pushBroker(t *testing.T) (*trust.Dir, *embedded.Server) {
	t.Helper()
	d, _, err := trust.Ensure(t.Context(), filepath.Join(t.TempDir(), "space"), trust.Options{
		Now: time.Now(), Rand: rand.Reader,
		MintSystem: func(s trust.SystemIssuer) (map[string][]byte, error) {
			may, err := pushUser(s.Account, s.Key, "$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP")
			if err != nil {
				return nil, err
			}
			not, err := pushUser(s.Account, s.Key, "nothing")
			return map[string][]byte{"may": may, "not": not}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	pushAccount(t, d, "main", nil)
	s, err := embedded.Start(t.Context(), embedded.Options{Dir: d, Config: trust.ServerOptions{Port: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return d, s
}

func pushAccount(t *testing.T, d *trust.Dir, space string, claims func(*jwt.AccountClaims)) *trust.Account {
	t.Helper()
	unlock, err := d.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	a, _, err := d.EnsureAccount(trust.AccountSpec{Space: space, Now: time.Now(), Rand: rand.Reader, Claims: claims})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func pushConn(t *testing.T, d *trust.Dir, s *embedded.Server, name string) *nats.Conn {
	t.Helper()
	path, err := d.Creds("", name)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(s.ClientURL(), nats.UserCredentials(path), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func TestPushAccount(t *testing.T) {
	d, s := pushBroker(t)
	old := pushAccount(t, d, "late", nil)
	updated := pushAccount(t, d, "late", func(c *jwt.AccountClaims) { c.Limits.Conn = 7 })
	may := pushConn(t, d, s, "may")
	for i, token := range []string{old.JWT, updated.JWT, updated.JWT} {
		if err := provision.PushAccount(t.Context(), may, token); err != nil {
			t.Fatalf("push %d: %v", i, err)
		}
	}
	key, a, err := d.SigningKey("late", "")
	if err != nil {
		t.Fatal(err)
	}
	file, err := pushUser(a.Public, key, "x")
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(s.ClientURL(), nats.UserCredentialBytes(file), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatalf("user of the pushed account: %v", err)
	}
	nc.Close()
}

func TestPushAccountRefused(t *testing.T) {
	d, s := pushBroker(t)
	ours := pushAccount(t, d, "late", nil)
	other, _ := pushBroker(t)
	foreign := pushAccount(t, other, "late", nil)
	for _, c := range []struct {
		name, user, token, want string
		timeout                 time.Duration
	}{
		{"control", "may", ours.JWT, "", time.Minute},
		{"no permission", "not", ours.JWT, "not permitted to publish $SYS.REQ.CLAIMS.UPDATE", 200 * time.Millisecond},
		{"not a JWT", "may", "x.y.z", "account JWT: ", time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
			defer cancel()
			err := provision.PushAccount(ctx, pushConn(t, d, s, c.user), c.token)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), c.token) && len(c.token) > 10 {
				t.Error("message holds the JWT")
			}
		})
	}
	// Of another operator: the resolver stores any well-formed account (measured), and login is where the operator is checked.
	if err := provision.PushAccount(t.Context(), pushConn(t, d, s, "may"), foreign.JWT); err != nil {
		t.Errorf("foreign account: got %v, want it stored: what guards is the check at login", err)
	}
	key, a, err := other.SigningKey("late", "")
	if err != nil {
		t.Fatal(err)
	}
	file, err := pushUser(a.Public, key, "x")
	if err != nil {
		t.Fatal(err)
	}
	if nc, err := nats.Connect(s.ClientURL(), nats.UserCredentialBytes(file), nats.Timeout(time.Minute)); err == nil {
		nc.Close()
		t.Error("a user of another operator's account was let in")
	} else if !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("foreign user: got %v, want %v", err, nats.ErrAuthorization)
	}
}

// TestPushEverywhere: each server that is named must answer; one that is not there is missed, and named.
func TestPushEverywhere(t *testing.T) {
	d, s := pushBroker(t)
	old := pushAccount(t, d, "late", nil)
	next := pushAccount(t, d, "late", func(c *jwt.AccountClaims) { c.Limits.Conn = 7 })
	id := pushConn(t, d, s, "may").ConnectedServerId()
	for _, c := range []struct {
		name, user, token, want string
		servers                 []string
		timeout                 time.Duration
	}{
		{"whichever answers", "may", old.JWT, "", nil, time.Minute},
		{"the server", "may", next.JWT, "", []string{id}, time.Minute},
		{"again", "may", next.JWT, "", []string{id}, time.Minute},
		{"an older one", "may", old.JWT, "", []string{id}, time.Minute},
		{"a server that is not there", "may", next.JWT, "no answer of server NGONE", []string{id, "NGONE"}, time.Second},
		{"no permission", "not", next.JWT, "not permitted to publish $SYS.REQ.CLAIMS.UPDATE", []string{id}, time.Second},
		{"not a JWT", "may", "x.y.z", "account JWT: ", []string{id}, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
			defer cancel()
			nc := pushConn(t, d, s, c.user)
			err := provision.PushEverywhere(ctx, nc, c.token, c.servers)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if err != nil {
				return
			}
			if held, err := s.LookupAccount(t.Context(), old.Public); err != nil || held != c.token {
				t.Errorf("the broker holds another JWT (%v)", err)
			}
		})
	}
}
