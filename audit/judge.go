package audit

import (
	"slices"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// Judge runs every check on sets that somebody else made, one at a time: what measures the audit itself asks it. It is not safe for
// concurrent use.
type Judge struct {
	a     *auditor
	given map[*compile.Scope]*compile.Scope // of holders, whose scopes other judges use too
}

// Holder is who holds a set: a profile with the identity of its parameters. The zero value states no profile.
type Holder struct {
	profile  *contract.Profile
	identity map[string]string
	scope    *compile.Scope
}

// NewHolder is the holder of a profile in a scope.
func NewHolder(scope *compile.Scope, profile *contract.Profile) Holder {
	return Holder{profile: profile, identity: scopeIdentity(scope, profile), scope: scope}
}

// NewJudge resolves the invariants of a contract once for all sets.
func NewJudge(cfg Config) (*Judge, error) {
	if cfg.Contract == nil {
		return nil, &contract.Problem{What: "judge", Got: "no contract", Want: "one"}
	}
	a, err := newAuditor(cfg)
	if err != nil {
		return nil, err
	}
	a.rulesOf(a.sampleSpace())
	return &Judge{a: a, given: map[*compile.Scope]*compile.Scope{}}, a.probs.Err()
}

// Set returns the error findings of all checks on one set, as the audit of a contract has them. What could not be judged is an error.
func (j *Judge) Set(h Holder, set *compile.PermissionSet) (found []Finding, err error) {
	a := j.a
	a.out.Findings, a.probs = nil, nil
	a.nextFile()
	p := a.setPrincipal(set)
	if h.profile != nil {
		a.place(p, h.profile.Name)
		p.Identity, p.Sampled = h.identity, true
		if p.given, err = j.own(h.scope); err != nil {
			return nil, err
		}
		p.Inbox = inboxNonce(h.profile, p.Identity)
		p.sampled = a.grantsIn(p.given, set.Account)
	}
	a.judge(p)
	return j.errors()
}

// own is a holder's scope for this judge alone.
func (j *Judge) own(scope *compile.Scope) (*compile.Scope, error) {
	if own := j.given[scope]; own != nil {
		return own, nil
	}
	own, err := scope.Fork()
	if err == nil {
		j.given[scope] = own
	}
	return own, err
}

// Declared returns the error findings on what the contract declares beside its rows.
func (j *Judge) Declared() ([]Finding, error) {
	a := j.a
	a.out.Findings, a.probs = nil, nil
	a.nextFile()
	a.declared(a.rulesOf(a.sampleSpace()))
	return j.errors()
}

func (j *Judge) errors() ([]Finding, error) {
	if err := j.a.probs.Err(); err != nil {
		return nil, err
	}
	j.a.out.sort()
	return slices.DeleteFunc(slices.Clone(j.a.out.Findings), func(f Finding) bool { return f.Severity != Error }), nil
}
