package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// guard judges what an overlay gives: no grant of a row or profile of an overlay reaches a closed resource of its base, or a
// consumer or configuration of any, every stream of the account, or a subject of the base that none of its open resources holds: the
// base says who hears and who speaks on those by giving nobody else a row. A row that an overlay gives to a profile of the base
// reaches nothing of the base at all: the base's invariants name its profiles as holders, and would pass what such a row adds.
type guard struct {
	s         *Scope
	stores    []store           // of the base
	roots     []subject.Pattern // everything below the base's symbols
	open      []subject.Pattern // what its stores that are not closed hold of that
	exclusive []family          // what only profiles that the base names may publish
	past      []subject.Pattern // what reaches past single streams
	deputies  []subject.Pattern // requests that have the server publish what is stored
	accounts  []string          // in which the profile has rows of the base
}

// family are subjects of an invariant of the base.
type family struct {
	*contract.Invariant
	pattern subject.Pattern
}

// store is a resource of the base with the subjects that reach it.
type store struct {
	*contract.Resource
	captured, manage, read []subject.Pattern
}

func (s *Scope) newGuard() (*guard, error) {
	g := &guard{s: s, deputies: verbs(deputyVerbs)}
	g.past = g.beyond()
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
		captured, err := s.captured(r, stream)
		if err != nil {
			return nil, err
		}
		g.stores = append(g.stores, store{r, captured, manage, read})
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
	for _, r := range g.stores {
		if !r.Closed {
			g.open = append(g.open, r.captured...)
		}
	}
	for _, name := range s.c.Base.Symbols {
		root, err := s.outer().Text(s.c.Symbols[name])
		if err != nil {
			return nil, err
		}
		g.roots = append(g.roots, subject.Pattern(root), subject.Pattern(root+".>"))
	}
	if err := g.families(); err != nil {
		return nil, err
	}
	g.accounts = accounts(s.c, s.topology, s.profile, func(row *contract.Row) bool { return !row.Overlay })
	return g, nil
}

// families are those of the base's invariants: of the exclusive ones, which name no profile of an overlay, and for a profile of the
// base, which they may name, of all.
func (g *guard) families() error {
	for _, inv := range g.s.c.Invariants {
		if inv.Overlay || inv.Kind == contract.Confined || inv.Kind == contract.Placement || g.s.profile.Overlay && inv.Kind != contract.ExclusiveWrite {
			continue
		}
		for _, t := range inv.Families {
			text, err := g.s.outer().Text(t)
			if err != nil {
				return fmt.Errorf("invariant %s: %w", inv.Code, err)
			}
			g.exclusive = append(g.exclusive, family{inv, subject.Pattern(text)})
		}
	}
	return nil
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
	if hit, ok := overlapping(p, g.past); ok {
		return g.problem(grant, "reaches every stream of the account", string(hit), "a row on the overlay's own streams and buckets")
	}
	if hit, ok := overlapping(p, g.deputies); ok {
		return g.problem(grant, "has the server publish what is stored on any subject of the account", string(hit),
			"a message get (how: msg-get; of a bucket also with allow_direct: false) or a consumer")
	}
	if problem := g.rail(grant, p); problem != nil {
		return problem
	}
	if hit, ok := overlapping(p, []subject.Pattern{ackPrefix + ">", flowPrefix + ">"}); ok && grant.Row.Overlay && !g.ownAck(p) {
		return g.problem(grant, "acknowledges by a subject that is not one consumer's own", string(hit), "a consume row on a stream of the overlay")
	}
	switch {
	case !grant.Row.Overlay: // of everybody; it stands where the others do
	case slices.Contains(s.topology.Closed, account):
		return g.problem(grant, fmt.Sprintf("stands in account %s of topology %s, which is closed to overlays", account, s.topology.Name), "", "another account")
	case !s.profile.Overlay && !slices.Contains(g.accounts, account):
		return g.problem(grant, fmt.Sprintf("gives profile %s a credential in account %s, where %s gives it none", s.profile.Name, account, s.c.Base.Name), "",
			"one of "+strings.Join(g.accounts, ", "))
	}
	return nil
}

// ownAck reports whether a pattern is "$JS.ACK.<stream>.<consumer>.>" of a stream of the overlay. The server also takes a longer shape,
// with its own domain and an account hash before the stream: whatever stands there, the subject may reach any stream.
func (g *guard) ownAck(p subject.Pattern) bool {
	t := p.Tokens()
	if len(t) != 5 || t[1] != "ACK" || t[4] != ">" || strings.ContainsAny(t[2]+t[3], "*>") {
		return false
	}
	return slices.ContainsFunc(g.s.resources(), func(r *contract.Resource) bool {
		stream, err := g.s.StreamName(r.ID)
		return r.Overlay && err == nil && stream == t[2]
	})
}

// rail judges the subjects of the base that no store of it holds, or an open one.
func (g *guard) rail(grant *Grant, p subject.Pattern) *contract.Problem {
	base, overlay := g.s.c.Base.Name, g.s.profile.Overlay
	for _, root := range g.roots {
		hit, ok := subject.Intersect(p, root)
		if !ok {
			continue
		}
		if !overlay {
			return g.problem(grant, fmt.Sprintf("gives profile %s of %s a subject of %s", g.s.profile.Name, base, base), string(hit), "a subject that "+base+" says nothing of")
		}
		if w, outside := subject.WitnessOutside(hit, g.open); outside {
			return g.problem(grant, "reaches subjects of "+base+" that are for its own profiles", w, "subjects of a resource that is not closed, or outside "+string(root))
		}
	}
	for _, f := range g.exclusive {
		if hit, ok := subject.Intersect(p, f.pattern); ok && (!overlay || grant.Dir == Pub) {
			return g.problem(grant, fmt.Sprintf("reaches the family of invariant %s (%s), which is for profiles of %s", f.Code, f.Pos, base), string(hit), "subjects outside "+string(f.pattern))
		}
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
func (g *guard) beyond() []subject.Pattern {
	if g.s.c.Roles[contract.RoleProvision] == g.s.profile.Name {
		return accountReach()
	}
	return append(accountReach(), verbs(configVerbs)...)
}

// verbs are the requests of some verbs on any stream.
func verbs(names []string) []subject.Pattern {
	out := make([]subject.Pattern, len(names))
	for i, name := range names {
		out[i] = subject.Pattern(apiPrefix + name + ".>")
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
