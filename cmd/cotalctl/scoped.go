package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// scopedKeyFlags name a scoped key of a space.
type scopedKeyFlags struct {
	Name  string `arg:"" help:"Name of the scoped key."`
	Space string `help:"Space; may be left out where the directory has one." placeholder:"NAME"`
	Creds string `type:"path" help:"System credential that may push account JWTs. Default: the directory's." placeholder:"FILE"`
	dirFlag
	serverFlags
	planFlags
}

type provisionScopedCmd struct {
	scopedKeyFlags
	Profile string `help:"Profile of the template. Default: the name of the key." placeholder:"NAME"`
	Account string `help:"Account of the topology. Default: the profile's own." placeholder:"NAME"`
	paramFlags
	fitFlags
}

// Help is the example under the flags.
func (provisionScopedCmd) Help() string {
	return "Example: cotalctl provision scoped agent --space main --set reads=mediated --plan\n\n" +
		"Parameters that are given are the template's, and the same for all of its users; the rest each user states in tags. " +
		"A changed template disconnects its users. See cotalctl compile PROFILE --scoped."
}

func (c *provisionScopedCmd) Run(a *app) error {
	w, err := a.open(spaceRequest{dir: c.Dir, name: c.Space, server: c.serverFlags, creds: c.Creds,
		fit: &fitRequest{c.fitFlags, "provision scoped"}})
	if err != nil {
		return err
	}
	defer w.close()
	profile, err := findProfile(w.contract, cmp.Or(c.Profile, c.Name))
	if err != nil {
		return err
	}
	account, err := accountOf(w.contract, w.topology, profile, c.Account)
	if err != nil {
		return err
	}
	if err := unscopable(profile, account); err != nil {
		return err
	}
	in, err := c.input(profile, w.name)
	if err != nil {
		return err
	}
	next := trust.ScopedKey{Name: c.Name, Profile: profile.Name, Account: account, Params: map[string]any{}}
	for name, v := range in.Values {
		if next.Params[name] = v; v == (contract.Null{}) {
			next.Params[name] = nil
		}
	}
	delete(next.Params, compile.SpaceParam)
	if _, err := w.template(next, in.Pos); err != nil {
		return noTemplate(err)
	}
	return w.provisionScoped(next, c.planFlags)
}

// provisionScoped makes a scoped key, or brings its template to what the contract and the parameters give.
func (w *spaceWork) provisionScoped(next trust.ScopedKey, flags planFlags) error {
	old, had := w.info.ScopedKey(next.Name)
	if had && (old.Profile != next.Profile || old.Account != next.Account) {
		return refused(fmt.Errorf("scoped key %s, got profile %s in account %s, want %s in %s as provisioned", next.Name, next.Profile, next.Account,
			old.Profile, old.Account),
			"name another key, or remove this one: cotalctl deprovision scoped "+next.Name)
	}
	keep := func() error { return nil }
	made := provision.None
	if usable, err := w.usable(old); err != nil {
		return err
	} else if usable {
		next.Key = old.Key
	} else {
		key, public, err := trust.NewSigningKey(w.app.rand)
		if err != nil {
			return err
		}
		defer key.Wipe()
		if had {
			w.dropped = []string{old.Key} // its seed was lost, or a run was stopped before it was kept
		}
		next.Key, made = public, provision.Create
		keep = func() error { return w.dir.KeepSigningKey(key) }
	}
	w.info = w.info.WithScoped(next.Name, &next)
	return w.editScoped(next, made, flags, keep)
}

// usable reports whether the key of a record can sign.
func (w *spaceWork) usable(k trust.ScopedKey) (bool, error) {
	if k.Key == "" {
		return false, nil
	}
	return w.dir.HasSeed(k.Key)
}

