package main

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/mint"
)

// Sizes of a measurement.
const (
	mintBlock  = 25  // operations that are timed together: about a millisecond
	mintWarm   = 20  // rounds
	mintRounds = 5   // at least, however short the time
	allocOps   = 200 // operations over which allocations are counted
)

// mintFigures are the samples of all ways to make a credential, or a part of one.
type mintFigures struct {
	bare, mint, prepared, plain, compile, whole sample
	bareScoped, scoped, plainScoped             sample // the same holder with a scoped signing key, over its own bytes
	jwtBytes, scopedBytes                       int
}

// minter holds what the ways share: two signers with one account's key, and a compiled set.
type minter struct {
	subject  *subject
	issuer   *mint.Issuer
	pair     nkeys.KeyPair // the signing key, as jwt/v2 takes it
	compiled compiled
	prepared *mint.Prepared
	perms    jwt.Permissions
	bareKey  ed25519.PrivateKey
	message  []byte // what a signature of the credential covers
	size     int

	scopedSet     compiled // the template, and the holder's tags
	scopedMessage []byte
	scopedSize    int
}

func newMinter(s *subject) (*minter, error) {
	account, err := nkeys.CreateAccount()
	if err != nil {
		return nil, err
	}
	public, err := account.PublicKey()
	if err != nil {
		return nil, err
	}
	m := &minter{subject: s}
	if m.pair, err = nkeys.CreateAccount(); err != nil {
		return nil, err
	}
	seed, err := m.pair.Seed()
	if err != nil {
		return nil, err
	}
	if m.issuer, err = mint.NewIssuer(seed, public); err != nil {
		return nil, err
	}
	if m.compiled, err = s.compile(""); err != nil {
		return nil, err
	}
	if m.prepared, err = mint.Prepare(m.compiled.set); err != nil {
		return nil, err
	}
	m.perms = m.compiled.set.JWT()
	if m.scopedSet, err = s.template(); err != nil {
		return nil, err
	}
	return m, m.measureToken()
}

// measureToken finds the bytes that the floor must sign: those of the very credential.
func (m *minter) measureToken() error {
	seed, err := newSeed()
	if err != nil {
		return err
	}
	c, err := m.issuer.Mint(m.subject.request(m.compiled, seed))
	if err != nil {
		return err
	}
	m.size, m.message = len(c.JWT), signed(c)
	if c, err = m.issuer.Mint(m.scopedRequest(seed)); err != nil {
		return err
	}
	m.scopedSize, m.scopedMessage = len(c.JWT), signed(c)
	_, m.bareKey, err = ed25519.GenerateKey(nil)
	return err
}

// signed are the bytes of a credential that its signature covers.
func signed(c *mint.Credential) []byte { return []byte(c.JWT[:strings.LastIndexByte(c.JWT, '.')]) }

func (m *minter) scopedRequest(seed []byte) mint.Request {
	r := m.subject.request(m.scopedSet, seed)
	r.Scoped, r.Name = true, ""
	return r
}

// mintScoped makes a credential that carries tags alone.
func (m *minter) mintScoped() error {
	seed, err := newSeed()
	if err != nil {
		return err
	}
	_, err = m.issuer.Mint(m.scopedRequest(seed))
	return err
}

// bare is the floor: the standard library's key generation and one signature.
func (m *minter) bare() error { return m.bareOver(m.message) }

func (m *minter) bareScoped() error { return m.bareOver(m.scopedMessage) }

func (m *minter) bareOver(message []byte) error {
	if _, _, err := ed25519.GenerateKey(nil); err != nil {
		return err
	}
	if len(ed25519.Sign(m.bareKey, message)) != ed25519.SignatureSize {
		return errors.New("no signature")
	}
	return nil
}

// mint makes a credential from a compiled set and 32 random bytes.
func (m *minter) mint() error { return m.mintFrom(m.compiled, nil) }

// mintPrepared does it from a set that was put in its JWT form before.
func (m *minter) mintPrepared() error { return m.mintFrom(m.compiled, m.prepared) }

func (m *minter) mintFrom(c compiled, p *mint.Prepared) error {
	seed, err := newSeed()
	if err != nil {
		return err
	}
	r := m.subject.request(c, seed)
	if p != nil {
		r.Set, r.Prepared = nil, p
	}
	_, err = m.issuer.Mint(r)
	return err
}

// plain makes the same credential with jwt/v2 and nkeys alone, from permissions in jwt/v2's own form.
func (m *minter) plain() error {
	return m.plainWith(func(c *jwt.UserClaims) {
		c.Name, c.Permissions = m.subject.profile.Name, m.perms
		c.Tags = append(c.Tags, m.compiled.tags...)
		c.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket}
	})
}

func (m *minter) plainScoped() error {
	return m.plainWith(func(c *jwt.UserClaims) {
		c.SetScoped(true)
		c.Tags = append(c.Tags, m.scopedSet.tags...)
	})
}

func (m *minter) plainWith(edit func(*jwt.UserClaims)) error {
	user, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	public, err := user.PublicKey()
	if err != nil {
		return err
	}
	c := jwt.NewUserClaims(public)
	c.IssuerAccount = m.issuer.Account()
	c.Expires = time.Now().Add(m.subject.profile.Lifetime.Default).Unix()
	edit(c)
	_, err = c.Encode(m.pair)
	return err
}

// compile is NewScope and Compile, from parameters to a permission set.
func (m *minter) compile() error {
	scope, err := m.subject.scope("")
	if err != nil {
		return err
	}
	_, err = compile.Compile(scope, "")
	return err
}

// whole is what the mint command does between its files: a new key, a set compiled for it, the credential, the text of its file.
func (m *minter) whole() error {
	seed, err := newSeed()
	if err != nil {
		return err
	}
	public, err := publicUser(seed)
	if err != nil {
		return err
	}
	c, err := m.subject.compile(public)
	if err != nil {
		return err
	}
	cred, err := m.issuer.Mint(m.subject.request(c, seed))
	if err != nil {
		return err
	}
	_, err = cred.Creds()
	return err
}

// measureMint measures all ways in alternation for d.
func measureMint(s *subject, d time.Duration) (mintFigures, error) {
	m, err := newMinter(s)
	if err != nil {
		return mintFigures{}, err
	}
	ways := []way{
		{name: "bare Ed25519: GenerateKey and one Sign", op: m.bare},
		{name: "mint of a compiled set", op: m.mint},
		{name: "mint of a prepared set", op: m.mintPrepared},
		{name: "plain jwt/v2: CreateUser and Encode", op: m.plain},
		{name: "compile: NewScope and Compile", op: m.compile},
		{name: "key, compile, mint, `.creds` text", op: m.whole},
		{name: "bare Ed25519: GenerateKey and one Sign", op: m.bareScoped},
		{name: "mint of a scoped user", op: m.mintScoped},
		{name: "plain jwt/v2: CreateUser and Encode", op: m.plainScoped},
	}
	samples, err := alternate(ways, mintBlock, mintWarm, func(round int, elapsed time.Duration) bool {
		return round < mintRounds || elapsed < d
	})
	if err != nil {
		return mintFigures{}, err
	}
	for i, w := range ways {
		if samples[i].allocs, err = w.countAllocs(allocOps); err != nil {
			return mintFigures{}, err
		}
	}
	return mintFigures{bare: samples[0], mint: samples[1], prepared: samples[2], plain: samples[3], compile: samples[4], whole: samples[5],
		bareScoped: samples[6], scoped: samples[7], plainScoped: samples[8], jwtBytes: m.size, scopedBytes: m.scopedSize}, nil
}
