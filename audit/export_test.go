package audit

import (
	"fmt"
	"maps"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Case is a credential of a fixture, for the tests that stand outside this package.
type Case struct {
	Name     string
	Contract *contract.Contract
	Data     []byte
}

// Cases are all fixtures, signed.
func Cases(t testing.TB) []Case {
	c := testContract(t)
	var out []Case
	for _, f := range fixtures() {
		if f.profile == "" {
			f.profile = "worker"
		}
		out = append(out, Case{f.code + " " + f.name, c, signed(t, user(t, c, f.profile, values(f.profile), f.edit))})
	}
	return out
}

// Now is the clock of the fixtures.
var Now = now

// Drawn returns what makes the claims of a profile of the test contract.
func Drawn(t testing.TB) func(profile string) (*contract.Contract, *jwt.UserClaims) {
	c := testContract(t)
	return func(profile string) (*contract.Contract, *jwt.UserClaims) {
		return c, user(t, c, profile, values(profile))
	}
}

// Signed encodes claims with a fresh account key.
func Signed(t rapid.TB, uc *jwt.UserClaims) []byte {
	key, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	token, err := uc.Encode(key)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(token)
}

// Holders mints the credentials of n holders of one profile, each with one capability of many rows, and says what they are judged by.
func Holders(b testing.TB, n int) (Config, [][]byte) {
	m, values := newMinter(b)
	capabilities := values["capabilities"].([]any)
	files := make([][]byte, n)
	for i := range files {
		own := maps.Clone(values)
		own["space"], own["actor"], own["capabilities"] = "main", fmt.Sprintf("actor_%d", i), capabilities[i%len(capabilities):][:1]
		files[i] = m.mint(b, own)
	}
	return m.cfg, files
}
