package trust

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// ScopedKey is a signing key whose users have what its scope says: the template of a profile, with some parameters fixed in it.
type ScopedKey struct {
	Name    string         `yaml:"name"`
	Profile string         `yaml:"profile"`
	Account string         `yaml:"account"` // of the topology
	Key     string         `yaml:"key"`     // public
	Params  map[string]any `yaml:"params,omitempty"`
}

// ScopedKey is the scoped key of that name, and whether there is one.
func (s SpaceInfo) ScopedKey(name string) (ScopedKey, bool) {
	i := slices.IndexFunc(s.Scoped, func(k ScopedKey) bool { return k.Name == name })
	if i < 0 {
		return ScopedKey{}, false
	}
	return s.Scoped[i], true
}

// WithScoped is the record with a scoped key in the place of the one of its name; with no key at all, without that one.
func (s SpaceInfo) WithScoped(name string, key *ScopedKey) SpaceInfo {
	s.Scoped = slices.DeleteFunc(slices.Clone(s.Scoped), func(k ScopedKey) bool { return k.Name == name })
	if key != nil {
		s.Scoped = append(s.Scoped, *key)
		slices.SortFunc(s.Scoped, func(a, b ScopedKey) int { return strings.Compare(a.Name, b.Name) })
	}
	return s
}

func checkScoped(keys []ScopedKey) error {
	var errs []error
	for i, k := range keys {
		errs = append(errs, checkName("scoped key", k.Name))
		if k.Profile == "" || k.Account == "" {
			errs = append(errs, fmt.Errorf("scoped key %q, got no profile or account, want both", k.Name))
		}
		if !nkeys.IsValidPublicAccountKey(k.Key) {
			errs = append(errs, fmt.Errorf("key of scoped key %q, got %q, want a public account key", k.Name, k.Key))
		}
		if slices.ContainsFunc(keys[:i], func(o ScopedKey) bool { return o.Name == k.Name }) {
			errs = append(errs, fmt.Errorf("scoped key %q, got it twice, want each name once", k.Name))
		}
	}
	return errors.Join(errs...)
}

// NewSigningKey draws a signing key of an account and keeps nothing. The caller wipes it.
func NewSigningKey(rand io.Reader) (nkeys.KeyPair, string, error) {
	return newKey(nkeys.PrefixByteAccount, rand)
}

// KeepSigningKey writes the seed of a key that [NewSigningKey] drew.
func (d *Dir) KeepSigningKey(key nkeys.KeyPair) error {
	public, err := key.PublicKey()
	if err != nil {
		return fmt.Errorf("signing key: %w", err)
	}
	return d.keepKey(key, public)
}

// DropSigningKey removes the seed of a key; an absent one is fine.
func (d *Dir) DropSigningKey(public string) error {
	if !nkeys.IsValidPublicAccountKey(public) {
		return fmt.Errorf("signing key, got %q, want a public account key", public)
	}
	return d.remove(keyPath(public))
}

// ScopedSigner is a scoped signing key with its account, and the scope that the account gives it. The caller wipes the key.
func (d *Dir) ScopedSigner(space, account, public string) (nkeys.KeyPair, *Account, *jwt.UserScope, error) {
	a, err := d.Account(space, account)
	if err != nil {
		return nil, nil, nil, err
	}
	scope, _ := a.Claims.SigningKeys.GetScope(public)
	us, ok := scope.(*jwt.UserScope)
	if !ok {
		return nil, nil, nil, fmt.Errorf("account %s: signing key %s, got none with a scope, want one: %w", a.Name, public, ErrNotFound)
	}
	key, err := d.key(public)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("scoped signing key of account %s: %w", a.Name, err)
	}
	return key, a, us, nil
}
