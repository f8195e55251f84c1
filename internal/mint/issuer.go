package mint

import (
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"sync"

	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Issuer signs user credentials for one account. It is safe for concurrent use.
type Issuer struct {
	public  string        // of the signing key
	account string        // identity key of the account
	signer  crypto.Signer // Ed25519
	pool    sync.Pool     // of *scratch
}

// NewIssuer takes the seed of an account key ("SA…") and the public identity key of the account ("A…"). The two belong together
// either because the seed is the identity key's own, or because the account lists the seed's key as a signing key; the broker,
// not this function, decides the latter. The seed is decoded once: nkeys derives the key anew for each signature.
//
// The keys of the fixtures are refused: everybody can sign with them.
func NewIssuer(signingSeed []byte, account string) (*Issuer, error) {
	i, err := makeIssuer(signingSeed, account)
	if err == nil && (contract.IsFixtureKey(i.public) || contract.IsFixtureKey(account)) {
		return nil, refuse("signing key", "a key of the fixtures", "one that is secret", "everybody can sign with it: give the account a new identity and signing key")
	}
	return i, err
}

func makeIssuer(signingSeed []byte, account string) (*Issuer, error) {
	prefix, raw, err := nkeys.DecodeSeed(signingSeed)
	if err != nil {
		return nil, fmt.Errorf("signing seed: %w", err)
	}
	if prefix != nkeys.PrefixByteAccount {
		return nil, refuse("signing seed", prefix.String(), "account", "sign users with a key of their account")
	}
	if !nkeys.IsValidPublicAccountKey(account) {
		return nil, refuse("account", nkeys.Prefix(account).String(), "a public account key", "give the account's identity key, which begins with A")
	}
	key := ed25519.NewKeyFromSeed(raw)
	public, err := nkeys.Encode(prefix, key[ed25519.SeedSize:])
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	return &Issuer{public: string(public), account: account, signer: key}, nil
}

// PublicKey is the public key that the credentials are signed with.
func (i *Issuer) PublicKey() string { return i.public }

// Account is the public identity key of the account.
func (i *Issuer) Account() string { return i.account }

// String names the issuer without its key material.
func (i *Issuer) String() string { return "issuer " + i.public }

// GoString is String: no verb prints the key.
func (i *Issuer) GoString() string { return i.String() }

// scratch is the working memory of one mint. It holds nothing secret.
type scratch struct {
	payload, token []byte
}

// Mint signs the credential that the request asks for. Errors: [*SealedError], [*LifetimeError], [*GateError], or a
// [*contract.Problem] that says which input is unusable. Nothing is signed where an error is returned.
func (i *Issuer) Mint(r Request) (*Credential, error) {
	terms, err := r.check()
	if err != nil {
		return nil, err
	}
	if r.Scoped && i.account == i.public {
		return nil, refuse("scoped user of profile "+r.Profile.Name, "the account's identity key", "a signing key with a scope", "an identity key has no scope, and the user would have every permission")
	}
	user, err := newUser(r.UserSeed, r.UserPublic)
	if err != nil {
		return nil, err
	}
	s, _ := i.pool.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	defer i.pool.Put(s)
	if s.payload, err = i.appendPayload(s.payload[:0], &r, terms, user.public); err != nil {
		return nil, err
	}
	if size := encodedSize(len(s.payload)); size > terms.gate {
		refusal := &GateError{Profile: r.Profile.Name, Size: size, Gate: terms.gate}
		if !r.Scoped {
			refusal.Widest = costs(r.set())
		}
		return nil, refusal
	}
	if err := i.sign(s); err != nil {
		return nil, fmt.Errorf("signing with %s: %w", i.public, err)
	}
	return &Credential{JWT: string(s.token), PublicKey: user.public, IssuedAt: terms.issued, Expires: terms.expires, key: user.key}, nil
}

// sign makes the token of the payload.
func (i *Issuer) sign(s *scratch) error {
	token := append(slices.Grow(s.token[:0], encodedSize(len(s.payload))), header...)
	token = base64.RawURLEncoding.AppendEncode(append(token, '.'), s.payload)
	signature, err := i.signer.Sign(nil, token, crypto.Hash(0)) // Ed25519 is deterministic and reads no randomness
	s.token = base64.RawURLEncoding.AppendEncode(append(token, '.'), signature)
	return err
}

// UserPublic is the public key of a user whose raw key material is given: what a set compiles with that names its own key.
func UserPublic(seed []byte) (string, error) {
	user, err := newUser(seed, "")
	return user.public, err
}

// userKey is the key that a credential is for; key is nil where only the public half is known.
type userKey struct {
	public string
	key    ed25519.PrivateKey
}

func newUser(seed []byte, public string) (userKey, error) {
	switch {
	case len(seed) != 0 && public != "":
		return userKey{}, refuse("user key", "a seed and a public key", "one of them", "")
	case len(seed) == ed25519.SeedSize:
		key := ed25519.NewKeyFromSeed(seed)
		return userKey{public: userPublic(ed25519.PublicKey(key[ed25519.SeedSize:])), key: key}, nil
	case len(seed) != 0:
		return userKey{}, refuse("user seed", fmt.Sprintf("%d bytes", len(seed)), "32 bytes of raw key material", "give the bytes, not their nkey text")
	case !nkeys.IsValidPublicUserKey(public):
		return userKey{}, refuse("user public key", nkeys.Prefix(public).String(), "a public user key", "it begins with U")
	}
	return userKey{public: public}, nil
}
