package trust

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Change says what an edit did, or would do, in the words of a plan.
type Change string

// The changes.
const (
	Create Change = "create"
	Update Change = "update"
	None   Change = "none"
)

// AccountSpec is what an account of a space shall be.
type AccountSpec struct {
	Space   string
	Account string    // name within the space; "" for a space's only account, see [AccountID]
	Now     time.Time // iat of a new JWT; raised so that each JWT of an account is newer than the one before
	Rand    io.Reader // source of keys
	// Claims completes the claims and may be nil. It starts from no exports, imports and mappings; limits (JetStream on,
	// unlimited; no leaf node, no bearer token), name, signing keys and default permissions (none) are set, and revocations are kept.
	Claims   func(*jwt.AccountClaims)
	Rotation *Rotation // what [Dir.BeginRotation] returned: the account names the new signing key beside the old one
	DropOld  bool      // it no longer names the old one
}

// Account is an account of a space as its JWT says.
type Account struct {
	Space, Account string
	Name           string // as the JWT names it: the space, or space-account
	Public         string // identity key
	Signing        string // public key that signs its users
	JWT            string
	Claims         *jwt.AccountClaims
}

// AccountID is the name under which this package keeps one of a space's accounts: "" for the first, which is the space's own
// whatever others stand beside it.
func AccountID(accounts []string, name string) string {
	if len(accounts) > 0 && accounts[0] == name {
		return ""
	}
	return name
}

func checkAccount(space, account string) error {
	if err := checkName("space", space); err != nil {
		return err
	}
	if account == "" {
		return nil
	}
	return checkName("account", account)
}

func accountName(space, account string) string {
	if account == "" {
		return space
	}
	return space + "-" + account
}

func accountRel(space, account string) string {
	file := accountFile
	if account != "" {
		file = accountPrefix + account + jwtSuffix
	}
	return filepath.Join("spaces", space, file)
}

// Account reads an account of a space; an absent one is ErrNotFound.
func (d *Dir) Account(space, account string) (*Account, error) {
	if err := checkAccount(space, account); err != nil {
		return nil, err
	}
	c, err := d.readAccount(accountRel(space, account))
	if err != nil {
		return nil, err
	}
	text, err := d.readFile(accountRel(space, account))
	if err != nil {
		return nil, err
	}
	return d.newAccount(space, account, string(text), c)
}

func (d *Dir) newAccount(space, account, token string, c *jwt.AccountClaims) (*Account, error) {
	a := &Account{Space: space, Account: account, Name: c.Name, Public: c.Subject, JWT: token, Claims: c}
	keys := plainSigners(c)
	if len(keys) == 0 {
		return nil, fmt.Errorf("account %s: signing keys, got none without a scope, want one", a.Name)
	}
	a.Signing = keys[0]
	r, err := d.Rotation(space, account)
	if err != nil {
		return nil, err
	}
	if r != nil && slices.Contains(keys, r.New) {
		a.Signing = r.New
	}
	return a, nil
}

// plainSigners are the signing keys without a scope, by key order.
func plainSigners(c *jwt.AccountClaims) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.SigningKeys)), func(k string) bool {
		scope, _ := c.SigningKeys.GetScope(k)
		return scope != nil
	})
}

// SigningKey is the key that signs users of an account, with the account. The caller wipes the key.
func (d *Dir) SigningKey(space, account string) (nkeys.KeyPair, *Account, error) {
	a, err := d.Account(space, account)
	if err != nil {
		return nil, nil, err
	}
	key, err := d.key(a.Signing)
	if err != nil {
		return nil, nil, fmt.Errorf("signing key of account %s: %w", a.Name, err)
	}
	return key, a, nil
}