// editScoped plans and applies the record as it now is; seed keeps or drops the seed of its key.
func (w *spaceWork) editScoped(k trust.ScopedKey, made string, flags planFlags, seed func() error) error {
	acc := accountState{name: k.Account, spec: w.accountSpec(k.Account)}
	had, err := w.dir.Account(w.name, acc.spec.Account)
	if err != nil {
		return err
	}
	if err := w.inspect(&acc); err != nil {
		return err
	}
	w.accounts = []accountState{acc}
	actions := w.accountActions(&acc)[:1]
	key := provision.Action{Kind: provision.KindKey, Name: actions[0].Name + " scoped " + k.Name, Account: k.Account, Action: made}
	if made != provision.Delete {
		scope, err := w.scopeOf(k)
		if err != nil {
			return err
		}
		key.Diff = scopeDiff(had.Claims, scope)
	}
	if made == provision.None && len(key.Diff) > 0 {
		key.Action = provision.Update
	}
	actions[0].Diff = slices.DeleteFunc(actions[0].Diff, func(line string) bool { return strings.HasPrefix(line, "signing_keys.") })
	if acc.change != trust.None {
		actions[0].Diff = append(actions[0].Diff, "signing keys: "+key.Action+" scoped "+k.Name)
	}
	tell := func() error { return w.tellAccount(&acc) }
	steps := []func() error{w.writeRecord, seed, tell}
	if made == provision.Delete { // what is still on record can be removed again after a kill
		steps = []func() error{tell, seed, w.writeRecord}
	}
	plan := newPlan(w.name, append(actions, key)...)
	return flags.carryOut(w.app, plan, func() error {
		if err := w.begin(plan); err != nil {
			return err
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *spaceWork) writeRecord() error {
	_, err := w.dir.WriteSpace(w.name, w.info)
	return err
}

// tellAccount writes the account's JWT, and tells the broker where that changes anything for it.
func (w *spaceWork) tellAccount(acc *accountState) error {
	_, change, err := w.dir.EnsureAccount(acc.spec)
	if err := errors.Join(err, w.shareErr); err != nil {
		return err
	}
	if change == trust.None && !acc.stale && !acc.fresh {
		return nil
	}
	return w.push()
}

type deprovisionScopedCmd struct{ scopedKeyFlags }

// Help is the example under the flags.
func (deprovisionScopedCmd) Help() string {
	return "Example: cotalctl deprovision scoped agent --space main --plan\n\n" +
		"Every user of the key is disconnected, and its credentials never work again."
}

func (c *deprovisionScopedCmd) Run(a *app) error {
	w, err := a.open(spaceRequest{dir: c.Dir, name: c.Space, server: c.serverFlags, creds: c.Creds})
	if err != nil {
		return err
	}
	defer w.close()
	return w.deprovisionScoped(c.Name, c.planFlags)
}

func (w *spaceWork) deprovisionScoped(name string, flags planFlags) error {
	k, ok := w.info.ScopedKey(name)
	if !ok {
		return noScoped(w.info, w.name, name)
	}
	w.info, w.dropped, w.removing = w.info.WithScoped(name, nil), []string{k.Key}, true
	return w.editScoped(k, provision.Delete, flags, func() error { return w.dir.DropSigningKey(k.Key) })
}

// unscopable is why no scoped key of the profile can be: none of its credentials is written, or its account takes no key.
func unscopable(profile *contract.Profile, account string) error {
	if profile.Trust == contract.TrustSealed || profile.Lifetime.Class == contract.LifetimeNone {
		return &mint.SealedError{Profile: profile.Name, Reason: "trust " + profile.Trust + ", lifetime " + profile.Lifetime.Class}
	}
	if account == contract.SystemAccount {
		return refused(fmt.Errorf("profile %s stands in the system account, whose signing key is not kept", profile.Name),
			"no key of that account can be added")
	}
	return nil
}

func noScoped(info trust.SpaceInfo, space, name string) error {
	has := "none at all"
	if len(info.Scoped) > 0 {
		names := []string{}
		for _, k := range info.Scoped {
			names = append(names, k.Name)
		}
		has = "want one of " + strings.Join(names, ", ")
	}
	return usage(fmt.Errorf("scoped key is not in space %s, got %q, %s", space, name, has),
		"make it: cotalctl provision scoped "+name+" --space "+space)
}

// fixed are the parameters that a template fixes.
func fixed(k trust.ScopedKey, space string, pos map[string]contract.Pos) compile.Input {
	in := compile.Input{Values: map[string]any{compile.SpaceParam: space}, Pos: pos}
	for name, v := range k.Params {
		if in.Values[name] = v; v == nil {
			in.Values[name] = contract.Null{}
		}
	}
	return in
}

// noTemplate is a refusal where a row cannot be a template; what is wrong with the parameters themselves is as elsewhere.
func noTemplate(err error) error {
	var probs contract.Problems
	if errors.As(err, &probs) && slices.ContainsFunc(probs, func(p *contract.Problem) bool { return p.Row != "" }) {
		return refused(err, "")
	}
	return badInput(err)
}

func (w *spaceWork) template(k trust.ScopedKey, pos map[string]contract.Pos) (*compile.Template, error) {
	profile, ok := w.contract.Profiles[k.Profile]
	if !ok {
		return nil, refused(fmt.Errorf("scoped key %s of space %s: profile %s is not declared by %s", k.Name, w.name, k.Profile, w.contract.Name),
			"remove it: cotalctl deprovision scoped "+k.Name)
	}
	return compile.NewTemplate(w.contract, w.topology, profile, fixed(k, w.name, pos), k.Account)
}

// scopes puts the scoped keys of the record into the claims of their account.
func (w *spaceWork) scopes(account string, claims *jwt.AccountClaims) error {
	claims.SigningKeys.Remove(w.dropped...)
	if w.removing { // also where the contract no longer gives another one
		return nil
	}
	for _, k := range w.info.Scoped {
		if k.Account != account {
			continue
		}
		scope, err := w.scopeOf(k)
		if err != nil {
			return fmt.Errorf("scoped key %s: %w", k.Name, err)
		}
		claims.SigningKeys.AddScopedSigner(scope)
	}
	return nil
}

func (w *spaceWork) scopeOf(k trust.ScopedKey) (*jwt.UserScope, error) {
	t, err := w.template(k, nil)
	if err != nil {
		return nil, err
	}
	return t.Scope(k.Key, k.Name, "profile "+k.Profile+" of "+w.contract.Name, w.contract.Profiles[k.Profile]), nil
}

// scopeDiff says which entries of a template change, in its four lists, and what that does to those who hold it.
func scopeDiff(claims *jwt.AccountClaims, next *jwt.UserScope) []string {
	var was jwt.Permissions
	held := false
	if scope, _ := claims.SigningKeys.GetScope(next.Key); scope != nil {
		if us, ok := scope.(*jwt.UserScope); ok {
			was, held = us.Template.Permissions, true
		}
	}
	out := []string{}
	is := next.Template.Permissions
	for _, l := range []struct {
		name     string
		was, now jwt.StringList
	}{{"pub.allow", was.Pub.Allow, is.Pub.Allow}, {"pub.deny", was.Pub.Deny, is.Pub.Deny},
		{"sub.allow", was.Sub.Allow, is.Sub.Allow}, {"sub.deny", was.Sub.Deny, is.Sub.Deny}} {
		for _, e := range l.now {
			if !l.was.Contains(e) {
				out = append(out, l.name+": + "+e)
			}
		}
		for _, e := range l.was {
			if !l.now.Contains(e) {
				out = append(out, l.name+": - "+e)
			}
		}
	}
	if held && len(out) > 0 {
		out = append(out, "users of the key: are disconnected")
	}
	return out
}
