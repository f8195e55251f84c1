package main

import (
	"cmp"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

type rotateSystemCmd struct{ trustFlags }

// Help is the example under the flags.
func (rotateSystemCmd) Help() string {
	return "Example: cotalctl rotate system --dir D --plan\n\n" +
		"The system account keeps its identity and gets a new signing key, whose seed is dropped once every system credential is minted anew;\n" +
		"those of the old key are then disconnected. Where the credential that pushes account JWTs has expired, stop the servers, run it\n" +
		"without --server, and start them with what cotalctl broker config prints."
}

func (c *rotateSystemCmd) Run(a *app) error {
	w, err := a.openTrust(c.trustFlags)
	if err != nil {
		return err
	}
	defer w.close()
	if w.unproven != nil {
		return w.unproven
	}
	if err := w.duty(contract.RolePushClaims); err != nil {
		return err
	}
	mintAll := a.mintSystem(w.contract, w.topology, w.name)
	plan, err := w.systemPlan(mintAll)
	if err != nil {
		return err
	}
	return c.carryOut(a, plan, func() error { return w.rotateSystem(mintAll) })
}

type systemMinter = func(trust.SystemIssuer) (map[string][]byte, error)

// systemPlan names what changes: nothing can be left as it is.
func (w *spaceWork) systemPlan(mintAll systemMinter) (*provision.Plan, error) {
	begun, err := w.dir.SystemNext()
	if err != nil {
		return nil, err
	}
	old, err := w.dir.ListCreds("")
	if err != nil {
		return nil, err
	}
	next := map[string]bool{}
	for _, p := range contract.Sorted(w.contract.Profiles) {
		if w.topology.Account(p.Name, p.Home) == contract.SystemAccount {
			next[p.Name] = true
		}
	}
	key := provision.Action{Kind: provision.KindKey, Name: "system signing key", Account: contract.SystemAccount, Action: provision.Create,
		Diff: []string{strings.Join(w.dir.SystemSigners(), ", ") + " → a new one, whose seed is dropped"}}
	if begun != "" {
		key.Diff = append(key.Diff, "a rotation that was interrupted is taken up")
	}
	actions := []provision.Action{key, {Kind: provision.KindAccount, Name: "SYS", Account: contract.SystemAccount, Action: provision.Update,
		Diff: []string{"signing_keys: the new key only; users of the old one are disconnected"}}}
	for _, name := range old {
		act := provision.Action{Kind: provision.KindCredential, Name: name, Account: contract.SystemAccount, Action: provision.Update}
		if !next[name] {
			act.Action, act.Diff = provision.Delete, []string{"contract " + w.contract.Name + " has no such profile in the system account"}
		}
		delete(next, name)
		actions = append(actions, act)
	}
	for _, name := range contract.SortedKeys(next) {
		actions = append(actions, provision.Action{Kind: provision.KindCredential, Name: name, Account: contract.SystemAccount, Action: provision.Create})
	}
	return newPlan("", actions...), nil
}

// rotateSystem has both keys trusted everywhere before the new credentials take the place of the old ones, and those proven
// before the old key goes: at no moment does the directory lack a credential that may push.
func (w *spaceWork) rotateSystem(mintAll systemMinter) error {
	if err := w.dir.StageSystem(trust.Options{Now: w.app.now(), Rand: w.app.rand, MintSystem: mintAll}); err != nil {
		return err
	}
	if err := w.pushSystem(); err != nil {
		return err
	}
	old, closed, err := w.oldPusher()
	if err != nil {
		return err
	}
	if err := w.newPusher(); err != nil {
		return err
	}
	if err := w.dir.AdoptSystem(); err != nil {
		return err
	}
	if err := w.dir.DropSystem(w.app.now()); err != nil {
		return err
	}
	if err := w.pushSystem(); err != nil {
		return err
	}
	if old != nil {
		defer old.Close()
		if err := w.awaitClosed("a server still serves a system user of the old key", closed); err != nil {
			return err
		}
	}
	return w.dir.EndSystem()
}

// oldPusher is the open connection of the old key's credential, whose end shows that the key is no longer trusted; nil where
// there is none, or where a killed run had already put the new credential in its place.
func (w *spaceWork) oldPusher() (*nats.Conn, chan struct{}, error) {
	if w.system == nil {
		return nil, nil, nil
	}
	path, err := w.dir.Creds("", w.contract.Roles[contract.RolePushClaims])
	if err != nil {
		return nil, nil, err
	}
	used, err := credential(cmp.Or(w.req.creds, path))
	if err != nil {
		return nil, nil, err
	}
	next, err := w.dir.SystemNext()
	if err != nil || used.Issuer == next {
		return nil, nil, err
	}
	old, closed := w.system, make(chan struct{})
	old.SetClosedHandler(func(*nats.Conn) { close(closed) })
	return old, closed, nil
}

// newPusher connects with the new credential, to every server that was named: the old one goes only once the new one is let in.
func (w *spaceWork) newPusher() error {
	path, err := w.dir.StagedCreds(w.contract.Roles[contract.RolePushClaims])
	if err != nil {
		return err
	}
	for _, url := range strings.Split(w.dialer.url, ",") {
		d := *w.dialer
		d.url = url
		nc, err := d.systemFile(path)
		if err != nil {
			return err
		}
		nc.Close()
	}
	if w.system != nil {
		w.system, err = w.dialer.systemFile(path)
	}
	return err
}

func (w *spaceWork) pushSystem() error {
	if err := w.writeConfig(); err != nil {
		return err
	}
	token, err := w.dir.SystemJWT()
	if err != nil {
		return err
	}
	return w.pushEverywhere("SYS", token)
}
