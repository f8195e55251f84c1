package mint

import (
	"crypto/sha256"

	"github.com/nats-io/nkeys"
)

// The labels that the keys of every fixture are derived from.
const (
	fixtureLabel   = "cotalctl fixture: "
	fixtureAccount = "account"
	fixtureSigner  = "account signing key"
)

// FixtureSeed is the raw seed of a label: 32 bytes that anybody can derive.
func FixtureSeed(label string) []byte {
	sum := sha256.Sum256([]byte(fixtureLabel + label))
	return sum[:]
}

// FixtureIssuer signs fixtures, with keys that are public by intent: [contract.FixtureSigner] for [contract.FixtureAccount].
func FixtureIssuer() (*Issuer, error) {
	account, err := nkeys.FromRawSeed(nkeys.PrefixByteAccount, FixtureSeed(fixtureAccount))
	if err != nil {
		return nil, err
	}
	public, err := account.PublicKey()
	if err != nil {
		return nil, err
	}
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteAccount, FixtureSeed(fixtureSigner))
	if err != nil {
		return nil, err
	}
	return makeIssuer(seed, public)
}
