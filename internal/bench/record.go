package main

import (
	"errors"
	"fmt"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/mint"
)

// tap hears everything that is published in one account.
type tap struct {
	account string
	nc      *nats.Conn
	sub     *nats.Subscription
}

// record provisions one space and keeps what the project sent that changes something, so that the raw side sends the same
// bytes. It fails unless there is one call for each step of the plan.
func (b *bench) record() (err error) {
	space, err := b.nextSpace()
	if err != nil {
		return err
	}
	open, err := b.connect(space)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.close()) }()
	var taps []*tap
	for _, account := range b.subject.topology.Accounts {
		t, err := b.tap(space, account)
		if err != nil {
			return fmt.Errorf("tap of account %s: %w", account, err)
		}
		defer t.nc.Close()
		taps = append(taps, t)
	}
	plan, err := b.provision(open)
	if err != nil {
		return err
	}
	for _, t := range taps {
		if err := b.collect(t); err != nil {
			return err
		}
	}
	if len(b.calls) == 0 || len(b.calls) != plan.Pending() {
		return fmt.Errorf("recorded calls, got %d, want one for each of the plan's %d steps and more than none", len(b.calls), plan.Pending())
	}
	return nil
}

// tap connects a user that may subscribe to everything and publish nothing.
func (b *bench) tap(space, account string) (*tap, error) {
	key, acc, err := b.dir.SigningKey(space, b.accountID(account))
	if err != nil {
		return nil, err
	}
	defer key.Wipe()
	user, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	public, err := user.PublicKey()
	if err != nil {
		return nil, err
	}
	c := jwt.NewUserClaims(public)
	c.IssuerAccount, c.Sub.Allow, c.Pub.Deny = acc.Public, jwt.StringList{">"}, jwt.StringList{">"}
	token, err := c.Encode(key)
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(b.broker.ClientURL(), nats.UserJWT(func() (string, error) { return token, nil }, user.Sign))
	if err != nil {
		return nil, err
	}
	t := &tap{account: account, nc: nc}
	if t.sub, err = nc.SubscribeSync(">"); err == nil {
		err = nc.FlushTimeout(answerWait)
	}
	return t, err
}

// collect keeps the calls that a tap has heard. Whatever was answered before the flush has been delivered after it.
func (b *bench) collect(t *tap) error {
	if err := t.nc.FlushTimeout(answerWait); err != nil {
		return err
	}
	for {
		n, _, err := t.sub.Pending()
		if err != nil || n == 0 {
			return err
		}
		m, err := t.sub.NextMsg(answerWait)
		if err != nil {
			return err
		}
		if changes(m.Subject) {
			b.calls = append(b.calls, call{account: t.account, msg: m})
		}
	}
}

// issuer signs for one account of a space.
func (b *bench) issuer(space, account string) (*mint.Issuer, error) {
	key, acc, err := b.dir.SigningKey(space, b.accountID(account))
	if err != nil {
		return nil, err
	}
	defer key.Wipe()
	seed, err := key.Seed()
	if err != nil {
		return nil, err
	}
	return mint.NewIssuer(seed, acc.Public)
}
