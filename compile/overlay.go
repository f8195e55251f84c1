package compile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// guard judges what an overlay gives: no grant of a row or profile of an overlay reaches a closed resource of its base, or a
// consumer or configuration of any, or every stream of the account. A row that an overlay gives to a profile of the base reaches
// nothing of the base at all: the base's invariants name its profiles as holders, and would pass what such a row adds.
type guard struct {
	s        *Scope
	stores   []store           // of the base
	own      []subject.Pattern // the base's own subjects: below its symbols, and the families of its invariants
	accounts []string          // in which the profile has rows of the base
}

// store is a resource of the base with the subjects that reach it.
type store struct {
	*contract.Resource
	captured, manage, read []subject.Pattern
}

func (s *Scope) newGuard() (*guard, error) {
	g := &guard{s: s}
	for _, r := range s.resources() {
		if r.Overlay {
			continue
		}
		stream, err := s.StreamName(r.ID)
		if err != nil {
			return nil, err
		}
		all, manage := apiReach(stream, true), apiReach(stream, false)
		read := slices.DeleteFunc(all, func(p subject.Pattern) bool { return slices.Contains(manage, p) })
		g.stores = append(g.stores, store{r, s.captured(r, stream), manage, read})
	}
	slices.SortStableFunc(g.stores, func(a, b store) int { // what is worst is told
		switch {
		case a.Closed == b.Closed:
			return 0
		case a.Closed:
			return -1
		}
		return 1
	})
	if s.profile.Overlay {
		return g, nil
	}
	for _, name := range s.c.Base.Symbols {
		root, err := s.outer().Text(s.c.Symbols[name])
		if err != nil {
			return nil, err
		}
		g.own = append(g.own, subject.Pattern(root), subject.Pattern(root+".>"))
	}
	for _, inv := range s.c.Invariants {
		for _, t := range inv.Families {
			text, err := s.outer().Text(t)
			if err != nil {
				return nil, fmt.Errorf("invariant %s: %w", inv.Code, err)
			}
			if !inv.Overlay {
				g.own = append(g.own, subject.Pattern(text))
			}
		}
	}
	g.accounts = accounts(s.c, s.topology, s.profile, func(row *contract.Row) bool { return !row.Overlay })
	return g, nil
}

// check returns what is wrong with a grant, or nil.
func (g *guard) check(grant *Grant, account string) *contract.Problem {
	s := g.s
	if grant.Deny && s.profile.Overlay {
		return nil // it gives nothing
	}
	p := grant.Entry.Pattern
	if grant.Dir == Sub {
		p = subject.Widen(p)
	}
	if first, _, _ := strings.Cut(string(p), "."); grant.Row.Overlay && (first == "*" || first == ">" || strings.HasPrefix(first, "_")) {
		return g.problem(grant, "reaches everybody's reply inboxes", string(p), "a literal first token without a leading '_'")
	}
	for i := range g.stores {
		if problem := g.store(grant, p, &g.stores[i]); problem != nil {
			return problem
		}
	}
	if hit, ok := overlapping(p, g.beyond(grant)); ok {
		return g.problem(grant, "reaches every stream of the account", string(hit), "a row on the overlay's own streams and buckets")
	}
	switch hit, ok := overlapping(p, g.own); {
	case ok:
		return g.problem(grant, fmt.Sprintf("gives profile %s of %s a subject of %s", s.profile.Name, s.c.Base.Name, s.c.Base.Name), string(hit),
			"a subject that "+s.c.Base.Name+" says nothing of")
	case !grant.Row.Overlay: // of everybody; it stands where the others do
	case slices.Contains(s.topology.Closed, account):
		return g.problem(grant, fmt.Sprintf("stands in account %s of topology %s, which is closed to overlays", account, s.topology.Name), "", "another account")
	case !s.profile.Overlay && !slices.Contains(g.accounts, account):
		return g.problem(grant, fmt.Sprintf("gives profile %s a credential in account %s, where %s gives it none", s.profile.Name, account, s.c.Base.Name), "",
			"one of "+strings.Join(g.accounts, ", "))
	}
	return nil
}

func (g *guard) store(grant *Grant, p subject.Pattern, r *store) *contract.Problem {
	closed := r.Closed || !g.s.profile.Overlay
	what := fmt.Sprintf("reaches %s (%s)", r.ID, r.Pos)
	switch {
	case r.Closed:
		what += ", which is closed to overlays"
	case closed:
		what = fmt.Sprintf("gives profile %s of %s a subject of %s, of %s (%s)", g.s.profile.Name, g.s.c.Base.Name, g.s.c.Base.Name, r.ID, r.Pos)
	}
	hit, ok := overlapping(p, r.manage)
	switch {
	case ok && !closed:
		return g.problem(grant, what+" by a consumer or its configuration, which belong to "+g.s.c.Base.Name, string(hit), "its subjects and keys, or a keyed read")
	case !ok && closed:
		if hit, ok = overlapping(p, r.captured); !ok {
			hit, ok = overlapping(p, r.read)
		}
	}
	if !ok || !closed {
		return nil
	}
	return g.problem(grant, what, string(hit), "subjects outside it")
}

