package mint

import (
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// Size is the length in bytes of the JWT that minting a set for a holder of the profile would give, without a key and without a gate. It
// also answers for sealed profiles, which are not minted.
func Size(set *compile.PermissionSet, profile *contract.Profile, tags []string) (int, error) {
	key := strings.Repeat("A", keySize)
	i := &Issuer{public: key, account: key[1:] + "B"} // as with a signing key: another than the account's own
	t := terms{issued: someTime, expires: someTime, subs: noLimit}
	if profile.Subs > 0 {
		t.subs = profile.Subs
	}
	if profile.Lifetime.Class == contract.LifetimeNone {
		t.expires = 0
	}
	payload, err := i.appendPayload(nil, &Request{Set: set, Name: profile.Name, Tags: tags}, t, key)
	if err != nil {
		return 0, err
	}
	return encodedSize(len(payload)), nil
}

const (
	keySize  = 56         // of an encoded public key
	someTime = 1700000000 // ten digits, until 2286
)
