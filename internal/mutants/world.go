package main

import (
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// world is a contract in one topology with what its profiles compile to.
type world struct {
	c        *contract.Contract
	topology *contract.Topology
	space    string
	bases    []*base // in the order of profiles, samples and accounts
	accounts []string
}

// base is what one sample of a profile holds in one account: what mutants are made of.
type base struct {
	profile *contract.Profile
	sample  string
	input   compile.Input
	account string
	grants  []compile.Grant // as the rows give them, not closed yet
	set     *compile.PermissionSet
	holder  audit.Holder
}

func (b *base) String() string {
	return fmt.Sprintf("%s (%s) in %s", b.profile.Name, b.sample, b.account)
}

// newWorld compiles every sample of every profile.
func newWorld(c *contract.Contract, topology *contract.Topology) (*world, error) {
	w := &world{c: c, topology: topology, space: compile.SpaceParam, accounts: append(slices.Clone(topology.Accounts), contract.SystemAccount)}
	if g := c.Grammars[compile.SpaceParam]; g != nil {
		w.space = compile.SampleText(g, 0)
	}
	for _, profile := range contract.Sorted(c.Profiles) {
		for _, s := range compile.Samples(c, profile, w.space, 0) {
			bases, err := w.sample(profile, s)
			if err != nil {
				return nil, fmt.Errorf("%s, topology %s: profile %s (%s): %w", c.Name, topology.Name, profile.Name, s.Name, err)
			}
			w.bases = append(w.bases, bases...)
		}
	}
	return w, nil
}

func (w *world) sample(profile *contract.Profile, s compile.Sample) ([]*base, error) {
	scope, err := compile.NewScope(w.c, w.topology, profile, s.Input)
	if err != nil {
		return nil, err
	}
	var out []*base
	for _, account := range compile.Accounts(w.c, w.topology, profile) {
		b := &base{profile: profile, sample: s.Name, input: s.Input, account: account, holder: audit.NewHolder(scope, profile)}
		if b.grants, err = compile.Resolve(scope, account); err != nil {
			return nil, err
		}
		if b.set, err = w.seal(profile.Name, account, b.grants, nil); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// seal closes and minimizes grants as the compiler does. An edit changes them in between.
func (w *world) seal(profile, account string, grants []compile.Grant, edit func([]compile.Grant) []compile.Grant) (*compile.PermissionSet, error) {
	closed, err := compile.Close(grants)
	if err != nil {
		return nil, err
	}
	if edit != nil {
		closed = edit(closed)
	}
	set := &compile.PermissionSet{Contract: w.c.Name, Profile: profile, Space: w.space, Topology: w.topology.Name, Account: account}
	set.Pub, set.Sub = compile.Minimize(closed)
	return set, nil
}

// config is how the audit judges in this world.
func (w *world) config() audit.Config {
	return audit.Config{Contract: w.c, Topology: w.topology.Name, Space: w.space}
}

// in returns the base of a profile's first sample in an account; nil where it has no credential there.
func (w *world) in(profile, account string) *base {
	for _, b := range w.bases {
		if b.profile.Name == profile && b.account == account {
			return b
		}
	}
	return nil
}

// of returns any base of a profile: the first.
func (w *world) of(profile string) *base {
	for _, b := range w.bases {
		if b.profile.Name == profile {
			return b
		}
	}
	return nil
}