// beyond is what reaches past single streams. A stream's configuration is for the profile that makes those of the base too, so that
// it learns no more than it can do anyway.
func (g *guard) beyond(grant *Grant) []subject.Pattern {
	out := accountReach()
	for _, verb := range bodyVerbs {
		if verb == "STREAM.RESTORE" || g.s.c.Roles[contract.RoleProvision] != g.s.profile.Name {
			out = append(out, subject.Pattern(apiPrefix+verb+".>"))
		}
	}
	return out
}

// overlapping returns what the first of the patterns that p overlaps has in common with it.
func overlapping(p subject.Pattern, patterns []subject.Pattern) (subject.Pattern, bool) {
	for _, q := range patterns {
		if hit, ok := subject.Intersect(p, q); ok {
			return hit, true
		}
	}
	return "", false
}

func (g *guard) problem(grant *Grant, what, hit, want string) *contract.Problem {
	got := quote(grant.Entry.String())
	if hit != "" {
		got += ", which reaches " + quote(subject.Pattern(hit).Witness())
	}
	if !grant.Row.Overlay {
		what = fmt.Sprintf("held by profile %s (%s): %s", g.s.profile.Name, g.s.profile.Pos, what)
	}
	return &contract.Problem{Pos: grant.Row.Pos, Row: grant.Row.ID, What: what, Got: got, Want: want,
		Hint: "an overlay adds resources, profiles and rows of its own beside " + g.s.c.Base.Name + "; record kinds are registered, not granted"}
}

// guarded judges the grants of one resolution: those of an overlay's rows, and all that a profile of an overlay holds.
func (s *Scope) guarded(grants []Grant, account string) contract.Problems {
	if s.c.Base == nil || !s.profile.Overlay && !slices.ContainsFunc(grants, func(g Grant) bool { return g.Row.Overlay }) {
		return nil
	}
	g, err := s.newGuard()
	if err != nil {
		return contract.Problems{{Pos: s.profile.Pos, What: err.Error()}}
	}
	var probs contract.Problems
	for i := range grants {
		if grants[i].Row.Overlay || s.profile.Overlay {
			if p := g.check(&grants[i], account); p != nil {
				probs = append(probs, p)
			}
		}
	}
	return probs
}

// ownNames checks that no resource of an overlay has the name of one of its base in this space: provisioning would make the one
// with the rights and the configuration of the other.
func (s *Scope) ownNames() contract.Problems {
	if s.c.Base == nil {
		return nil
	}
	var probs contract.Problems
	taken := map[string]*contract.Resource{}
	resources := slices.Clone(s.resources())
	slices.SortStableFunc(resources, func(a, b *contract.Resource) int { // the base's first
		switch {
		case a.Overlay == b.Overlay:
			return 0
		case b.Overlay:
			return -1
		}
		return 1
	})
	for _, r := range resources {
		name, err := s.StreamName(r.ID)
		if err != nil {
			return contract.Problems{{Pos: r.Pos, What: fmt.Sprintf("resource %q: %s", r.ID, err)}}
		}
		if first := taken[name]; first != nil {
			probs = append(probs, &contract.Problem{Pos: r.Pos, What: fmt.Sprintf("resource %q has the name of %q (%s)", r.ID, first.ID, first.Pos), Got: quote(name), Want: "a name of its own"})
		}
		taken[name] = r
	}
	return probs
}

// CheckOverlay compiles the sample inputs of every profile that an overlay declares or gives a row, in every account of every
// topology: an overlay that reaches too far is refused before anything of it is used. A contract of its own passes.
func CheckOverlay(c *contract.Contract, space string) error {
	var probs contract.Problems
	told := map[string]bool{}
	for _, t := range c.Topologies {
		for _, p := range contract.Sorted(c.Profiles) {
			if c.Base == nil || !p.Overlay && !slices.ContainsFunc(c.Rows, func(row *contract.Row) bool { return row.Overlay && row.Holds(p.Name) }) {
				continue
			}
			for _, sample := range Samples(c, p, space, 0) {
				for _, problem := range compileSample(c, t, p, sample.Input) {
					if key := problem.Pos.String() + problem.Row; !told[key] || problem.Row == "" {
						told[key], probs = true, append(probs, problem)
					}
				}
			}
		}
	}
	return probs.Err()
}

// compileSample returns what is wrong with one input of a profile.
func compileSample(c *contract.Contract, t *contract.Topology, p *contract.Profile, in Input) (probs contract.Problems) {
	add := func(err error) {
		var several contract.Problems
		var one *contract.Problem
		switch {
		case errors.As(err, &several):
			probs = append(probs, several...)
		case errors.As(err, &one):
			probs = append(probs, one)
		case err != nil:
			probs = append(probs, &contract.Problem{Pos: p.Pos, What: fmt.Sprintf("profile %s, topology %s: %s", p.Name, t.Name, err)})
		}
	}
	s, err := NewScope(c, t, p, in)
	if add(err); err != nil {
		return probs
	}
	for _, account := range Accounts(c, t, p) {
		_, err := Compile(s, account)
		add(err)
	}
	return probs
}
