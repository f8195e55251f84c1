package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/internal/trust"
)

type rotateCmd struct {
	SigningKey rotateSigningKeyCmd `cmd:"" help:"Replace the key that signs the users of a space: first a new one beside the old, then without the old."`
	System     rotateSystemCmd     `cmd:"" help:"Replace the signing key of the system account and every system credential."`
}

// trustFlags are of the commands that change who is trusted: what they change must be in force on every server.
type trustFlags struct {
	Space   string `help:"Space; may be left out where the directory has one." placeholder:"NAME"`
	Servers int    `help:"Servers of the cluster that must take it. Default: what two agreeing sources say." placeholder:"N"`
	Creds   string `type:"path" help:"System credential that may push account JWTs. Default: the directory's." placeholder:"FILE"`
	dirFlag
	serverFlags
	planFlags
}

// openTrust opens the space of a command that changes who is trusted, and makes sure of its broker.
func (a *app) openTrust(f trustFlags) (*spaceWork, error) {
	if f.Servers < 0 {
		return nil, usage(fmt.Errorf("--servers, got %d, want a number of servers", f.Servers), "")
	}
	w, err := a.open(spaceRequest{dir: f.Dir, name: f.Space, server: f.serverFlags, creds: f.Creds})
	if err != nil {
		return nil, err
	}
	if a.watch != nil {
		a.watch(w)
	}
	if err = w.greet(); err == nil {
		err = w.everyServer(f.Servers)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// everyServer finds the servers that must take what is pushed, none where the broker runs in this process. A set that nothing proves
// complete leaves the reason in unproven: a server that was missed goes on trusting what is taken back. As many as the operator
// states are complete, also where others are known: they take it from these when they are back.
func (w *spaceWork) everyServer(stated int) error {
	if w.broker != nil {
		return nil
	}
	if err := w.duty(contract.RoleDoctor); err != nil {
		return err
	}
	nc, err := w.dialer.system(w.contract.Roles[contract.RoleDoctor])
	if err != nil {
		return err
	}
	defer nc.Close()
	snapshot, err := doctor.Gather(w.app.ctx, nc, doctor.Options{Timeout: w.dialer.timeout, Servers: stated})
	if err != nil {
		return explained("gather", err)
	}
	report := doctor.Judge(snapshot, doctor.Floors{}, doctor.Expect{Servers: stated})
	for _, s := range report.Servers {
		w.servers = append(w.servers, s.ID)
	}
	if len(w.servers) == 0 {
		return failed(errors.New("no server answers the directory's "+w.contract.Roles[contract.RoleDoctor]+" credential"), "see what cotalctl doctor says")
	}
	if report.Complete || stated > 0 && stated == len(w.servers) {
		return nil
	}
	for _, c := range report.Checks {
		if c.Status != doctor.Pass {
			w.unproven = refused(fmt.Errorf("servers that must take it, got %s, want %s", c.Got, c.Want),
				cmp.Or(c.Hint, "see what cotalctl doctor says")+"; or state how many there are now with --servers N")
			return nil
		}
	}
	return failed(errors.New("which servers there are cannot be established"), "see what cotalctl doctor says")
}

// pushEverywhere gives an account JWT to every server, and returns once each holds it.
func (w *spaceWork) pushEverywhere(name, accountJWT string) error {
	claims, err := w.claimsStore()
	if err != nil {
		return err
	}
	if w.system != nil {
		err = provision.PushEverywhere(w.app.ctx, w.system, accountJWT, w.servers)
	} else {
		err = pushHere(w.app.ctx, claims, accountJWT)
	}
	if err != nil {
		return explained("account "+name, err)
	}
	w.after(provision.Action{Kind: provision.KindAccount, Name: name, Action: "push"})
	return nil
}

// pushHere is a push to the broker in this process, which must then hold the JWT.
func pushHere(ctx context.Context, claims claimsStore, accountJWT string) error {
	c, err := jwt.DecodeAccountClaims(accountJWT)
	if err != nil {
		return err
	}
	if err := claims.PushAccount(ctx, accountJWT); err != nil {
		return err
	}
	held, err := claims.LookupAccount(ctx, c.Subject)
	if err == nil && !slices.Equal(held, []string{accountJWT}) {
		err = fmt.Errorf("the broker does not take the JWT of account %s: it holds another one", c.Subject)
	}
	return err
}

// settle brings every account of the space to its spec, and every server to that.
func (w *spaceWork) settle() error {
	for range 2 { // the second pass has tokens of the keys that the first one left
		for _, acc := range w.accounts {
			_, _, err := w.dir.EnsureAccount(acc.spec)
			if err := errors.Join(err, w.shareErr); err != nil {
				return err
			}
		}
	}
	if err := w.writeConfig(); err != nil {
		return err
	}
	for _, acc := range w.accounts {
		held, err := w.dir.Account(w.name, acc.spec.Account)
		if err != nil {
			return err
		}
		if err := w.pushEverywhere(held.Name, held.JWT); err != nil {
			return err
		}
	}
	return nil
}

func (w *spaceWork) writeConfig() error {
	line, err := controlLine(w.dir)
	if err == nil {
		_, _, err = w.dir.WriteServerConfig(trust.ServerOptions{MaxControlLine: line})
	}
	return err
}

// chosen is the accounts of the space that a command is about: the named one, or all.
func (w *spaceWork) chosen(account string) ([]string, error) {
	switch {
	case account == "":
		return w.topology.Accounts, nil
	case account == contract.SystemAccount:
		return nil, usage(fmt.Errorf("--account, got %q, which is no account of a space", account), "its key is replaced with cotalctl rotate system")
	case !slices.Contains(w.topology.Accounts, account):
		return nil, usage(fmt.Errorf("--account, got %q, want one of %s", account, strings.Join(w.topology.Accounts, ", ")),
			source.Suggest(account, w.topology.Accounts))
	}
	return []string{account}, nil
}

// accountLabel is how plans name one of the space's accounts.
func (w *spaceWork) accountLabel(account string) string {
	if len(w.topology.Accounts) > 1 {
		return w.name + "/" + account
	}
	return w.name
}

// accountUpdates are the updates of the space's accounts that inspectAccounts found, and what the broker lacks.
func (w *spaceWork) accountUpdates() []provision.Action {
	var out []provision.Action
	for _, acc := range w.accounts {
		a := w.accountActions(&acc)[0]
		if acc.fresh && a.Action == provision.None {
			a.Action, a.Diff = provision.Update, []string{"broker: none → the directory's JWT"}
		}
		out = append(out, a)
	}
	return out
}

func newPlan(space string, actions ...provision.Action) *provision.Plan {
	for i := range actions {
		actions[i].Diff = append([]string{}, actions[i].Diff...) // every array is present
	}
	return &provision.Plan{Schema: provision.PlanSchema, Space: space, Actions: actions}
}
