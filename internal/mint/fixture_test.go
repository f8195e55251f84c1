package mint

import (
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestFixtureKeys holds the keys that the audit knows to the labels, and keeps them out of every other issuer.
func TestFixtureKeys(t *testing.T) {
	i, err := FixtureIssuer()
	if err != nil {
		t.Fatal(err)
	}
	if i.Account() != contract.FixtureAccount || i.PublicKey() != contract.FixtureSigner {
		t.Fatalf("keys of the fixtures, got account %s, signer %s, want %s, %s", i.Account(), i.PublicKey(), contract.FixtureAccount, contract.FixtureSigner)
	}
	own, public, _ := accountKey(t, 1)
	seed := func(label string) []byte {
		seed, err := nkeys.EncodeSeed(nkeys.PrefixByteAccount, FixtureSeed(label))
		if err != nil {
			t.Fatal(err)
		}
		return seed
	}
	for name, c := range map[string]struct {
		seed    []byte
		account string
	}{"signer": {seed(fixtureSigner), public}, "account": {own, i.Account()}, "identity": {seed(fixtureAccount), i.Account()}} {
		if _, err := NewIssuer(c.seed, c.account); err == nil {
			t.Errorf("%s of the fixtures was taken for an issuer", name)
		}
	}
	if _, err := NewIssuer(own, public); err != nil {
		t.Errorf("another key: %v", err)
	}
}
