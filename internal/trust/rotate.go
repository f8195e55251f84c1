package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// rotatingSuffix is of the note that a signing key is being replaced; it stands from before the first change to after the last.
const rotatingSuffix = ".rotating"

// Rotation is the replacement of an account's signing key that has begun: from when the account's JWT names both until it
// names the new one only, both sign, and this package signs with the new one.
type Rotation struct {
	Old string `json:"old"`
	New string `json:"new"`
}

func rotationRel(space, account string) string { return accountRel(space, account) + rotatingSuffix }

// Rotation is the rotation of an account's signing key that has begun and not ended, or nil.
func (d *Dir) Rotation(space, account string) (*Rotation, error) {
	if err := checkAccount(space, account); err != nil {
		return nil, err
	}
	var r Rotation
	if there, err := d.readNote(rotationRel(space, account), &r); !there || err != nil {
		return nil, err
	}
	for _, key := range []string{r.Old, r.New} {
		if !nkeys.IsValidPublicAccountKey(key) {
			return nil, fmt.Errorf("%s: key, got %q, want a public account key", d.join(rotationRel(space, account)), key)
		}
	}
	return &r, nil
}

// readNote reads a note; an absent one is false.
func (d *Dir) readNote(rel string, into any) (bool, error) {
	text, err := d.readFile(rel)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return false, fmt.Errorf("%s: %w", d.join(rel), err)
	}
	return true, nil
}

func (d *Dir) writeNote(rel string, note any) error {
	text, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	_, err = d.write(rel, text)
	return err
}

// BeginRotation draws the key that will replace the account's signing key: it is noted, then its seed is kept, so that an
// account never names a key whose seed is not on disk. The account does not name it before EnsureAccount is given what is
// returned. A rotation that has begun is taken up where it was left.
func (d *Dir) BeginRotation(s AccountSpec) (*Rotation, error) {
	a, err := d.Account(s.Space, s.Account)
	if err != nil {
		return nil, err
	}
	r, err := d.Rotation(s.Space, s.Account)
	if err != nil {
		return nil, err
	}
	if r != nil {
		kept, err := d.HasSeed(r.New)
		switch {
		case err != nil:
			return nil, err
		case kept:
			return r, nil
		case a.Claims.SigningKeys.Contains(r.New):
			return nil, lostSeed(a, r.New)
		}
		// Killed between the note and the seed: nothing refers to that key.
	}
	if keys := plainSigners(a.Claims); len(keys) != 1 {
		return nil, fmt.Errorf("account %s: signing keys without a scope, got %d, want one", a.Name, len(keys))
	}
	key, public, err := newKey(nkeys.PrefixByteAccount, s.Rand)
	if err != nil {
		return nil, err
	}
	defer key.Wipe()
	r = &Rotation{Old: a.Signing, New: public}
	if err := d.writeNote(rotationRel(s.Space, s.Account), r); err != nil {
		return nil, err
	}
	return r, d.keepKey(key, public)
}

func lostSeed(a *Account, public string) error {
	return withHint(fmt.Errorf("account %s: the seed of its signing key %s is gone", a.Name, public), "restore it from a backup of keys/")
}

// HasSeed reports whether the seed of a public key is kept; one that cannot be used is an error.
func (d *Dir) HasSeed(public string) (bool, error) {
	key, err := d.key(public)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	key.Wipe()
	return true, nil
}

// Key is the key pair of a signing key that the account's JWT, or its rotation, names. The caller wipes it.
func (d *Dir) Key(a *Account, public string) (nkeys.KeyPair, error) {
	r, err := d.Rotation(a.Space, a.Account)
	if err != nil {
		return nil, err
	}
	if !a.Claims.SigningKeys.Contains(public) && (r == nil || public != r.Old && public != r.New) {
		return nil, fmt.Errorf("account %s: key, got %s, want one of its signing keys", a.Name, public)
	}
	return d.key(public)
}

// EndRotation forgets the old key of a rotation, whose seed is removed. The account's JWT no longer names it, as EnsureAccount
// left it; the caller has made sure that no broker holds another.
func (d *Dir) EndRotation(space, account string) error {
	a, err := d.Account(space, account)
	if err != nil {
		return err
	}
	r, err := d.Rotation(space, account)
	if err != nil || r == nil {
		return err
	}
	if err := d.droppable(a.Claims, r); err != nil {
		return fmt.Errorf("account %s: %w", a.Name, err)
	}
	if !d.held.Load() {
		return ErrNotLocked
	}
	for _, rel := range []string{keyPath(r.Old), rotationRel(space, account)} {
		if err := d.removeFile(rel); err != nil {
			return err
		}
	}
	return nil
}

// droppable refuses to end with an account that names the old key, or that could no longer be signed for.
func (d *Dir) droppable(c *jwt.AccountClaims, r *Rotation) error {
	switch {
	case c.SigningKeys.Contains(r.Old):
		return fmt.Errorf("it still names the old signing key %s", r.Old)
	case !c.SigningKeys.Contains(r.New):
		return fmt.Errorf("it does not name the new signing key %s", r.New)
	}
	kept, err := d.HasSeed(r.New)
	if err == nil && !kept {
		err = errors.New("the seed of the new signing key is gone")
	}
	return err
}

// removeFile deletes a file durably, so that what is done after it cannot reach the disk before it.
func (d *Dir) removeFile(rel string) error {
	err := os.Remove(d.join(rel))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	if err := syncDir(filepath.Dir(d.join(rel))); err != nil {
		return err
	}
	return d.wrote(rel)
}

// rotate applies a rotation to the keys of the next claims: the new key takes over the scope of the old one, which goes where
// it is to be dropped.
func (s AccountSpec) rotate(c *jwt.AccountClaims) error {
	r := s.Rotation
	if r == nil {
		return nil
	}
	if scope, ok := c.SigningKeys.GetScope(r.Old); ok && scope != nil {
		return fmt.Errorf("account %s: signing key %s has a scope", c.Name, r.Old)
	}
	if s.DropOld {
		if !c.SigningKeys.Contains(r.New) {
			return fmt.Errorf("account %s: the new signing key %s stands beside the old one first", c.Name, r.New)
		}
		delete(c.SigningKeys, r.Old)
		return nil
	}
	c.SigningKeys.Add(r.New)
	return nil
}

// PlainSigners is how many signing keys without a scope the account has.
func (a *Account) PlainSigners() int { return len(plainSigners(a.Claims)) }
