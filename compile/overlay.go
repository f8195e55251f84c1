package compile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
)

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

// CheckOverlay compiles the sample inputs of every profile that an overlay declares, gives a row or a kind, in every account of every
// topology: an overlay that reaches too far is refused before anything of it is used. A contract of its own passes.
func CheckOverlay(c *contract.Contract, space string) error {
	var probs contract.Problems
	told := map[string]bool{}
	for _, t := range c.Topologies {
		for _, p := range contract.Sorted(c.Profiles) {
			given := func(row *contract.Row) bool { return row.Overlay && row.Holds(p.Name) }
			if c.Base == nil || !p.Overlay && p.Family == nil && !slices.ContainsFunc(c.Rows, given) {
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
