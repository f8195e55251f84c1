package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

type rotateSigningKeyCmd struct {
	Account   string `help:"Account of the topology. Default: all of the space." placeholder:"NAME"`
	RemoveOld bool   `help:"Remove the old key: its users are disconnected and stay out."`
	Abandon   bool   `help:"With --remove-old: also where that leaves somebody without a credential."`
	trustFlags
}

// Help is the example under the flags.
func (rotateSigningKeyCmd) Help() string {
	return "Example: cotalctl rotate signing-key; cotalctl mint … for every holder; cotalctl rotate signing-key --remove-old\n\n" +
		"Until the old key is removed both sign, and mint uses the new one. A run that was interrupted is taken up by the next. A removal is\n" +
		"refused while a credential of the old key has no successor, and is done once every server holds it."
}

func (c *rotateSigningKeyCmd) Run(a *app) error {
	if c.Abandon && !c.RemoveOld {
		return usage(fmt.Errorf("--abandon, got it without --remove-old"), "a new key beside the old one leaves nobody out")
	}
	w, err := a.openTrust(c.trustFlags)
	if err != nil {
		return err
	}
	defer w.close()
	if w.unproven != nil {
		return w.unproven
	}
	names, err := w.chosen(c.Account)
	if err != nil {
		return err
	}
	keys := make([]*keyRotation, len(names))
	for i, name := range names {
		if keys[i], err = w.keyRotation(name); err != nil {
			return err
		}
	}
	if c.RemoveOld {
		return w.removeOld(keys, c.planFlags, c.Abandon)
	}
	return w.addNew(keys, c.planFlags)
}

// keyRotation is where the rotation of one account's signing key stands.
type keyRotation struct {
	name     string // of the account in the topology
	account  *trust.Account
	rotation *trust.Rotation // nil: none has begun
	seed     bool            // that of the new key is kept
	overlap  bool            // the account names both keys
	dropped  bool            // it no longer names the old one
}

func (w *spaceWork) keyRotation(name string) (*keyRotation, error) {
	k := &keyRotation{name: name}
	id := trust.AccountID(w.topology.Accounts, name)
	var err error
	if k.account, err = w.dir.Account(w.name, id); err != nil {
		return nil, err
	}
	if k.rotation, err = w.dir.Rotation(w.name, id); err != nil || k.rotation == nil {
		return k, err
	}
	signers := k.account.Claims.SigningKeys
	k.overlap = signers.Contains(k.rotation.Old) && signers.Contains(k.rotation.New)
	k.dropped = !signers.Contains(k.rotation.Old) && signers.Contains(k.rotation.New)
	k.seed, err = w.dir.HasSeed(k.rotation.New)
	return k, err
}

func (w *spaceWork) keyAction(k *keyRotation) provision.Action {
	return provision.Action{Kind: provision.KindKey, Name: w.accountLabel(k.name) + " signing key", Account: k.name, Action: provision.None}
}

// edits has the accounts' specs carry the rotations that have begun.
func (w *spaceWork) edits(keys []*keyRotation, dropOld bool) error {
	w.edit = accountEdit{rotations: map[string]*trust.Rotation{}, dropOld: dropOld}
	for _, k := range keys {
		if k.rotation != nil && k.seed && (!dropOld || k.overlap || k.dropped) {
			w.edit.rotations[k.name] = k.rotation
		}
	}
	return w.inspectAccounts()
}

// addNew puts a new signing key beside the old one.
func (w *spaceWork) addNew(keys []*keyRotation, flags planFlags) error {
	if err := w.edits(keys, false); err != nil {
		return err
	}
	actions := w.accountUpdates()
	var head []provision.Action
	for _, k := range keys {
		act := w.addition(k)
		if act.Action == provision.Create && (k.rotation == nil || !k.seed) { // the key is not drawn yet
			for i := range actions {
				if actions[i].Account == k.name && actions[i].Action != provision.Refuse {
					actions[i].Action, actions[i].Diff = provision.Update, append(actions[i].Diff, "signing_keys: a new one beside "+k.account.Signing)
				}
			}
		}
		head = append(head, act)
	}
	return flags.carryOut(w.app, newPlan(w.name, append(head, actions...)...), func() error { return w.applyNew(keys) })
}

// addition is the plan's line of one new key.
func (w *spaceWork) addition(k *keyRotation) provision.Action {
	act := w.keyAction(k)
	switch {
	case k.dropped:
		act.Diff = []string{fmt.Sprintf("the removal of %s has begun: finish it with --remove-old", k.rotation.Old)}
	case k.overlap && !k.seed:
		act.Action = provision.Refuse
		act.Reason = fmt.Sprintf("the seed of the new key %s is gone: restore it from a backup of %s", k.rotation.New, shown(w.dir.Path()))
	case k.overlap:
		act.Diff = []string{fmt.Sprintf("%s stands beside %s: mint every credential anew, then run it with --remove-old", k.rotation.New, k.rotation.Old)}
	case k.rotation == nil && k.account.PlainSigners() != 1:
		act.Action = provision.Refuse
		act.Reason = fmt.Sprintf("the account has %d signing keys and no note says which of them is the older: remove the others by hand",
			k.account.PlainSigners())
	default:
		act.Action, act.Diff = provision.Create, []string{"signs from now on; " + k.account.Signing + " goes on to be trusted"}
	}
	return act
}

