package mint

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
)

// broker runs an embedded server in operator mode with one account that lists one signing key.
type broker struct {
	url          string
	identitySeed []byte
	signingSeed  []byte
	account      string
	signing      nkeys.KeyPair
}

func startBroker(t *testing.T) *broker {
	t.Helper()
	return startBrokerWith(t, 65536)
}

func startBrokerWith(t *testing.T, maxControlLine int32) *broker {
	t.Helper()
	operator, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{}
	b.identitySeed, b.account, _ = accountKey(t, 21)
	signingSeed, signing, pair := accountKey(t, 22)
	b.signingSeed, b.signing = signingSeed, pair
	claims := jwt.NewAccountClaims(b.account)
	claims.Name = "main"
	claims.SigningKeys.Add(signing)
	token, err := claims.Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	operatorKey, err := operator.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(b.account, token); err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, MaxControlLine: maxControlLine,
		TrustedKeys: []string{operatorKey}, AccountResolver: resolver,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not accept connections")
	}
	b.url = s.ClientURL()
	return b
}

// connect replaces the client's printing error handler: outcome reads the last error instead.
func (b *broker) connect(t *testing.T, creds []byte) (*nats.Conn, error) {
	t.Helper()
	nc, err := nats.Connect(b.url, nats.UserCredentialBytes(creds), nats.NoReconnect(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return nil, err
	}
	t.Cleanup(nc.Close)
	return nc, nil
}

func (b *broker) mint(t *testing.T, seed []byte, edit func(*Request)) *nats.Conn {
	t.Helper()
	nc, err := b.connect(t, b.creds(t, seed, edit))
	if err != nil {
		t.Fatal(err)
	}
	return nc
}

func (b *broker) creds(t *testing.T, seed []byte, edit func(*Request)) []byte {
	t.Helper()
	r := request()
	r.Now = time.Now()
	edit(&r)
	cred, err := newIssuer(t, seed, b.account).Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	creds, err := cred.Creds()
	if err != nil {
		t.Fatal(err)
	}
	return creds
}

// outcome flushes and reports whether the server refused something. Its errors precede the answer to the flush.
func outcome(t *testing.T, nc *nats.Conn) string {
	t.Helper()
	if err := nc.FlushTimeout(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	err := nc.LastError()
	if err == nil {
		return "allowed"
	}
	if !errors.Is(err, nats.ErrPermissionViolation) {
		t.Fatalf("unexpected error: %v", err)
	}
	return "refused"
}

// TestLivePermissions probes minted credentials of both issuer forms on a broker: each denied operation beside an allowed one.
func TestLivePermissions(t *testing.T) {
	b := startBroker(t)
	cases := []struct{ op, subject, queue, want string }{
		{"pub", "a.b", "", "allowed"},
		{"pub", "a.c.deep.er", "", "allowed"},
		{"pub", "a.x", "", "refused"},
		{"pub", "a.c", "", "refused"},
		{"sub", "in.one", "", "allowed"},
		{"sub", "in.one.two", "", "refused"},
		{"sub", "jobs", "workers", "allowed"},
		{"sub", "jobs", "others", "refused"},
		{"sub", "jobs", "", "refused"},
	}
	sub := patterns("in.*")
	sub.Allow = append(sub.Allow, compile.Entry{Pattern: "jobs", Queue: "workers"})
	perms := set(patterns("a.b", "a.c.>"), sub)
	for name, seed := range map[string][]byte{"identity key": b.identitySeed, "signing key": b.signingSeed} {
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s/%s %s %s", name, c.op, c.subject, c.queue), func(t *testing.T) {
				nc := b.mint(t, seed, func(r *Request) { r.Set = perms })
				var err error
				switch {
				case c.op == "pub":
					err = nc.Publish(c.subject, nil)
				case c.queue == "":
					_, err = nc.SubscribeSync(c.subject)
				default:
					_, err = nc.QueueSubscribeSync(c.subject, c.queue)
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := outcome(t, nc); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		}
	}
}

// TestLiveNone holds mode none to mean nothing at all: an empty list would be allow-all.
func TestLiveNone(t *testing.T) {
	b := startBroker(t)
	for _, c := range []struct {
		pub  compile.List
		want string
	}{{compile.List{Mode: compile.ModeNone}, "refused"}, {patterns("a"), "allowed"}} {
		nc := b.mint(t, b.signingSeed, func(r *Request) { r.Set = set(c.pub, patterns("b")) })
		if err := nc.Publish("a", nil); err != nil {
			t.Fatal(err)
		}
		if got := outcome(t, nc); got != c.want {
			t.Errorf("publish under mode %s, got %s, want %s", c.pub.Mode, got, c.want)
		}
	}
}

// TestLiveAuthentication shows what keeps a credential from connecting, and that the same one connects without it.
func TestLiveAuthentication(t *testing.T) {
	b := startBroker(t)
	good := b.creds(t, b.signingSeed, func(*Request) {})
	if _, err := b.connect(t, good); err != nil {
		t.Fatalf("the good credential: %v", err)
	}
	strangerSeed, _, _ := accountKey(t, 23)
	refused := map[string][]byte{
		"expired":      b.creds(t, b.signingSeed, func(r *Request) { r.Now, r.TTL = time.Now().Add(-time.Hour), time.Minute }),
		"stranger":     b.creds(t, strangerSeed, func(*Request) {}),
		"not standard": b.reissue(t, good, jwt.ConnectionTypeWebsocket),
	}
	for name, creds := range refused {
		if _, err := b.connect(t, creds); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s, got %v, want %v", name, err, nats.ErrAuthorization)
		}
	}
	if _, err := b.connect(t, b.reissue(t, good, jwt.ConnectionTypeStandard)); err != nil {
		t.Errorf("the good credential, issued anew for STANDARD: %v", err)
	}
}

// reissue signs the claims of a .creds text anew with other connection types.
func (b *broker) reissue(t *testing.T, creds []byte, types ...string) []byte {
	t.Helper()
	parsed, err := ReadCreds(creds)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(jwt.StringList{jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket}, parsed.Claims.AllowedConnectionTypes); diff != "" {
		t.Fatalf("connection types (-want +got):\n%s", diff)
	}
	parsed.Claims.AllowedConnectionTypes = types
	token, err := parsed.Claims.Encode(b.signing)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := jwt.ParseDecoratedUserNKey(creds)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	out, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestConnectBytesIsWhatTheBrokerCounts sets max_control_line to the measured size, and to one byte less.
func TestConnectBytesIsWhatTheBrokerCounts(t *testing.T) {
	b := startBroker(t)
	creds := b.creds(t, b.signingSeed, func(r *Request) { r.Set = agentLike() })
	parsed, err := ReadCreds(creds)
	if err != nil {
		t.Fatal(err)
	}
	size := (&Credential{JWT: parsed.JWT}).ConnectBytes("limit")
	for _, c := range []struct {
		limit int
		fits  bool
	}{{size, true}, {size - 1, false}} {
		if got := b.fits(t, creds, c.limit); got != c.fits {
			t.Errorf("max_control_line %d for %d bytes: connected %t, want %t", c.limit, size, got, c.fits)
		}
	}
}

// fits reports whether a client named "limit" connects to a broker with this max_control_line.
func (b *broker) fits(t *testing.T, creds []byte, limit int) bool {
	t.Helper()
	small := startBrokerWith(t, int32(limit))
	nc, err := nats.Connect(small.url, nats.UserCredentialBytes(creds), nats.Name("limit"), nats.NoReconnect())
	if err != nil {
		return false
	}
	nc.Close()
	return true
}
