package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// planner makes the mutants of one world. The same fault in the same entry of a profile is one mutant, however many samples hold
// the entry: they are its attempts.
type planner struct {
	w     *world
	epoch string
	keep  func(row, class string) bool
	list  []*mutant
	byKey map[string]*mutant
}

// plan makes every mutant of a world that keep admits.
func plan(w *world, epoch string, keep func(row, class string) bool) []*mutant {
	p := &planner{w: w, epoch: epoch, keep: keep, byKey: map[string]*mutant{}}
	for _, b := range w.bases {
		for i := range b.grants {
			if b.grants[i].Deny {
				p.denyDropped(b, i)
				continue
			}
			p.entry(b, i)
			p.swaps(b, i)
		}
		p.closingDropped(b)
	}
	p.placements()
	p.resources()
	return p.list
}

// add keeps an attempt as one of a new mutant, or of one that it repeats.
func (p *planner) add(m mutant, a attempt) {
	if !p.keep(m.row, m.class) {
		return
	}
	key := strings.Join([]string{m.row, m.class, m.profile, m.before, m.after}, "\x00")
	if have := p.byKey[key]; have != nil {
		have.attempts = append(have.attempts, a)
		return
	}
	m.contract, m.topology, m.attempts = p.w.c.Name, p.w.topology.Name, []attempt{a}
	p.byKey[key] = &m
	p.list = append(p.list, &m)
}

// of is a mutant of a grant in its own profile.
func of(b *base, g *compile.Grant, class, after string) mutant {
	return mutant{row: g.Row.ID, class: class, file: g.Row.Pos.File, profile: b.profile.Name, before: text(g), after: after}
}

// text is a grant as lists show it.
func text(g *compile.Grant) string { return entryText(g.Dir, g.Deny, g.Entry) }

func entryText(dir compile.Dir, deny bool, e subject.Entry) string {
	if deny {
		return string(dir) + " deny " + e.String()
	}
	return string(dir) + " " + e.String()
}

// entry widens one allow entry in every way.
func (p *planner) entry(b *base, i int) {
	g := &b.grants[i]
	for _, ch := range changes(g, epochsOf(g.Row, b.input, p.epoch)) {
		p.add(of(b, g, ch.class, entryText(g.Dir, false, ch.to)), p.inBase(b, func() []compile.Grant {
			grants := slices.Clone(b.grants)
			grants[i].Entry = ch.to
			return grants
		}, nil))
	}
}

// inBase is an attempt in the set of the base itself.
func (p *planner) inBase(b *base, grants func() []compile.Grant, edit func([]compile.Grant) []compile.Grant) inSet {
	return inSet{w: p.w, holder: b.holder, profile: b.profile.Name, account: b.account, whole: b.set, grants: grants, edit: edit}
}

// denyDropped leaves out one deny of a row.
func (p *planner) denyDropped(b *base, i int) {
	p.add(of(b, &b.grants[i], classDeny, "none"), p.inBase(b, func() []compile.Grant {
		return slices.Delete(slices.Clone(b.grants), i, i+1)
	}, nil))
}

// closingDropped leaves out one of the denies that close a final "*".
func (p *planner) closingDropped(b *base) {
	closed, err := compile.Close(b.grants)
	if err != nil {
		return // the base compiled
	}
	for i := range closed {
		g := &closed[i]
		if !g.Deny || slices.ContainsFunc(b.grants, func(o compile.Grant) bool { return o.Deny && o.Dir == g.Dir && o.Entry == g.Entry }) {
			continue
		}
		p.add(of(b, g, classDeny, "none"), p.inBase(b, func() []compile.Grant { return b.grants }, func(all []compile.Grant) []compile.Grant {
			return slices.DeleteFunc(all, func(o compile.Grant) bool { return o.Deny && o.Dir == g.Dir && o.Entry == g.Entry })
		}))
	}
}

// swaps gives one allow entry to other profiles, to nobody known, and to its own profile in other accounts.
func (p *planner) swaps(b *base, i int) {
	g := &b.grants[i]
	for _, to := range p.targets(b, g.Row) {
		class := classProfile
		if to.Trust == contract.TrustUntrusted {
			class = classUntrusted
		}
		m := of(b, g, class, "held by "+to.Name)
		m.profile = to.Name
		p.add(m, p.moved(b, i, to.Name, b.account))
	}
	if len(p.targets(b, g.Row)) > 0 { // a row that everybody has is nobody's duty
		m := of(b, g, classUntagged, "held without a profile")
		m.profile = ""
		p.add(m, p.beside(b, i, inSet{account: b.account}, everybodys(b)))
	}
	for _, account := range p.w.accounts {
		if account == b.account || slices.Contains(g.Row.Profiles, "*") {
			continue
		}
		p.add(of(b, g, classAccount, fmt.Sprintf("in account %s, not %s", account, b.account)), p.moved(b, i, b.profile.Name, account))
	}
}

// moved puts an entry beside what a profile holds in an account.
func (p *planner) moved(b *base, i int, profile, account string) inSet {
	a := inSet{profile: profile, account: account}
	if to := p.w.in(profile, account); to != nil {
		a.holder, a.whole = to.holder, to.set
		return p.beside(b, i, a, to.grants)
	}
	to := p.w.of(profile)
	a.holder = to.holder
	return p.beside(b, i, a, everybodys(to))
}

// beside completes an attempt that adds an entry to grants.
func (p *planner) beside(b *base, i int, a inSet, grants []compile.Grant) inSet {
	a.w, a.had = p.w, grants
	a.grants = func() []compile.Grant { return append(slices.Clone(grants), b.grants[i]) }
	return a
}

// everybodys are the grants that every profile has, such as an inbox of its own: what a holder brings into an account where it has
// nothing else, so that what is found is not the lack of them.
func everybodys(b *base) []compile.Grant {
	return slices.DeleteFunc(slices.Clone(b.grants), func(g compile.Grant) bool { return !slices.Contains(g.Row.Profiles, "*") })
}
