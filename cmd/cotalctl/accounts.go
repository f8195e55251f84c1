package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/embedded"
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
	stale  bool // some server holds another JWT than the directory, or none
}

func (w *spaceWork) accountActions(acc *accountState) []provision.Action {
	name := w.accountLabel(acc.name)
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
	for _, name := range w.topology.Accounts {
		acc := accountState{name: name, spec: w.accountSpec(name), change: trust.Create, fresh: true}
		if w.dir != nil {
			if err := w.inspect(&acc); err != nil {
				return err
			}
		}
		w.accounts = append(w.accounts, acc)
	}
	return nil
}

func (w *spaceWork) inspect(acc *accountState) (err error) {
	acc.change, acc.diff, err = w.dir.PlanAccount(acc.spec)
	if err := errors.Join(err, w.shareErr); err != nil {
		return err
	}
	if acc.change == trust.Create {
		return w.neverMade(acc.name)
	}
	held, err := w.dir.Account(w.name, acc.spec.Account)
	if err != nil {
		return err
	}
	claims, err := w.claimsStore()
	if err != nil {
		return err
	}
	copies, err := claims.LookupAccount(w.app.ctx, held.Public)
	acc.fresh = !slices.ContainsFunc(copies, func(token string) bool { return token != "" })
	acc.stale = !slices.Equal(copies, []string{held.JWT})
	return err
}

// neverMade refuses to make an account anew for a space that was provisioned: its record is written after its accounts, so the
// JWT was lost, and another account would orphan the data while old credentials went on working.
func (w *spaceWork) neverMade(account string) error {
	if !w.known {
		return nil
	}
	return refused(fmt.Errorf("space %s was provisioned, and the JWT of its account %s is missing from %s", w.name, account, shown(w.req.dir)),
		"restore it from a backup; the broker's copy is in "+filepath.Join(shown(w.req.dir), "resolver"))
}

// claimsStore is where the broker keeps account JWTs: asked directly where it runs in this process, else over the system
// account.
type claimsStore interface {
	// LookupAccount returns each differing JWT that servers hold, "" for none.
	LookupAccount(ctx context.Context, account string) ([]string, error)
	PushAccount(ctx context.Context, accountJWT string) error
}

// ownClaims is the claims store of the broker in this process.
type ownClaims struct{ *embedded.Server }

func (s ownClaims) LookupAccount(ctx context.Context, account string) ([]string, error) {
	token, err := s.Server.LookupAccount(ctx, account)
	return []string{token}, err
}

// systemClaims is the claims store of a broker elsewhere, which has so many servers; 0: it is not known.
type systemClaims struct {
	nc      *nats.Conn
	servers int
}

func (s systemClaims) LookupAccount(ctx context.Context, account string) ([]string, error) {
	return provision.LookupAccount(ctx, s.nc, account, s.servers)
}

func (s systemClaims) PushAccount(ctx context.Context, accountJWT string) error {
	return provision.PushAccount(ctx, s.nc, accountJWT)
}

func (w *spaceWork) claimsStore() (claimsStore, error) {
	if w.broker != nil {
		return ownClaims{w.broker}, nil
	}
	if w.system == nil {
		var err error
		if w.req.creds != "" {
			w.system, err = w.dialer.systemFile(w.req.creds)
		} else {
			w.system, err = w.dialer.system(w.contract.Roles[contract.RolePushClaims])
		}
		if err != nil {
			return nil, err
		}
	}
	servers := 0
	if w.fitness != nil {
		servers = w.fitness.entry.Servers
	}
	return systemClaims{w.system, servers}, nil
}

// accountEdit is what a change of trust does to the accounts of a space; the zero edit does nothing.
type accountEdit struct {
	rotations map[string]*trust.Rotation // by account
	dropOld   bool
	revoke    map[string]revocation // by account
}

// accountSpec is an account as the contract's cross-account rows want it, edited.
func (w *spaceWork) accountSpec(name string) trust.AccountSpec {
	rotation := w.edit.rotations[name]
	return trust.AccountSpec{Space: w.name, Account: trust.AccountID(w.topology.Accounts, name), Now: w.app.now(), Rand: w.app.rand,
		Rotation: rotation, DropOld: w.edit.dropOld && rotation != nil,
		Claims: func(claims *jwt.AccountClaims) {
			w.shareErr = errors.Join(w.shareErr, w.share(name, claims), w.scopes(name, claims))
			if r, ok := w.edit.revoke[name]; ok {
				claims.RevokeAt(r.user, r.at)
			}
		}}
}

func (w *spaceWork) push() error {
	claims, err := w.claimsStore()
	if err != nil {
		return err
	}
	for _, acc := range w.accounts {
		held, err := w.dir.Account(w.name, acc.spec.Account)
		if err != nil {
			return err
		}
		if err := claims.PushAccount(w.app.ctx, held.JWT); err != nil {
			return err
		}
	}
	return nil
}
