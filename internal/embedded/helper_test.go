package embedded_test

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/embedded"
	"github.com/cotalctl/cotalctl/internal/trust"
)

const patience = 60 * time.Second

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// newUser is a user of an account with plain permissions, as connection options and as a credentials file.
func newUser(account string, key nkeys.KeyPair, allow ...string) (nats.Option, []byte, error) {
	user, err := nkeys.CreateUser()
	if err != nil {
		return nil, nil, err
	}
	public, err := user.PublicKey()
	if err != nil {
		return nil, nil, err
	}
	seed, err := user.Seed()
	if err != nil {
		return nil, nil, err
	}
	c := jwt.NewUserClaims(public)
	c.IssuerAccount = account
	c.Pub.Allow, c.Sub.Allow = allow, jwt.StringList{">"}
	token, err := c.Encode(key)
	if err != nil {
		return nil, nil, err
	}
	file, err := jwt.FormatUserConfig(token, seed)
	return nats.UserJWTAndSeed(token, string(seed)), file, err
}

func newDir(t *testing.T) *trust.Dir {
	t.Helper()
	d, _, err := trust.Ensure(bounded(t), filepath.Join(t.TempDir(), "space"), trust.Options{
		Now: time.Now(), Rand: rand.Reader,
		MintSystem: func(s trust.SystemIssuer) (map[string][]byte, error) {
			_, file, err := newUser(s.Account, s.Key, "$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP")
			return map[string][]byte{"pusher": file}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func account(t *testing.T, d *trust.Dir, space string, claims func(*jwt.AccountClaims)) *trust.Account {
	t.Helper()
	unlock, err := d.Lock(bounded(t))
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

// user is a user of a space that may do everything in its account.
func user(t *testing.T, d *trust.Dir, space string) nats.Option {
	t.Helper()
	key, a, err := d.SigningKey(space, "")
	if err != nil {
		t.Fatal(err)
	}
	o, _, err := newUser(a.Public, key, ">")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func start(t *testing.T, o embedded.Options) *embedded.Server {
	t.Helper()
	if !o.Silent {
		o.Config.Port = -1
	}
	s, err := embedded.Start(bounded(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t *testing.T, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, append(options, nats.NoReconnect(), nats.Timeout(patience))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// store publishes one message to the stream S, which it makes where it is missing, and returns the count stored.
func store(t *testing.T, nc *nats.Conn) uint64 {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.CreateOrUpdateStream(bounded(t), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(bounded(t), "s.x", []byte("x")); err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}
