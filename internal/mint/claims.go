package mint

import (
	"time"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Claims are what a credential says before it is signed.
type Claims struct {
	Payload   []byte // JSON, as a JWT carries it
	JWTBytes  int    // of the JWT that it would become
	PublicKey string // of the user
}

// Claims are those of the credential that the request asks for. It answers also for a sealed profile, whose credentials have no
// expiry, and above the gate: nothing is signed, and nobody can connect with what it gives.
func (i *Issuer) Claims(r Request) (*Claims, error) {
	never := r.Profile != nil && r.Profile.Lifetime.Class == contract.LifetimeNone
	if never || r.Profile != nil && r.Profile.Trust == contract.TrustSealed {
		open := *r.Profile
		open.Trust = contract.TrustSinglePurpose
		if never {
			open.Lifetime, r.TTL = contract.Lifetime{Class: contract.LifetimeOneShot, Default: time.Minute}, 0
		}
		r.Profile = &open
	}
	terms, err := r.check()
	if err != nil {
		return nil, err
	}
	if never {
		terms.expires = 0
	}
	user, err := newUser(r.UserSeed, r.UserPublic)
	if err != nil {
		return nil, err
	}
	payload, err := i.appendPayload(nil, &r, terms, user.public)
	if err != nil {
		return nil, err
	}
	return &Claims{Payload: payload, JWTBytes: encodedSize(len(payload)), PublicKey: user.public}, nil
}
