package natstest

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// operator holds the trust root that the servers of one cluster share.
type operator struct {
	key      nkeys.KeyPair
	claims   *jwt.OperatorClaims
	resolver *server.MemAccResolver
	system   *Account
	accounts []*Account // in the order of their making
}

func newOperator(t testing.TB) *operator {
	t.Helper()
	key := must(nkeys.CreateOperator())(t)
	o := &operator{key: key, resolver: &server.MemAccResolver{}}
	o.claims = jwt.NewOperatorClaims(must(key.PublicKey())(t))
	o.claims.Name = "test"
	o.system = o.account(t, "SYS", func(c *jwt.AccountClaims) { c.Limits.JetStreamLimits = jwt.JetStreamLimits{} })
	o.claims.SystemAccount = o.system.PublicKey()
	return o
}

// Account is an account that the operator has signed; its claims stand in the resolver.
type Account struct {
	// Key signs users of the account and Claims are the claims as signed.
	Key    nkeys.KeyPair
	Claims *jwt.AccountClaims

	operator *operator
}

func (o *operator) account(t testing.TB, name string, edit ...func(*jwt.AccountClaims)) *Account {
	t.Helper()
	key := must(nkeys.CreateAccount())(t)
	a := &Account{Key: key, Claims: jwt.NewAccountClaims(must(key.PublicKey())(t)), operator: o}
	a.Claims.Name = name
	a.Claims.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
	}
	for _, f := range edit {
		f(a.Claims)
	}
	a.store(t)
	o.accounts = append(o.accounts, a)
	return a
}

func (a *Account) store(t testing.TB) {
	t.Helper()
	token := must(a.Claims.Encode(a.operator.key))(t)
	if err := a.operator.resolver.Store(a.PublicKey(), token); err != nil {
		t.Fatalf("store account %s: %v", a.Claims.Name, err)
	}
}

// PublicKey is the account's public nkey.
func (a *Account) PublicKey() string { return a.Claims.Subject }

// User signs a user of the account with these permissions; edit changes the claims before they are signed.
func (a *Account) User(t testing.TB, perms jwt.Permissions, edit ...func(*jwt.UserClaims)) Creds {
	t.Helper()
	key := must(nkeys.CreateUser())(t)
	claims := jwt.NewUserClaims(must(key.PublicKey())(t))
	claims.Permissions = perms
	for _, f := range edit {
		f(claims)
	}
	return Creds{JWT: must(claims.Encode(a.Key))(t), Seed: string(must(key.Seed())(t))}
}

// Rewrite signs a user again after edit has changed the "nats" object of its claims: for claims that jwt/v2 does not write, such
// as an empty list.
func (a *Account) Rewrite(t testing.TB, c Creds, edit func(nats map[string]any)) Creds {
	t.Helper()
	return Creds{Seed: c.Seed, JWT: resign(t, c.JWT, a.Key, func(claims map[string]any) { edit(claims["nats"].(map[string]any)) })}
}

// resign signs a JWT again after edit has changed its claims.
func resign(t testing.TB, token string, key nkeys.KeyPair, edit func(claims map[string]any)) string {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("JWT: got %d parts, want 3", len(parts))
	}
	var claims map[string]any
	if err := json.Unmarshal(must(base64.RawURLEncoding.DecodeString(parts[1]))(t), &claims); err != nil {
		t.Fatalf("JWT: %v", err)
	}
	edit(claims)
	parts[1] = base64.RawURLEncoding.EncodeToString(must(json.Marshal(claims))(t))
	sig := must(key.Sign([]byte(parts[0] + "." + parts[1])))(t)
	parts[2] = base64.RawURLEncoding.EncodeToString(sig)
	return strings.Join(parts, ".")
}

// Creds is a user JWT with its seed.
type Creds struct {
	JWT, Seed string
}

// Option makes a nats.go connection use the credential.
func (c Creds) Option() nats.Option { return nats.UserJWTAndSeed(c.JWT, c.Seed) }

// sign signs a server nonce.
func (c Creds) sign(t testing.TB, nonce []byte) []byte {
	t.Helper()
	return must(must(nkeys.FromSeed([]byte(c.Seed)))(t).Sign(nonce))(t)
}

// must turns (value, error) into a value, failing the test on error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
