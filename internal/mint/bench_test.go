package mint

import (
	"crypto/ed25519"
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
)

// minting is one mint from fresh key material, as a caller does it.
type minting struct {
	issuer *Issuer
	r      Request
}

func newMinting(b *testing.B, set *compile.PermissionSet) *minting {
	seed, _, _ := accountKey(b, 1)
	_, account, _ := accountKey(b, 2)
	r := request()
	r.Set = set
	r.Tags = []string{"profile:worker", "owner:ownerone", "actor:actortwo", "uid:abcdefghijklmnopqrstuvwxyz", "space:prod"}
	return &minting{newIssuer(b, seed, account), r}
}

func (m *minting) mint(b *testing.B) *Credential {
	var seed [ed25519.SeedSize]byte
	rand.Read(seed[:])
	m.r.UserSeed = seed[:]
	c, err := m.issuer.Mint(m.r)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkMint mints from a set that is encoded anew for each credential.
func BenchmarkMint(b *testing.B) {
	m := newMinting(b, agentLike())
	size := len(m.mint(b).JWT)
	b.ReportAllocs()
	for b.Loop() {
		m.mint(b)
	}
	b.ReportMetric(float64(size), "JWT-bytes")
}

// BenchmarkMintPrepared mints from a set that was encoded once.
func BenchmarkMintPrepared(b *testing.B) {
	m := newMinting(b, agentLike())
	prepare(b, m)
	b.ReportAllocs()
	for b.Loop() {
		m.mint(b)
	}
}

func prepare(b *testing.B, m *minting) {
	p, err := Prepare(m.r.Set)
	if err != nil {
		b.Fatal(err)
	}
	m.r.Prepared, m.r.Set = p, nil
}

// BenchmarkPlainJWT is the same credential made with jwt/v2 and nkeys alone.
func BenchmarkPlainJWT(b *testing.B) {
	m := newMinting(b, agentLike())
	_, _, pair := accountKey(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		plain(b, m, pair)
	}
}

func plain(b *testing.B, m *minting, pair nkeys.KeyPair) {
	user, err := nkeys.CreateUser()
	if err != nil {
		b.Fatal(err)
	}
	public, err := user.PublicKey()
	if err != nil {
		b.Fatal(err)
	}
	c := jwt.NewUserClaims(public)
	c.Name, c.Permissions, c.IssuerAccount = m.r.Name, m.r.Set.JWT(), m.issuer.account
	c.Tags = append(c.Tags, m.r.Tags...)
	c.Expires = time.Now().Add(time.Hour).Unix()
	c.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket}
	if _, err := c.Encode(pair); err != nil {
		b.Fatal(err)
	}
}

// bare is the floor of a mint: one key and one signature over as many bytes, with a key that has signed before.
type bare struct {
	key     ed25519.PrivateKey
	message []byte
}

func newBare(b *testing.B, m *minting) *bare {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		b.Fatal(err)
	}
	return &bare{key, make([]byte, len(m.mint(b).JWT)-signatureSize-1)}
}

func (x *bare) run(b *testing.B) {
	if _, _, err := ed25519.GenerateKey(nil); err != nil {
		b.Fatal(err)
	}
	ed25519.Sign(x.key, x.message)
}

// BenchmarkBareEd25519 is the floor.
func BenchmarkBareEd25519(b *testing.B) {
	x := newBare(b, newMinting(b, agentLike()))
	b.ReportAllocs()
	for b.Loop() {
		x.run(b)
	}
}

// BenchmarkRatio measures each way to mint and the floor in alternation, so that both see the same machine, and reports the
// way's throughput as a share of the floor's: of the total times, and of the medians, which a busy machine disturbs less.
func BenchmarkRatio(b *testing.B) {
	fresh, ready := newMinting(b, agentLike()), newMinting(b, agentLike())
	prepare(b, ready)
	small := newMinting(b, agentLike())
	small.r.Scoped, small.r.Name, small.r.Tags = true, "", append(small.r.Tags, "allowsubscribe:team.>", "allowpublish:team.backend")
	_, _, pair := accountKey(b, 1)
	whole := newBare(b, fresh)
	for _, way := range []struct {
		name  string
		floor *bare
		run   func(*testing.B)
	}{
		{"mint", whole, func(b *testing.B) { fresh.mint(b) }},
		{"prepared", whole, func(b *testing.B) { ready.mint(b) }},
		{"scoped", newBare(b, small), func(b *testing.B) { small.mint(b) }},
		{"plain", whole, func(b *testing.B) { plain(b, fresh, pair) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			var floors, ways []time.Duration
			for b.Loop() {
				start := time.Now()
				way.floor.run(b)
				middle := time.Now()
				way.run(b)
				end := time.Now()
				floors, ways = append(floors, middle.Sub(start)), append(ways, end.Sub(middle))
			}
			b.ReportMetric(float64(total(floors))/float64(total(ways)), "of-bare")
			b.ReportMetric(float64(median(floors))/float64(median(ways)), "of-bare-median")
		})
	}
}

func total(times []time.Duration) (sum time.Duration) {
	for _, d := range times {
		sum += d
	}
	return sum
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
