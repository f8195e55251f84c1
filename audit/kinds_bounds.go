package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// confined finds a subject that lies in none of the families within which the holder must stay.
func (j *trial) confined(r *rule, at ref, dir int, d *Direction, e Entry) (string, string) {
	var within []subject.Pattern
	for _, b := range j.boundaries(r, at.rule, dir, e) {
		if b.admits(e.Queue) {
			if subject.Covers(b.family, e.Pattern) && !strings.HasSuffix(string(e.Pattern), "*") { // most are, and no denies need be looked at
				return "", ""
			}
			within = append(within, b.family)
		}
	}
	w, ok := j.p.reaches(d, e, r.families[dir][at.family], within...)
	if !ok {
		return "", ""
	}
	if e.Queue != "" {
		return w, fmt.Sprintf("may %s outside what it is confined to, with queue %s", j.p.verb(d), e.Queue)
	}
	return w, "may " + j.p.verb(d) + " outside what it is confined to"
}

// boundaries are those of a rule that an entry overlaps, or all, resolved for the principal. What it does not state of itself bounds
// nothing: no subject lies within it.
func (j *trial) boundaries(r *rule, n, dir int, e Entry) []boundary {
	if r.within != nil {
		j.closest = j.closest[:0]
		j.nearRefs = r.near.overlapping(e.Pattern, dir == subscribing, j.nearRefs[:0])
		for _, at := range j.nearRefs {
			j.closest = append(j.closest, r.within[at.family])
		}
		return j.closest
	}
	if j.bounds == nil {
		j.bounds = j.a.boundsOf(j.p.given, j.set)
	}
	if known, ok := j.bounds[n]; ok {
		return known
	}
	h := &stated{contract: j.a.cfg.Contract, set: j.set, profile: j.a.profile(j.p.Profile), p: j.p, identity: j.completed()}
	out := []boundary{}
	for _, b := range r.Within {
		out = append(out, h.boundaries(b)...)
	}
	j.bounds[n] = out
	return out
}

// boundsOf is what is resolved already for the parameters of a holder: many sets can be judged as its.
func (a *auditor) boundsOf(given *compile.Scope, set *ruleset) map[int][]boundary {
	if given == nil {
		return map[int][]boundary{}
	}
	at := heldTo{given, set}
	if a.bounds[at] == nil {
		a.bounds[at] = map[int][]boundary{}
	}
	return a.bounds[at]
}

// heldTo names a holder's parameters and the rules that it is held to.
type heldTo struct {
	given *compile.Scope
	set   *ruleset
}

// placed finds an entry that stands in another account than the rule says. Where the account of a credential is not known, nothing is said.
func (j *trial) placed(r *rule, d *Direction, e Entry, family subject.Pattern) (string, string) {
	account := j.p.account(j.a)
	if account == "" || slices.Contains(r.Places(), account) {
		return "", ""
	}
	w, ok := j.p.reaches(d, e, family)
	if !ok {
		return "", ""
	}
	return w, fmt.Sprintf("may %s this in account %s, which is for %s only", j.p.verb(d), account, accountsText(r))
}

// accountsText names the accounts of a placement.
func accountsText(r *rule) string { return "account " + strings.Join(r.Places(), " or ") }

// account is where a principal stands: as its set says, else where all credentials of its profile do; "" where neither is known.
func (p *Principal) account(a *auditor) string {
	if p.Account != "" {
		return p.Account
	}
	profile := a.profile(p.Profile)
	if profile == nil {
		return ""
	}
	return a.soleAccount(profile)
}

// soleAccount is where all credentials of a profile stand, "" where they stand in several accounts.
func (a *auditor) soleAccount(profile *contract.Profile) string {
	account, known := a.accounts[profile.Name]
	if !known {
		if all := compile.Accounts(a.cfg.Contract, a.topology, profile); len(all) == 1 {
			account = all[0]
		}
		a.accounts[profile.Name] = account
	}
	return account
}

// exceptions is what rows with an exception give one principal in one direction.
type exceptions struct {
	dir    compile.Dir
	tokens []string // of the patterns of an origin: hole where the value is not known
	queue  string
	served bool // in a queue, whether it is known or not
}

// excused reports whether rows with the rule's exception give the whole entry: by what they give, not by their names.
func (j *trial) excused(r *rule, dir int, e Entry) bool {
	overlay := j.overlayMay(r)
	if r.Exception == "" && !overlay {
		return false
	}
	if j.excepted == nil {
		j.excepted = j.a.exceptions(j.p)
	}
	return r.Exception != "" && j.given(r.Exception, dir, e) || overlay && j.given(byOverlay, dir, e)
}

// overlayMay reports whether what an overlay's rows give is outside a rule of its base. Loading has judged each of those grants: a profile of
// the base gets nothing of the base by them, and one of the overlay may hear and read what open resources hold.
func (j *trial) overlayMay(r *rule) bool {
	if j.a.cfg.Contract.Base == nil || r.Overlay {
		return false
	}
	switch profile := j.a.profile(j.p.Profile); r.Kind {
	case KindConfined:
		return true
	case KindExclusiveRead, KindVerbHolders:
		return profile != nil && profile.Overlay
	}
	return false
}

// byOverlay stands for the exception of every row of an overlay.
const byOverlay = "\x00"

// given reports whether rows with an exception give the whole entry.
func (j *trial) given(exception string, dir int, e Entry) bool {
	side := [2]compile.Dir{compile.Pub, compile.Sub}[dir]
	tokens := e.Pattern.Tokens()
	for _, x := range j.excepted[exception] {
		if x.dir == side && x.takes(e.Queue) && len(tokens) <= maxTokens && align(x.tokens, tokens, covering|literally) {
			return true
		}
	}
	return false
}

// takes reports whether an entry of this queue is what the row gives, or less: a plain grant takes every queue.
func (x exceptions) takes(queue string) bool {
	return x.queue == queue || x.queue == hole && (!x.served || isToken(queue))
}

// exceptions resolves what rows with an exception give to a principal: exactly, where it was compiled here, else by what it states of
// itself.
func (a *auditor) exceptions(p *Principal) map[string][]exceptions {
	out := map[string][]exceptions{}
	profile := a.profile(p.Profile)
	if profile == nil {
		return out
	}
	if p.scope != nil {
		grants, err := compile.Resolve(p.scope, p.Account)
		if err != nil {
			return out // it did not compile either
		}
		for _, g := range grants {
			if !g.Deny {
				record(out, g.Row, exceptions{g.Dir, g.Entry.Pattern.Tokens(), g.Entry.Queue, g.Entry.Queue != ""})
			}
		}
		return out
	}
	origins, _, err := a.origins(profile, a.stated(p, profile), p.Space)
	if err != nil {
		return out
	}
	for _, o := range origins {
		if row := a.rows[o.row]; row != nil && !o.deny {
			record(out, row, exceptions{o.dir, o.tokens, o.queue, row.Op.Kind == contract.OpServe})
		}
	}
	return out
}

func record(out map[string][]exceptions, row *contract.Row, x exceptions) {
	if row.Exception != "" {
		out[row.Exception] = append(out[row.Exception], x)
	}
	if row.Overlay {
		out[byOverlay] = append(out[byOverlay], x)
	}
}
