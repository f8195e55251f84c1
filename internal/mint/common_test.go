package mint

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// noon is the issue time of tests that do not compare with a clock.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// material is fixed key material, one per n.
func material(n byte) []byte { return bytes.Repeat([]byte{n}, ed25519.SeedSize) }

// accountKey is a fixed account key, one per n.
func accountKey(t testing.TB, n byte) (seed []byte, public string, pair nkeys.KeyPair) {
	t.Helper()
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteAccount, material(n))
	if err != nil {
		t.Fatal(err)
	}
	if pair, err = nkeys.FromSeed(seed); err != nil {
		t.Fatal(err)
	}
	if public, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return seed, public, pair
}

func newIssuer(t testing.TB, seed []byte, account string) *Issuer {
	t.Helper()
	issuer, err := NewIssuer(seed, account)
	if err != nil {
		t.Fatal(err)
	}
	return issuer
}

func profile() *contract.Profile {
	return &contract.Profile{
		Name: "worker", Trust: contract.TrustUntrusted,
		Lifetime: contract.Lifetime{Class: contract.LifetimeStanding, Default: 24 * time.Hour, Max: 48 * time.Hour},
	}
}

func patterns(allow ...string) compile.List {
	l := compile.List{Mode: compile.ModePatterns}
	for _, a := range allow {
		l.Allow = append(l.Allow, compile.Entry{Pattern: a, Rows: []string{"R-" + a}})
	}
	return l
}

func set(pub, sub compile.List) *compile.PermissionSet {
	return &compile.PermissionSet{Profile: "worker", Account: "main", Pub: pub, Sub: sub}
}

// agentLike is a set of about sixty rows with names as long as real ones.
func agentLike() *compile.PermissionSet {
	pub, sub := compile.List{Mode: compile.ModePatterns}, compile.List{Mode: compile.ModePatterns}
	for n := range 20 {
		pub.Allow = append(pub.Allow,
			entry("CHAT-SEND", "", "acme.prod.chat.ownerone.actortwo.channel-%02d", n),
			entry("HISTORY", "", "$JS.API.CONSUMER.CREATE.CHAT_acme_prod.hist_ownerone_actortwo_%02d.acme.prod.chat.>", n))
	}
	for n := range 14 {
		sub.Allow = append(sub.Allow, entry("CHAT-READ", "", "acme.prod.chat.*.*.channel-%02d", n))
	}
	for n := range 4 {
		sub.Allow = append(sub.Allow, entry("SERVE", "workers", "acme.prod.ep.one.endpoint%02d.run.>", n))
		sub.Deny = append(sub.Deny, entry("CLOSE", "", "acme.prod.chat.*.*.channel-%02d.>", n))
	}
	return set(pub, sub)
}

func entry(row, queue, format string, n int) compile.Entry {
	return compile.Entry{Pattern: fmt.Sprintf(format, n), Queue: queue, Rows: []string{row}}
}

// upstream encodes the same credential with jwt/v2, whose clock is time.Now.
func upstream(t testing.TB, pair nkeys.KeyPair, account string, r *Request, subject string, exp int64) string {
	t.Helper()
	c := jwt.NewUserClaims(subject)
	c.Name, c.Expires = r.Name, exp
	c.Permissions = r.Set.JWT()
	c.Tags = append(c.Tags, r.Tags...)
	if r.Profile.Subs != 0 {
		c.Subs = r.Profile.Subs
	}
	c.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket}
	if r.Scoped {
		c.SetScoped(true)
	}
	if public, _ := pair.PublicKey(); public != account {
		c.IssuerAccount = account
	}
	token, err := c.Encode(pair)
	if err != nil {
		t.Fatal(err)
	}
	if r.Scoped {
		return withoutEmpty(t, pair, token)
	}
	return token
}

// withoutEmpty signs a token again without the two empty objects that jwt/v2 writes for a user without permissions: they say
// nothing, and a scoped credential is there to be small.
func withoutEmpty(t testing.TB, pair nkeys.KeyPair, token string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	const empty = `"pub":{},"sub":{},`
	if !strings.Contains(string(payload), `"nats":{`+empty) {
		t.Fatalf("claims of a scoped user, got %s, want %s in them", payload, empty)
	}
	text := parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(payload), `"nats":{`+empty, `"nats":{`, 1)))
	sig, err := pair.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}
