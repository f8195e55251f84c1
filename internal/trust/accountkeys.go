package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

const (
	accountFile   = "account.jwt"
	accountPrefix = "account-"
	jwtSuffix     = ".jwt"
	credsSuffix   = ".creds"
	pendingSuffix = ".making"
)

// accountKeys are the public keys of an account that is being made.
type accountKeys struct {
	Identity string `json:"identity"`
	Signing  string `json:"signing"`
}

func pendingRel(s AccountSpec) string { return accountRel(s.Space, s.Account) + pendingSuffix }

// makeAccountKeys draws the two keys of a new account. The public halves are noted before a seed is kept, so that a run after
// a kill finishes with the same keys and leaves no seed that nothing refers to.
func (d *Dir) makeAccountKeys(s AccountSpec) (accountKeys, error) {
	if s.Rand == nil {
		return accountKeys{}, fmt.Errorf("account %s: got no source of keys, want one", accountName(s.Space, s.Account))
	}
	noted, err := d.pendingKeys(s)
	if err != nil {
		return accountKeys{}, err
	}
	var fresh []nkeys.KeyPair
	for _, public := range []*string{&noted.Identity, &noted.Signing} {
		if *public != "" {
			continue
		}
		key, name, err := newKey(nkeys.PrefixByteAccount, s.Rand)
		if err != nil {
			return accountKeys{}, err
		}
		defer key.Wipe()
		*public, fresh = name, append(fresh, key)
	}
	text, err := json.Marshal(noted)
	if err != nil {
		return accountKeys{}, fmt.Errorf("account keys: %w", err)
	}
	if _, err := d.write(pendingRel(s), text); err != nil {
		return accountKeys{}, err
	}
	for _, key := range fresh {
		public, err := key.PublicKey()
		if err == nil {
			err = d.keepKey(key, public)
		}
		if err != nil {
			return accountKeys{}, err
		}
	}
	return noted, nil
}

// pendingKeys are the noted keys of a killed run whose seeds were kept; the others are "".
func (d *Dir) pendingKeys(s AccountSpec) (accountKeys, error) {
	var noted accountKeys
	text, err := d.readFile(pendingRel(s))
	if errors.Is(err, ErrNotFound) {
		return noted, nil
	}
	if err != nil {
		return noted, err
	}
	if err := json.Unmarshal(text, &noted); err != nil {
		return noted, fmt.Errorf("%s: %w", d.join(pendingRel(s)), err)
	}
	for _, public := range []*string{&noted.Identity, &noted.Signing} {
		key, err := d.key(*public)
		if errors.Is(err, ErrNotFound) {
			*public = ""
			continue
		}
		if err != nil {
			return noted, err
		}
		key.Wipe()
	}
	return noted, nil
}

// removeLocked removes leftovers where this process may edit, and leaves them to the next edit where it may not.
func (d *Dir) removeLocked(rel string) error {
	if !d.held.Load() {
		return nil
	}
	return d.remove(rel)
}

func copyKeys(keys jwt.SigningKeys) jwt.SigningKeys {
	out := make(jwt.SigningKeys, len(keys))
	maps.Copy(out, keys)
	return out
}

// Activation is a token of the exporting account that lets another account import one subject of a private export. It is
// signed by the exporter's signing key.
func (d *Dir) Activation(space, account, importer string, subject jwt.Subject, kind jwt.ExportType, now time.Time) (string, error) {
	key, exporter, err := d.SigningKey(space, account)
	if err != nil {
		return "", err
	}
	defer key.Wipe()
	c := jwt.NewActivationClaims(importer)
	c.Name, c.ImportSubject, c.ImportType, c.IssuerAccount = string(subject), subject, kind, exporter.Public
	c.Type, c.Version = jwt.ActivationClaim, claimsVersion
	vr := jwt.CreateValidationResults()
	c.Validate(vr)
	if err := errors.Join(vr.Errors()...); err != nil {
		return "", fmt.Errorf("activation of %s for %s: %w", subject, importer, err)
	}
	return encode(c, &c.ClaimsData, key, now)
}

// keepTokens puts back the activation tokens that an account already imports with, where the new ones say the same: a token
// signed again differs in its time only and would make every run a change.
func keepTokens(next, had jwt.Imports) {
	for _, in := range next {
		for _, old := range had {
			if in.Account == old.Account && in.Subject == old.Subject && in.Type == old.Type && sameToken(in.Token, old.Token) {
				in.Token = old.Token
			}
		}
	}
}

func sameToken(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, errX := jwt.DecodeActivationClaims(a)
	y, errY := jwt.DecodeActivationClaims(b)
	if errX != nil || errY != nil {
		return false
	}
	for _, c := range []*jwt.ActivationClaims{x, y} {
		c.IssuedAt, c.ID = 0, ""
	}
	return x.String() == y.String()
}
