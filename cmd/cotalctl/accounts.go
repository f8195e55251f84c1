package main

import (
	"errors"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// accountState is what one account of the space is, in the directory and at the broker.
type accountState struct {
	name   string
	spec   trust.AccountSpec
	change trust.Change
	diff   []string
	fresh  bool // no broker knows it yet
	stale  bool // the broker holds another JWT than the directory
}

func (w *spaceWork) accountActions(acc *accountState) []provision.Action {
	name := w.name
	if len(w.topology.Accounts) > 1 {
		name += "/" + acc.name
	}
	action := provision.Action{Kind: provision.KindAccount, Name: name, Account: acc.name, Action: string(acc.change), Diff: acc.diff}
	if acc.change == trust.None && acc.stale {
		action.Action, action.Diff = provision.Update, []string{"broker: another JWT → the directory's"}
	}
	if action.Diff == nil {
		action.Diff = []string{}
	}
	key := provision.Action{Kind: provision.KindKey, Name: name + " signing key", Account: acc.name, Action: provision.None, Diff: []string{}}
	if acc.change == trust.Create {
		key.Action = provision.Create
	}
	return []provision.Action{action, key}
}

// inspectAccounts compares each account with the directory and, where a broker runs, with what it holds.
func (w *spaceWork) inspectAccounts() error {
	w.accounts = nil
	var system *nats.Conn
	defer func() {
		if system != nil {
			system.Close()
		}
	}()
	for _, name := range w.topology.Accounts {
		acc := accountState{name: name, spec: w.accountSpec(name), change: trust.Create, fresh: true}
		if w.dir != nil {
			var err error
			if acc.change, acc.diff, err = w.dir.PlanAccount(acc.spec); errors.Join(err, w.shareErr) != nil {
				return errors.Join(err, w.shareErr)
			}
		}
		if acc.change != trust.Create {
			if system == nil {
				var err error
				if system, err = w.claimsConn(); err != nil {
					return err
				}
			}
			held, err := w.dir.Account(w.name, acc.spec.Account)
			if err != nil {
				return err
			}
			now, err := provision.LookupAccount(w.app.ctx, system, held.Public)
			if err != nil {
				return err
			}
			acc.fresh, acc.stale = now == "", now != held.JWT
		}
		w.accounts = append(w.accounts, acc)
	}
	return nil
}

func (w *spaceWork) claimsConn() (*nats.Conn, error) {
	if w.req.creds != "" {
		return w.dialer.systemFile(w.req.creds)
	}
	return w.dialer.system(w.contract.Roles[contract.RolePushClaims])
}

// accountSpec is an account as the contract's cross-account rows want it.
func (w *spaceWork) accountSpec(name string) trust.AccountSpec {
	return trust.AccountSpec{Space: w.name, Account: trust.AccountID(w.topology.Accounts, name), Now: w.app.now(), Rand: w.app.rand,
		Claims: func(claims *jwt.AccountClaims) { w.shareErr = errors.Join(w.shareErr, w.share(name, claims)) }}
}

func (w *spaceWork) push() error {
	nc, err := w.claimsConn()
	if err != nil {
		return err
	}
	defer nc.Close()
	for _, acc := range w.accounts {
		held, err := w.dir.Account(w.name, acc.spec.Account)
		if err != nil {
			return err
		}
		if err := provision.PushAccount(w.app.ctx, nc, held.JWT); err != nil {
			return err
		}
	}
	return nil
}