func (w *spaceWork) applyNew(keys []*keyRotation) error {
	for _, k := range keys {
		if k.dropped {
			continue
		}
		r, err := w.dir.BeginRotation(w.accountSpec(k.name))
		if err != nil {
			return err
		}
		k.rotation, k.seed = r, true
	}
	if err := w.edits(keys, false); err != nil {
		return err
	}
	if err := w.settle(); err != nil {
		return err
	}
	for _, k := range keys {
		if err := w.letsIn(k, k.rotation.New); err != nil {
			return err
		}
	}
	return nil
}

// removeOld removes the old signing key.
func (w *spaceWork) removeOld(keys []*keyRotation, flags planFlags, abandon bool) error {
	if err := w.edits(keys, true); err != nil {
		return err
	}
	var head []provision.Action
	for _, k := range keys {
		act, err := w.removal(k, abandon)
		if err != nil {
			return err
		}
		head = append(head, act)
	}
	return flags.carryOut(w.app, newPlan(w.name, append(head, w.accountUpdates()...)...), func() error { return w.applyRemoval(keys) })
}

// removal is the plan's line of one old key.
func (w *spaceWork) removal(k *keyRotation, abandon bool) (provision.Action, error) {
	act := w.keyAction(k)
	switch {
	case k.rotation == nil:
		act.Diff = []string{"no rotation is under way"}
		return act, nil
	case !k.seed:
		act.Action = provision.Refuse
		act.Reason = fmt.Sprintf("the seed of the new key %s is gone, so that the space could no longer be signed for: restore it from a backup of %s",
			k.rotation.New, shown(w.dir.Path()))
		return act, nil
	case !k.overlap && !k.dropped:
		act.Action, act.Reason = provision.Refuse, "the account does not name the new key yet: run it without --remove-old first"
		return act, nil
	}
	act.Action, act.Diff = provision.Delete, []string{fmt.Sprintf("%s → %s", k.rotation.Old, k.rotation.New)}
	if k.dropped {
		return act, nil // decided by the run that took it out of the account
	}
	return act, w.ends(k, &act, abandon)
}

// ends adds whose credentials end with the old key, and refuses where that leaves somebody without one.
func (w *spaceWork) ends(k *keyRotation, act *provision.Action, abandon bool) error {
	records, err := w.issued(k.account, !abandon)
	if err != nil {
		return err
	}
	complete, err := w.dir.IssuedComplete(w.name)
	if err != nil {
		return err
	}
	h := holders(records, k.account.Claims.Revocations, k.rotation)
	for _, i := range h.replaced {
		act.Diff = append(act.Diff, "ends: "+who(i)+" who has one of the new key")
	}
	for _, i := range h.left {
		act.Diff = append(act.Diff, "ends: "+who(i)+" who has no other")
	}
	switch {
	case abandon:
	case len(h.left) > 0:
		act.Action = provision.Refuse
		act.Reason = fmt.Sprintf("%s is of the old key and the only way in of its holder (%d such): mint it anew, revoke it, "+
			"wait until it expires, or give it up with --abandon", who(h.left[0]), len(h.left))
	case h.fresh == 0 && !complete:
		act.Action = provision.Refuse
		act.Reason = "no credential is known to be minted with the new key, and older ones may not be on record: " +
			"mint what is needed anew, or run it with --abandon"
	}
	return nil
}

// who names a recorded credential.
func who(i trust.Issued) string {
	tags := tagsWithout(i, "profile:", "space:", "principal:") // these are said elsewhere in the line
	until := "without an end,"
	if i.Expires != never {
		until = "until " + time.Unix(i.Expires, 0).UTC().Format(time.RFC3339) + ","
	}
	return strings.Join(append(append([]string{i.Profile}, tags...), "of user", i.User+",", until), " ")
}

func (w *spaceWork) applyRemoval(keys []*keyRotation) error {
	keys = slices.DeleteFunc(keys, func(k *keyRotation) bool { return k.rotation == nil })
	var old []*keyProbe
	defer func() {
		for _, p := range old {
			p.close()
		}
	}()
	for _, k := range keys {
		if k.overlap { // what a killed run left dropped may not be pushed yet, and then its new key may not be known either
			if err := w.letsIn(k, k.rotation.New); err != nil {
				return err
			}
		}
		p, err := w.probe(k, k.rotation.Old)
		if err != nil {
			return err
		}
		old = append(old, p)
	}
	if err := w.settle(); err != nil {
		return err
	}
	for i, k := range keys {
		if err := old[i].gone(); err != nil {
			return err
		}
		if err := w.letsIn(k, k.rotation.New); err != nil {
			return err
		}
		if err := w.dir.EndRotation(w.name, trust.AccountID(w.topology.Accounts, k.name)); err != nil {
			return err
		}
	}
	return nil
}
