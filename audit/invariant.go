package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// The kinds of invariant that a contract may state.
const (
	KindConfined       = contract.Confined
	KindDenyPresent    = "deny-present"
	KindDisjoint       = "disjoint"
	KindExclusiveRead  = contract.ExclusiveRead
	KindExclusiveWrite = contract.ExclusiveWrite
	KindIdentityToken  = "identity-token"
	KindLifetime       = "lifetime"
	KindNever          = "never"
	KindNoDeputy       = "no-deputy"
	KindPinnedToken    = "pinned-token"
	KindPlacement      = contract.Placement
	KindQueueOnly      = "queue-only"
	KindSetting        = "setting"
	KindSize           = "size"
	KindVerbHolders    = "verb-holders"
)

// Kinds is the closed list of invariant kinds, sorted.
func Kinds() []string {
	return []string{KindConfined, KindDenyPresent, KindDisjoint, KindExclusiveRead, KindExclusiveWrite, KindIdentityToken, KindLifetime, KindNever,
		KindNoDeputy,
		KindPinnedToken, KindPlacement, KindQueueOnly, KindSetting, KindSize, KindVerbHolders}
}

// wholeKinds are those that are about no subjects: what is declared, or a credential as a whole.
var wholeKinds = []string{KindLifetime, KindNoDeputy, KindSetting, KindSize}

// invariants runs the contract's invariants on one principal, in every space that it may belong to.
func (a *auditor) invariants(p *Principal) {
	for _, space := range a.spaces(p) {
		set := a.rulesOf(space)
		j := &trial{a: a, p: p, set: set, about: set.about(a, p)}
		for dir, d := range p.directions() {
			for _, e := range d.allows() {
				j.try(dir, d, e)
			}
		}
		j.whole()
	}
}

// trial is one principal held to the rules of one space.
type trial struct {
	a        *auditor
	p        *Principal
	set      *ruleset
	about    []involvement
	self     map[string]string // its parameters, completed, once one was asked for that it does not state
	hits     []ref
	owned    map[ref]ownFamily  // of identity-token, once resolved for the principal
	bounds   map[int][]boundary // of confined
	closest  []boundary         // of confined: those of the last entry
	nearRefs []ref
	sides    map[int]*[2]sideHit     // of disjoint
	excepted map[string][]exceptions // by the name of the exception
}

// involvement is how a principal stands to a rule.
type involvement int

const (
	uninvolved involvement = iota
	involved
	holding // it is one of those whom the rule names in by:
)

// try holds one allow entry to every rule of which it reaches a family.
func (j *trial) try(dir int, d *Direction, e Entry) {
	j.hits = j.set.index[dir].overlapping(e.Pattern, dir == subscribing, j.hits[:0])
	if dir == publishing && ofDomain(e.Pattern) {
		j.hits = j.set.abroad.overlapping(e.Pattern, false, j.hits)
	}
	for len(j.hits) > 0 {
		n := 1
		for n < len(j.hits) && j.hits[n].rule == j.hits[0].rule {
			n++
		}
		if r := &j.set.rules[j.hits[0].rule]; j.about[j.hits[0].rule] != uninvolved {
			j.entry(r, dir, d, e, j.hits[:n])
		}
		j.hits = j.hits[n:]
	}
}

// entry runs one rule on one entry and the families that it may reach; the first violation is reported.
func (j *trial) entry(r *rule, dir int, d *Direction, e Entry, hits []ref) {
	for _, at := range hits {
		witness, message := j.fault(r, at, dir, d, e)
		if message == "" || j.excused(r, dir, e) {
			continue
		}
		j.a.violated(j.p, r, e, witness, message)
		return
	}
}

// fault is what a rule finds wrong with an entry in one of its families: a witness and the message, which is "" where it is nothing.
func (j *trial) fault(r *rule, at ref, dir int, d *Direction, e Entry) (witness, message string) {
	family := r.families[dir][at.family]
	switch r.Kind {
	case KindIdentityToken:
		return j.identityToken(r, at, dir, d, e)
	case KindConfined:
		return j.confined(r, at, dir, d, e)
	case KindPlacement:
		return j.placed(r, d, e, family)
	case KindVerbHolders:
		return j.verbHeld(r, at, d, e, family)
	case KindExclusiveRead:
		return j.exclusiveRead(r, at, d, e, family)
	}
	switch r.Kind { // these are told by the entry alone, most often to be in order
	case KindQueueOnly:
		if message = queueOnly(r, e, family); message == "" {
			return "", ""
		}
	case KindPinnedToken:
		if message = pinnedToken(r, e, family, j.p.verb(d)); message == "" {
			return "", ""
		}
	}
	w, ok := j.p.reaches(d, e, family)
	if !ok {
		return "", ""
	}
	switch r.Kind {
	case KindExclusiveWrite:
		message = "publishes on a family of " + names(r.By)
	case KindNever:
		message = j.p.verb(d) + " reaches a family that is closed to " + closedTo(r.Profiles)
	case KindDisjoint:
		j.side(at, r.sideOf[dir][at.family], e, w)
	}
	return w, message
}

func (a *auditor) violated(p *Principal, r *rule, e Entry, witness, message string) {
	a.add(p, e, Finding{Code: r.Code, Severity: severityOf(r), Cite: r.Cite, Hint: kindHint(r.Kind), Witness: witness, Message: message})
}

func severityOf(r *rule) string { return cmp.Or(r.Severity, Error) }

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

// about says how a principal stands to every rule. A credential of no known profile holds no authority by its name.
func (s *ruleset) about(a *auditor, p *Principal) []involvement {
	if known, ok := s.involved[p.Profile]; ok {
		return known
	}
	out := make([]involvement, len(s.rules))
	for i := range s.rules {
		r := &s.rules[i]
		switch {
		case len(r.Profiles) > 0 && (!a.names(r.Profiles, p) || r.Kind == KindConfined && p.Profile == "" && !a.allUntrusted(r.Profiles)):
		case p.Profile == "" || !slices.Contains(r.By, p.Profile):
			out[i] = involved
		case r.Kind == KindExclusiveRead && r.Queued, r.Kind == KindVerbHolders && len(r.Why) > 0:
			out[i] = holding
		}
	}
	s.involved[p.Profile] = out
	return out
}
