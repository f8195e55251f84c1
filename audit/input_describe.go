package audit

import (
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

func (a *auditor) newInput() *Input {
	if a.inputContract == nil {
		a.inputContract = a.describeContract()
	}
	in := &Input{Schema: InputSchema, APIVerbs: apiNames(), Contract: a.inputContract, Spaces: []*InputSpace{}, Principals: []InputPrincipal{}}
	if !a.cfg.Now.IsZero() {
		in.Now = a.cfg.Now.Unix()
	}
	return in
}

func (a *auditor) describeContract() *InputContract {
	out := &InputContract{Accounts: []string{}, Profiles: []InputProfile{}, Rows: []InputRow{}, Residuals: []InputResidual{}}
	c := a.cfg.Contract
	if c == nil {
		return out
	}
	out.Name, out.Topology, out.Accounts = c.Name, a.topology.Name, present(a.topology.Accounts)
	for _, p := range contract.Sorted(c.Profiles) {
		out.Profiles = append(out.Profiles, InputProfile{Name: p.Name, Account: a.topology.Account(p.Name, p.Home), Trust: p.Trust,
			Lifetime: p.Lifetime.Class, Default: int64(p.Lifetime.Default.Seconds()), Max: int64(p.Lifetime.Max.Seconds()), Cite: p.Cite})
	}
	for _, r := range c.Rows {
		if !r.In(a.topology.Name) {
			continue
		}
		row := InputRow{ID: r.ID, Profiles: []string{}, Op: string(r.Op.Kind), Verbs: present(r.Op.Verbs), Resource: r.Op.Resource, Class: r.Class,
			Deny: r.Deny, Cite: r.Cite, Residuals: present(r.Residuals), File: r.Pos.File, Line: r.Pos.Line}
		for _, name := range contract.SortedKeys(c.Profiles) {
			if r.Holds(name) {
				row.Profiles = append(row.Profiles, name)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	for _, r := range contract.Sorted(c.Residuals) {
		out.Residuals = append(out.Residuals, InputResidual{ID: r.ID, Who: r.Who, Can: r.Can, Bound: r.Bound})
	}
	return out
}

// describeSpace resolves what the contract gives a space, once.
func (a *auditor) describeSpace(space string) *InputSpace {
	if s, ok := a.inputSpaces[space]; ok {
		return s
	}
	out := &InputSpace{Name: space, Resources: []InputResource{}, Invariants: []InputInvariant{}}
	a.inputSpaces[space] = out
	rules := a.rulesOf(space).rules
	for n := range rules {
		r := &rules[n]
		inv := InputInvariant{Code: r.Code, Title: r.Title, Kind: r.Kind, Severity: severityOf(r), Cite: r.Cite, Families: []string{}, By: present(r.By),
			Profiles: present(r.Profiles), Tokens: []InputToken{}, Token: r.Token, Pinned: append([]int{}, r.Pinned...),
			Verbs: present(r.AllVerbs()), Restated: restated(r.Invariant), Queue: r.queue, Class: r.Class, Trust: r.Trust}
		families := r.families[publishing]
		if len(families) == 0 {
			families = r.families[subscribing]
		}
		for _, f := range families {
			inv.Families = append(inv.Families, string(f))
		}
		for _, at := range slices.Sorted(maps.Keys(r.Tokens)) {
			inv.Tokens = append(inv.Tokens, InputToken{at, r.Tokens[at]})
		}
		out.Invariants = append(out.Invariants, inv)
	}
	scope, err := a.spaceScope(space)
	if err != nil {
		return out // rulesOf has reported it
	}
	for _, r := range contract.Sorted(a.cfg.Contract.Resources) {
		res := InputResource{ID: r.ID, Bucket: r.Bucket, Account: a.topology.Account(r.ID, r.Home), Subjects: []string{}, Config: r.Config,
			Protect: present(r.Protect)}
		if res.Config == nil {
			res.Config = map[string]any{}
		}
		if res.Stream, err = scope.StreamName(r.ID); err != nil {
			a.problem(&contract.Problem{Pos: r.Pos, What: "resource " + r.ID + ": " + err.Error()})
			continue
		}
		for _, t := range r.Subjects {
			text, err := scope.Text(t)
			if err != nil {
				a.problem(&contract.Problem{Pos: r.Pos, What: "resource " + r.ID + ": " + err.Error()})
				continue
			}
			res.Subjects = append(res.Subjects, text)
		}
		out.Resources = append(out.Resources, res)
	}
	return out
}

// restated reports whether a shipped rule in Rego can say all of an invariant: its kind has one, and no key asks for what an input
// document does not hold.
func restated(inv *contract.Invariant) bool {
	if inv.Exception != "" || len(inv.Why) > 0 {
		return false
	}
	switch inv.Kind {
	case KindIdentityToken, KindPinnedToken:
		return inv.Direction == "" || inv.Direction == contract.DirPublish
	case KindNever:
		return inv.Direction == "" || inv.Direction == contract.DirBoth
	case KindLifetime:
		return inv.Max == 0
	}
	return true
}

// describe adds a principal, and the spaces that it is judged in.
func (a *auditor) describe(in *Input, p *Principal) {
	out := InputPrincipal{ID: len(in.Principals), Name: p.Name, File: p.File, Profile: p.Profile, Trust: p.Trust, Account: p.Account,
		Spaces: []InputMember{}, Inbox: p.inboxPrefix(), Unnamed: p.fresh(), Pub: describeDirection(&p.Pub), Sub: describeDirection(&p.Sub)}
	if t := p.Token; t != nil {
		out.Token = &InputClaims{Issued: t.Issued, Expires: t.Expires, ConnTypes: present(t.ConnTypes), Responses: t.Responses, Scoped: t.Scoped}
	}
	if a.cfg.Contract != nil && (p.Token == nil || !p.Token.Scoped) {
		for _, space := range a.spaces(p) {
			identity := a.rulesOf(space).identity(p)
			if identity == nil {
				identity = map[string]string{}
			}
			out.Spaces = append(out.Spaces, InputMember{space, identity})
			in.addSpace(a.describeSpace(space))
		}
	}
	out.shown = p.shown
	in.Principals = append(in.Principals, out)
}

// addSpace keeps the spaces distinct and sorted.
func (in *Input) addSpace(s *InputSpace) {
	at, known := slices.BinarySearchFunc(in.Spaces, s.Name, func(s *InputSpace, name string) int { return strings.Compare(s.Name, name) })
	if !known {
		in.Spaces = slices.Insert(in.Spaces, at, s)
	}
}

func describeDirection(d *Direction) InputDirection {
	list := func(from []Entry) []InputEntry {
		out := make([]InputEntry, len(from))
		for i, e := range from {
			out[i] = InputEntry{string(e.Pattern), e.Queue, e.String(), present(e.Rows)}
		}
		return out
	}
	return InputDirection{d.Open, list(d.Allow), list(d.Deny)}
}

// present is the list, present even when empty.
func present(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
