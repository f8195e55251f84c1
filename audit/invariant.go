package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// The kinds of invariant that a contract may state.
const (
	KindIdentityToken  = "identity-token"
	KindExclusiveWrite = contract.ExclusiveWrite
	KindNever          = "never"
	KindNoDeputy       = "no-deputy"
	KindQueueOnly      = "queue-only"
	KindPinnedToken    = "pinned-token"
	KindVerbHolders    = "verb-holders"
	KindLifetime       = "lifetime"
)

// Kinds is the closed list of invariant kinds, sorted.
func Kinds() []string {
	return []string{KindExclusiveWrite, KindIdentityToken, KindLifetime, KindNever, KindNoDeputy, KindPinnedToken, KindQueueOnly, KindVerbHolders}
}

// rule is an invariant with its subjects resolved for one space.
type rule struct {
	*contract.Invariant
	families []subject.Pattern // of verb-holders: the subjects on which the verb acts
	queue    string            // of queue-only, where the invariant names one
	world    *world            // of no-deputy: where the stores stand
}

// rulesOf resolves the invariants for a space, once. An invariant that cannot be resolved is a problem, not a pass.
func (a *auditor) rulesOf(space string) []rule {
	if rules, ok := a.rules[space]; ok {
		return rules
	}
	a.rules[space] = nil
	scope, err := a.spaceScope(space)
	if err != nil {
		a.problem(err)
		return nil
	}
	for _, inv := range a.cfg.Contract.Invariants {
		if !inv.In(a.topology.Name) {
			continue
		}
		r, err := resolveRule(scope, inv)
		if err != nil {
			a.problem(&contract.Problem{Pos: inv.Pos, What: "invariant " + inv.Code + ": " + err.Error()})
			continue
		}
		if r.Kind == KindNoDeputy {
			r.world = a.world(space)
		}
		a.rules[space] = append(a.rules[space], r)
	}
	return a.rules[space]
}

func resolveRule(scope *compile.Scope, inv *contract.Invariant) (rule, error) {
	r := rule{Invariant: inv}
	if !slices.Contains(Kinds(), inv.Kind) {
		return r, fmt.Errorf("kind is not known, got %q, want one of %v", inv.Kind, Kinds())
	}
	if inv.Kind == KindNoDeputy {
		return r, nil // it is about the stores in on, however bytes get there
	}
	for _, t := range inv.Families {
		text, err := scope.Text(t)
		if err != nil {
			return r, err
		}
		p, err := subject.ParseStrict(text)
		if err != nil {
			return r, err
		}
		r.families = append(r.families, p)
	}
	for _, id := range inv.On {
		stream, err := scope.StreamName(id)
		if err != nil {
			return r, err
		}
		subjects := verbSubjects(inv.Verb, stream)
		if subjects == nil {
			return r, fmt.Errorf("verb is not known, got %q", inv.Verb)
		}
		r.families = append(r.families, subjects...)
	}
	if !inv.Queue.IsZero() {
		text, err := scope.Text(inv.Queue)
		if err != nil {
			return r, err
		}
		r.queue = text
	}
	if len(r.families) == 0 && inv.Kind != KindLifetime {
		return r, fmt.Errorf("%s names no subjects, want a family or resources", inv.Kind)
	}
	return r, nil
}

// invariants runs the contract's invariants on one principal, in every space that it may belong to.
func (a *auditor) invariants(p *Principal) {
	if a.cfg.Contract == nil {
		return
	}
	for _, space := range a.spaces(p) {
		rules := a.rulesOf(space)
		identity := identityOf(p, rules)
		for _, r := range rules {
			if len(r.Profiles) > 0 && !a.names(r.Profiles, p) {
				continue
			}
			// A credential of no known profile holds no authority by its name.
			if p.Profile != "" && slices.Contains(r.By, p.Profile) {
				continue
			}
			a.run(p, r, identity)
		}
	}
}

func (a *auditor) run(p *Principal, r rule, identity map[string]string) {
	switch r.Kind {
	case KindIdentityToken:
		a.identityToken(p, r, identity)
	case KindExclusiveWrite:
		a.held(p, r, &p.Pub, "publishes on a family of "+names(r.By))
	case KindNever:
		for _, d := range p.directions() {
			a.held(p, r, d, p.verb(d)+" reaches a family that is closed to "+closedTo(r.Profiles))
		}
	case KindQueueOnly:
		a.queueOnly(p, r)
	case KindPinnedToken:
		a.pinnedToken(p, r)
	case KindVerbHolders:
		a.held(p, r, &p.Pub, "holds "+r.Verb+", which is for "+names(r.By))
	case KindNoDeputy:
		a.noDeputy(p, r)
	case KindLifetime:
		if p.Token != nil && p.Token.Expires == 0 && r.Class == contract.LifetimeNone {
			a.violated(p, r, Entry{}, "", "never expires, which is for "+names(r.By))
		}
	}
}

func (a *auditor) violated(p *Principal, r rule, e Entry, witness, message string) {
	a.add(p, e, Finding{Code: r.Code, Severity: cmp.Or(r.Severity, Error), Cite: r.Cite, Hint: kindHint(r.Kind), Witness: witness, Message: message})
}

func closedTo(profiles []string) string {
	if len(profiles) == 0 {
		return "everybody"
	}
	return strings.Join(profiles, ", ")
}

// names lists profiles for a message.
func names(profiles []string) string {
	if len(profiles) == 0 {
		return "nobody"
	}
	return strings.Join(profiles, ", ") + " only"
}