// EnsureAccount makes an account, or brings its JWT to what the spec says; a JWT that already says it is left alone.
func (d *Dir) EnsureAccount(s AccountSpec) (*Account, Change, error) {
	old, err := d.Account(s.Space, s.Account)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, "", err
	}
	var keys accountKeys
	if old == nil {
		if keys, err = d.makeAccountKeys(s); err != nil {
			return nil, "", err
		}
	} else {
		keys = accountKeys{Identity: old.Public, Signing: old.Signing}
	}
	if old != nil && s.Rotation != nil {
		if kept, err := d.HasSeed(s.Rotation.New); err != nil || !kept {
			return nil, "", errors.Join(err, lostSeed(old, s.Rotation.New))
		}
	}
	next, err := s.next(old, keys)
	if err != nil {
		return nil, "", err
	}
	change := Create
	if old != nil {
		lines, err := diffClaims(old.Claims, next)
		if err != nil || len(lines) == 0 {
			return old, None, errors.Join(err, d.removeLocked(pendingRel(s)))
		}
		change = Update
	}
	if err := d.signAccount(s, old, next); err != nil {
		return nil, "", err
	}
	a, err := d.Account(s.Space, s.Account)
	return a, change, err
}

func (d *Dir) signAccount(s AccountSpec, old *Account, next *jwt.AccountClaims) error {
	operator, err := d.key(d.operator.Subject)
	if err != nil {
		return fmt.Errorf("operator key: %w", err)
	}
	defer operator.Wipe()
	now := s.Now
	if old != nil {
		now = later(now, old.Claims.IssuedAt)
	}
	if err := d.sign(accountRel(s.Space, s.Account), next, operator, now); err != nil {
		return err
	}
	return d.remove(pendingRel(s))
}

// later is now, or the second after the last JWT: a resolver keeps the JWT with the later iat, and takes two JWTs of one
// second for one (their jti hashes neither limits nor exports).
func later(now time.Time, last int64) time.Time {
	if now.Unix() > last {
		return now
	}
	return time.Unix(last+1, 0)
}

// PlanAccount says what EnsureAccount would do, field by field; it writes nothing and needs no lock.
func (d *Dir) PlanAccount(s AccountSpec) (Change, []string, error) {
	old, err := d.Account(s.Space, s.Account)
	if errors.Is(err, ErrNotFound) {
		return Create, []string{}, nil
	}
	if err != nil {
		return "", nil, err
	}
	next, err := s.next(old, accountKeys{Identity: old.Public, Signing: old.Signing})
	if err != nil {
		return "", nil, err
	}
	lines, err := diffClaims(old.Claims, next)
	if err != nil || len(lines) == 0 {
		return None, []string{}, err
	}
	return Update, lines, nil
}

// next is the claims that the spec wants, built on what the account already has.
func (s AccountSpec) next(old *Account, keys accountKeys) (*jwt.AccountClaims, error) {
	c := jwt.NewAccountClaims(keys.Identity)
	var had jwt.Imports
	if old != nil {
		had = old.Claims.Imports
		c.SigningKeys = copyKeys(old.Claims.SigningKeys)
		c.Revocations = maps.Clone(old.Claims.Revocations) // the claims of the caller may add to them
	}
	c.Name = accountName(s.Space, s.Account)
	c.SigningKeys.Add(keys.Signing)
	if err := s.rotate(c); err != nil {
		return nil, err
	}
	c.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
	}
	harden(c)
	c.Type, c.Version = jwt.AccountClaim, claimsVersion
	if s.Claims != nil {
		s.Claims(c)
	}
	sort.Sort(c.Exports)
	sort.Sort(c.Imports)
	keepTokens(c.Imports, had)
	vr := jwt.CreateValidationResults()
	c.Validate(vr)
	if err := errors.Join(vr.Errors()...); err != nil {
		return nil, fmt.Errorf("account %s: claims: %w", c.Name, err)
	}
	if c.Subject != keys.Identity || !c.SigningKeys.Contains(keys.Signing) {
		return nil, fmt.Errorf("account %s: the claims must keep its keys", c.Name)
	}
	return c, nil
}
