package audit

import (
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
)

// Contract compiles every profile of cfg.Contract in cfg.Topology, for several samples of its parameters and two identities, and
// judges each set. Profiles or samples that do not compile, and invariants that cannot be resolved, are returned as
// [contract.Problems] beside a report on the rest; the report is nil where nothing was judged.
func Contract(cfg Config) (*Report, error) {
	if cfg.Contract == nil {
		return nil, &contract.Problem{What: "audit", Got: "no contract", Want: "one"}
	}
	a, err := newAuditor(cfg)
	if err != nil {
		return nil, err
	}
	a.out.whole = true
	space := a.sampleSpace()
	a.declared(a.rulesOf(space))
	for _, profile := range contract.Sorted(cfg.Contract.Profiles) {
		for n := range 2 {
			for _, s := range compile.Samples(cfg.Contract, profile, space, n) {
				a.sample(profile, s.Input, n > 0)
			}
		}
	}
	a.stale()
	return a.done()
}

// Compiled judges one compiled set of a profile by the invariants of cfg.Contract that are errors, and returns what they find: the gate
// of whoever is about to give the set to somebody. It runs no generic check.
func Compiled(cfg Config, scope *compile.Scope, profile *contract.Profile, set *compile.PermissionSet) ([]Finding, error) {
	a, err := newAuditor(cfg)
	if err != nil {
		return nil, err
	}
	p := a.setPrincipal(set)
	a.place(p, profile.Name)
	p.Identity, p.scope = scopeIdentity(scope, profile), scope
	if p.given, err = scope.Fork(); err != nil { // apart, since what a rule iterates over is not what the rows have used
		return nil, err
	}
	a.invariants(p)
	if err := a.probs.Err(); err != nil {
		return nil, err
	}
	a.out.sort()
	return slices.DeleteFunc(a.out.Findings, func(f Finding) bool { return f.Severity != Error }), nil
}

// sample compiles one input in every account of the profile and judges the sets.
func (a *auditor) sample(profile *contract.Profile, in compile.Input, repeat bool) {
	a.samplePrincipals(profile, in, repeat, a.judge)
}

// samplePrincipals compiles one input in every account of the profile and passes the sets on.
func (a *auditor) samplePrincipals(profile *contract.Profile, in compile.Input, repeat bool, judge func(*Principal)) {
	scope, err := compile.NewScope(a.cfg.Contract, a.topology, profile, in)
	if err != nil {
		a.problem(fmt.Errorf("profile %s: a sample of its parameters does not bind: %w", profile.Name, err))
		return
	}
	for _, account := range compile.Accounts(a.cfg.Contract, a.topology, profile) {
		set, err := compile.Compile(scope, account)
		if err != nil {
			a.problem(err)
			continue
		}
		p := a.setPrincipal(set)
		a.place(p, profile.Name)
		p.Identity, p.Sampled, p.repeat = scopeIdentity(scope, profile), true, repeat
		p.Inbox, p.scope, p.given = inboxNonce(profile, p.Identity), scope, scope
		p.sampled = a.grantsIn(scope, account)
		for _, e := range p.Pub.Allow {
			for _, row := range e.Rows {
				a.granted[row] = true
			}
		}
		a.measure(p, profile, set)
		judge(p)
	}
}

// grantsIn asks for what the rows of a holder give in an account. What does not resolve is a problem of the audit.
func (a *auditor) grantsIn(scope *compile.Scope, account string) func() ([]compile.Grant, bool) {
	return func() ([]compile.Grant, bool) {
		grants, err := compile.Resolve(scope, account)
		if err != nil {
			a.problem(err)
		}
		return grants, err == nil
	}
}

// scopeIdentity reads the single-token parameters and derived names of a scope.
func scopeIdentity(scope *compile.Scope, profile *contract.Profile) map[string]string {
	out := map[string]string{}
	names := []string{compile.SpaceParam}
	for _, param := range profile.Params {
		names = append(names, param.Name)
	}
	for _, d := range profile.Derive {
		names = append(names, d.Name)
	}
	if profile.Family != nil {
		names = append(names, profile.Family.Param)
	}
	for _, name := range names {
		// Lists, records and absent optionals have no text.
		if text, err := scope.Text(contract.Template{Source: "{" + name + "}", Parts: []contract.Part{{Path: []string{name}}}}); err == nil {
			out[name] = text
		}
	}
	return out
}

// measure estimates the JWT of a sampled set, where a rule bounds it.
func (a *auditor) measure(p *Principal, profile *contract.Profile, set *compile.PermissionSet) {
	if !slices.ContainsFunc(a.cfg.Contract.Invariants, func(i *contract.Invariant) bool { return i.Kind == KindSize }) {
		return
	}
	tags, err := p.scope.Tags()
	if err == nil {
		p.size, err = mint.Size(set, profile, tags)
	}
	if err != nil {
		a.problem(err)
	}
}
