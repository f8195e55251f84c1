package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// The directions of a permission set, as [Principal.directions] orders them.
const (
	publishing = iota
	subscribing
)

// rule is an invariant with its subjects resolved for one space.
type rule struct {
	*contract.Invariant
	families [2][]subject.Pattern // by direction; of verb-holders: the subjects on which the verb acts
	sideOf   [2][]int             // of disjoint: which side each family is of
	verbOf   []string             // of verb-holders: the verb that acts on each family
	queue    string               // where the invariant names one
	within   []boundary           // of confined, where a family names nothing of the holder
	near     index                // of within
}

// ruleset is the rules of a space.
type ruleset struct {
	space    string
	scope    *compile.Scope
	rules    []rule
	index    [2]index
	terms    []int    // rules about what a JWT states beside its entries
	abroad   index    // of families below the API of a domain, to which most entries are nothing
	params   []string // that identity-token rules name
	involved map[string][]involvement
	profiles map[string]*contract.Profile // of the contract
}

// rulesOf resolves the invariants for a space, once. An invariant that cannot be resolved is a problem, not a pass.
func (a *auditor) rulesOf(space string) *ruleset {
	if set, ok := a.rules[space]; ok {
		return set
	}
	set := &ruleset{space: space, involved: map[string][]involvement{}, profiles: a.cfg.Contract.Profiles}
	a.rules[space] = set
	scope, err := a.spaceScope(space)
	if err != nil {
		a.problem(err)
		return set
	}
	set.scope = scope
	for _, inv := range a.cfg.Contract.Invariants {
		if !inv.In(a.topology.Name) {
			continue
		}
		r, err := resolveRule(scope, inv)
		if err != nil {
			a.problem(&contract.Problem{Pos: inv.Pos, What: "invariant " + inv.Code + ": " + err.Error()})
			continue
		}
		set.add(r)
	}
	return set
}

func (s *ruleset) add(r rule) {
	n := len(s.rules)
	s.rules = append(s.rules, r)
	if r.Kind != KindDenyPresent { // it is about what no allow entry says
		for dir := range r.families {
			for i, family := range r.families[dir] {
				if x := &s.index[dir]; !strings.HasPrefix(string(family), domainAPIRoot) {
					x.add(family, ref{n, i})
				} else {
					s.abroad.add(family, ref{n, i})
				}
			}
		}
	}
	if r.Kind == KindLifetime || r.Kind == KindSize {
		s.terms = append(s.terms, n)
	}
	if r.Kind == KindIdentityToken {
		for _, param := range r.Tokens {
			if !slices.Contains(s.params, param) {
				s.params = append(s.params, param)
			}
		}
	}
}

func resolveRule(scope *compile.Scope, inv *contract.Invariant) (rule, error) {
	r := rule{Invariant: inv}
	if !slices.Contains(Kinds(), inv.Kind) {
		return r, fmt.Errorf("kind is not known, got %q, want one of %v", inv.Kind, Kinds())
	}
	families, err := patterns(scope, inv.Families)
	if err != nil {
		return r, err
	}
	if !inv.Queue.IsZero() {
		if r.queue, err = scope.Text(inv.Queue); err != nil {
			return r, err
		}
	}
	switch inv.Kind {
	case KindVerbHolders:
		r.families[publishing], r.verbOf, err = verbFamilies(scope, inv.AllVerbs(), inv.On)
	case KindDisjoint:
		err = r.resolveSides(scope)
	case KindConfined:
		if len(families) == 0 {
			families = []subject.Pattern{">"}
		}
		err = r.resolveWithin(scope)
	case KindPlacement:
		err = r.resolvePlace(scope, inv)
		if len(families)+len(inv.On) == 0 {
			families = []subject.Pattern{">"} // whatever the profiles hold
		}
	}
	if err != nil {
		return r, err
	}
	for dir, on := range directionsOf(inv) {
		if on {
			r.families[dir] = append(r.families[dir], families...)
		}
	}
	if len(r.families[publishing])+len(r.families[subscribing]) == 0 && !slices.Contains(wholeKinds, inv.Kind) && inv.Kind != KindPlacement {
		return r, fmt.Errorf("%s names no subjects, want a family or resources", inv.Kind)
	}
	return r, nil
}

// directionsOf says in which directions the families of an invariant count.
func directionsOf(inv *contract.Invariant) [2]bool {
	switch inv.Kind {
	case KindExclusiveRead, KindQueueOnly:
		return [2]bool{subscribing: true}
	case KindNever, KindPlacement:
		if inv.Direction == "" {
			return [2]bool{true, true}
		}
	}
	both := inv.Direction == contract.DirBoth
	return [2]bool{publishing: both || inv.Direction != contract.DirSubscribe, subscribing: both || inv.Direction == contract.DirSubscribe}
}

// patterns resolves templates that are about a space.
func patterns(scope *compile.Scope, list []contract.Template) ([]subject.Pattern, error) {
	var out []subject.Pattern
	for _, t := range list {
		text, err := scope.Text(t)
		if err != nil {
			return nil, err
		}
		p, err := subject.ParseStrict(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// verbFamilies are the subjects on which verbs act on resources, or on whatever stream where none is named, each with its verb: of the
// account's own API, and of that of a domain, which reaches the same streams from beyond a leaf node.
func verbFamilies(scope *compile.Scope, verbs, on []string) (families []subject.Pattern, verbOf []string, err error) {
	streams := []string{"*"}
	if len(on) > 0 {
		streams = nil
	}
	for _, id := range on {
		stream, err := scope.StreamName(id)
		if err != nil {
			return nil, nil, err
		}
		streams = append(streams, stream)
	}
	for _, name := range verbs {
		known := contract.Verbs(canonicalVerb(name))
		if len(known) == 0 {
			return nil, nil, fmt.Errorf("verb is not known, got %q", name)
		}
		for _, v := range known {
			for _, stream := range streams {
				for _, p := range verbPatterns(v, stream) {
					families, verbOf = append(families, p), append(verbOf, v.Name)
					if rest, api := strings.CutPrefix(string(p), apiRoot); api {
						families, verbOf = append(families, subject.Pattern(domainAPIRoot+rest)), append(verbOf, v.Name)
					}
				}
				if v.Account {
					break // it names no stream
				}
			}
		}
	}
	return families, verbOf, nil
}

// resolvePlace finds what is published to a resource that is placed: what acts on it, and what it captures.
func (r *rule) resolvePlace(scope *compile.Scope, inv *contract.Invariant) error {
	if len(inv.On) == 0 {
		return nil
	}
	acts, _, err := verbFamilies(scope, []string{"any"}, inv.On)
	if err != nil {
		return err
	}
	r.families[publishing] = acts
	for _, id := range inv.On {
		_, captured, err := scope.Captured(id)
		if err != nil {
			return err
		}
		r.families[publishing] = append(r.families[publishing], captured...)
	}
	return nil
}

func (r *rule) resolveSides(scope *compile.Scope) error {
	for n, side := range r.Between {
		pub, err := patterns(scope, side.Publish)
		if err != nil {
			return err
		}
		sub, err := patterns(scope, side.Subscribe)
		if err != nil {
			return err
		}
		verbs, _, err := verbFamilies(scope, side.Verbs, side.On)
		if err != nil {
			return err
		}
		for dir, list := range [2][]subject.Pattern{append(pub, verbs...), sub} {
			for _, p := range list {
				r.families[dir], r.sideOf[dir] = append(r.families[dir], p), append(r.sideOf[dir], n)
			}
		}
	}
	return nil
}
