package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
)

const hintAgain = "run it again: it goes on from what is there"

// proband is who shows whether a server trusts a key: a user of a minute who may do nothing.
var proband = contract.Profile{Name: "signing-key-probe", Trust: contract.TrustSinglePurpose,
	Lifetime: contract.Lifetime{Class: contract.LifetimeOneShot, Default: time.Minute}}

// keyProbe is a user of one signing key, connected to each server that was named and lets it in. That a server holds a JWT does
// not say that it goes by it; that it closes the connections of a key does.
type keyProbe struct {
	work   *spaceWork
	key    *keyRotation
	public string
	conns  []*nats.Conn
	closed []chan struct{}
	absent []string // servers that refused it
}

func (p *keyProbe) close() {
	for _, nc := range p.conns {
		nc.Close()
	}
}

// probe connects a user of one of the account's keys. Where the seed is no longer kept there is nothing to connect with.
func (w *spaceWork) probe(k *keyRotation, public string) (*keyProbe, error) {
	p := &keyProbe{work: w, key: k, public: public}
	kept, err := w.dir.HasSeed(public)
	if err != nil || !kept {
		return p, err
	}
	for _, url := range strings.Split(w.dialer.url, ",") {
		nc, closed, err := p.dial(url)
		switch {
		case errors.Is(err, nats.ErrAuthorization):
			p.absent = append(p.absent, url)
		case err != nil:
			p.close()
			return nil, err
		default:
			p.conns, p.closed = append(p.conns, nc), append(p.closed, closed)
		}
	}
	return p, nil
}

func (p *keyProbe) dial(url string) (*nats.Conn, chan struct{}, error) {
	w := p.work
	cred, err := p.mint()
	if err != nil {
		return nil, nil, err
	}
	opts, err := userOptions(cred)
	if err != nil {
		return nil, nil, err
	}
	closed := make(chan struct{})
	opts = append(append(opts, w.dialer.options()...), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	nc, err := interruptible(w.app.ctx, func() (*nats.Conn, error) { return nats.Connect(url, opts...) })
	if err != nil && !errors.Is(err, nats.ErrAuthorization) {
		err = w.dialer.unreachable(err, cred.ConnectBytes(clientName))
	}
	return nc, closed, err
}

func (p *keyProbe) mint() (*mint.Credential, error) {
	w := p.work
	key, err := w.dir.Key(p.key.account, p.public)
	if err != nil {
		return nil, err
	}
	defer key.Wipe()
	issuer, err := issuerFrom(key, p.key.account.Public)
	if err != nil {
		return nil, err
	}
	now, err := w.app.issueTime(p.key.account.Claims.Revocations[jwt.All])
	if err != nil {
		return nil, err
	}
	seed := make([]byte, 32)
	if _, err := io.ReadFull(w.app.rand, seed); err != nil {
		return nil, fmt.Errorf("user key: %w", err)
	}
	return mintNone(issuer, seed, now)
}

// mintNone mints a proband.
func mintNone(issuer *mint.Issuer, seed []byte, now time.Time) (*mint.Credential, error) {
	none := compile.List{Mode: compile.ModeNone}
	set := &compile.PermissionSet{Profile: proband.Name, Pub: none, Sub: none}
	return issuer.Mint(mint.Request{Set: set, Profile: &proband, Name: proband.Name, UserSeed: seed, Now: now})
}

// letsIn makes sure that every server that was named lets a user of a key in.
func (w *spaceWork) letsIn(k *keyRotation, public string) error {
	p, err := w.probe(k, public)
	if err != nil {
		return err
	}
	defer p.close()
	if len(p.absent) > 0 || len(p.conns) == 0 {
		at := redacted(strings.Join(p.absent, ","))
		return refused(fmt.Errorf("server %s: it does not let in users of the new key %s of account %s", at, public, k.account.Name),
			"run cotalctl rotate signing-key again without --remove-old, and see with cotalctl doctor that all servers are one cluster")
	}
	return nil
}

// gone waits until each server has closed the connection of the key's user, and makes sure that none lets it in again.
func (p *keyProbe) gone() error {
	w := p.work
	still := fmt.Sprintf("account %s: a server still serves a user of the old key %s", p.key.account.Name, p.public)
	if err := w.awaitClosed(still, p.closed...); err != nil {
		return err
	}
	again, err := w.probe(p.key, p.public)
	if err != nil {
		return err
	}
	defer again.close()
	if len(again.conns) > 0 {
		return failed(fmt.Errorf("account %s: a server still lets in users of the old key %s", p.key.account.Name, p.public), hintAgain)
	}
	return nil
}

// awaitClosed waits until the servers have closed connections; where they have not in time, it fails with what that means.
func (w *spaceWork) awaitClosed(still string, connections ...chan struct{}) error {
	end := time.NewTimer(w.dialer.timeout)
	defer end.Stop()
	for _, closed := range connections {
		select {
		case <-closed:
		case <-w.app.ctx.Done():
			return w.app.ctx.Err()
		case <-end.C:
			return failed(errors.New(still), hintAgain)
		}
	}
	return nil
}
