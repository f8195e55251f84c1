package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// exclusiveRead finds a subscription by somebody else, and one of a holder that is not in the queue.
func (j *trial) exclusiveRead(r *rule, at ref, d *Direction, e Entry, family subject.Pattern) (string, string) {
	w, ok := j.p.reaches(d, e, family)
	switch {
	case !ok:
		return "", ""
	case j.about[at.rule] == holding:
		return w, queueOnly(r, e, family)
	}
	return w, "subscribes on a family of " + names(r.By)
}

// verbHeld finds a verb that is somebody else's, and one of a holder by a row that does not say why it has it.
func (j *trial) verbHeld(r *rule, at ref, d *Direction, e Entry, family subject.Pattern) (string, string) {
	w, ok := j.p.reaches(d, e, family)
	verb := r.verbOf[at.family]
	switch {
	case !ok:
		return "", ""
	case j.about[at.rule] == involved:
		return w, "holds " + verb + ", which is for " + names(r.By)
	}
	for _, id := range e.Rows {
		if row := j.a.rows[id]; row == nil || !slices.Contains(r.Why, row.Op.Why) {
			return w, fmt.Sprintf("holds %s by row %s, which does not say that it is for %s", verb, id, strings.Join(r.Why, " or "))
		}
	}
	return w, ""
}

// ownFamily is a family of an identity-token rule with the holder's own tokens in their places; nil: no subject of it is its own.
type ownFamily []subject.Pattern

// identityToken finds a subject of a family whose tokens are not the holder's own.
func (j *trial) identityToken(r *rule, at ref, dir int, d *Direction, e Entry) (string, string) {
	family := r.families[dir][at.family]
	own, known := j.owned[at]
	if !known {
		if j.owned == nil {
			j.owned = map[ref]ownFamily{}
		}
		own = ownIn(family, r.Tokens, j.identity(r.Tokens))
		j.owned[at] = own
	}
	w, ok := j.p.reaches(d, e, family, own...)
	if !ok {
		return "", ""
	}
	return w, foreign(j.p.verb(d), w, r.Tokens, j.identity(r.Tokens))
}

// ownIn returns the subjects of a family whose tokens carry the holder's parameters; none where a parameter is not known, or is
// more than one literal token: then every subject of the family is foreign.
func ownIn(family subject.Pattern, tokens map[int]string, identity map[string]string) ownFamily {
	text := family.Tokens()
	open := text[len(text)-1] == ">"
	if open {
		text = text[:len(text)-1]
	}
	for at, param := range tokens {
		value := identity[param]
		if !isToken(value) || !open && at >= len(text) {
			return nil
		}
		for len(text) <= at {
			text = append(text, "*")
		}
		if text[at] != "*" && text[at] != value {
			return nil
		}
		text[at] = value
	}
	exact := subject.Pattern(strings.Join(text, "."))
	if !open {
		return ownFamily{exact}
	}
	return ownFamily{exact, exact + ".>"}
}

// foreign says which token of a witness is not the holder's.
func foreign(verb, witness string, tokens map[int]string, identity map[string]string) string {
	text := strings.Split(witness, ".")
	for _, at := range slices.Sorted(maps.Keys(tokens)) {
		param := tokens[at]
		switch value, known := identity[param]; {
		case at >= len(text):
			return fmt.Sprintf("may %s in the family without the token %d, its %s", verb, at, param)
		case !known || value == "":
			return fmt.Sprintf("may %s %s %q in token %d, and has no %s of its own", verb, param, text[at], at, param)
		case !isToken(value):
			return fmt.Sprintf("may %s %s %q in token %d; its own %s is no single token", verb, param, text[at], at, param)
		case text[at] != value:
			return fmt.Sprintf("may %s as %s %q in token %d, its own is %q", verb, param, text[at], at, value)
		}
	}
	return "may " + verb + " a foreign identity"
}

// identity returns the principal's parameters, completed where it does not state one of these.
func (j *trial) identity(tokens map[int]string) map[string]string {
	for _, param := range tokens {
		if _, stated := j.p.Identity[param]; !stated {
			return j.completed()
		}
	}
	return j.p.Identity
}

func (j *trial) completed() map[string]string {
	if j.self == nil {
		j.self = j.set.identity(j.p)
	}
	return j.self
}

// identity completes the identity of a credential that does not state one: a parameter takes the single literal that the entries carry
// in its place.
func (s *ruleset) identity(p *Principal) map[string]string {
	missing := slices.DeleteFunc(slices.Clone(s.params), func(param string) bool {
		_, stated := p.Identity[param]
		return stated
	})
	if p.Sampled || len(missing) == 0 {
		return p.Identity
	}
	out, seen := maps.Clone(p.Identity), map[string]map[string]bool{}
	if out == nil {
		out = map[string]string{}
	}
	for dir, d := range p.directions() {
		for _, e := range d.Allow {
			for _, at := range s.index[dir].overlapping(e.Pattern, false, nil) {
				if r := &s.rules[at.rule]; r.Kind == KindIdentityToken {
					carried(e.Pattern, r, r.families[dir][at.family], seen)
				}
			}
		}
	}
	for _, param := range missing {
		if values := seen[param]; len(values) == 1 {
			for v := range values {
				out[param] = v
			}
		}
	}
	return out
}

// carried collects the literals that stand in the places of a rule's parameters.
func carried(e subject.Pattern, r *rule, family subject.Pattern, seen map[string]map[string]bool) {
	hit, ok := subject.Intersect(e, family)
	if !ok {
		return
	}
	tokens := hit.Tokens()
	for at, param := range r.Tokens {
		if at < len(tokens) && isToken(tokens[at]) {
			if seen[param] == nil {
				seen[param] = map[string]bool{}
			}
			seen[param][tokens[at]] = true
		}
	}
}

// queueOnly finds an entry without the queue that the rule names, or without the queue that one of its own tokens spells.
func queueOnly(r *rule, e Entry, family subject.Pattern) string {
	want := r.queue
	if want == "" {
		want = tokenAt(e.Pattern, family, r.Token)
	}
	if e.Queue != "" && e.Queue == want {
		return ""
	}
	if want == "" {
		want = fmt.Sprintf("one that token %d spells", r.Token)
	}
	if e.Queue == "" {
		return "subscribes without a queue, want queue " + want
	}
	return fmt.Sprintf("subscribes with queue %s, want %s", e.Queue, want)
}

// tokenAt is the literal token of what an entry reaches in a family that it overlaps, "" where it is open.
func tokenAt(e, family subject.Pattern, at int) string {
	for _, p := range [2]subject.Pattern{e, family} {
		if token := nthToken(p, at); isToken(token) {
			return token
		}
	}
	return ""
}

// nthToken is one token of a pattern, "" behind its end.
func nthToken(p subject.Pattern, at int) string {
	rest := string(p)
	for ; at > 0; at-- {
		_, next, more := strings.Cut(rest, ".")
		if !more {
			return ""
		}
		rest = next
	}
	token, _, _ := strings.Cut(rest, ".")
	return token
}

// pinnedToken finds an entry that leaves a token of a family open.
func pinnedToken(r *rule, e Entry, family subject.Pattern, verb string) string {
	for _, at := range r.Pinned {
		if tokenAt(e.Pattern, family, at) == "" {
			return fmt.Sprintf("%ses with token %d open, want a literal", strings.TrimSuffix(verb, "e"), at)
		}
	}
	return ""
}

// confined finds a subject that lies in none of the families within which the holder must stay.
func (j *trial) confined(r *rule, at ref, dir int, d *Direction, e Entry) (string, string) {
	var within []subject.Pattern
	for _, b := range j.boundaries(r, at.rule) {
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

// boundaries resolves those of a rule for the principal. What it does not state of itself bounds nothing: no subject lies within it.
func (j *trial) boundaries(r *rule, n int) []boundary {
	if r.within != nil {
		return r.within
	}
	if known, ok := j.bounds[n]; ok {
		return known
	}
	text := j.set.holderText(j.a.profile(j.p.Profile), j.p, j.completed())
	out := []boundary{}
	for _, b := range r.Within {
		if bound, err := resolveBound(b, text); err == nil {
			out = append(out, bound)
		}
	}
	if j.bounds == nil {
		j.bounds = map[int][]boundary{}
	}
	j.bounds[n] = out
	return out
}

// placed finds an entry that stands in another account than the rule says. Where the account of a credential is not known, nothing is said.
func (j *trial) placed(r *rule, d *Direction, e Entry, family subject.Pattern) (string, string) {
	account := j.p.account(j.a)
	if account == "" || account == r.Account {
		return "", ""
	}
	w, ok := j.p.reaches(d, e, family)
	if !ok {
		return "", ""
	}
	return w, fmt.Sprintf("may %s this in account %s, which is for account %s only", j.p.verb(d), account, r.Account)
}

// account is where a principal stands: as its set says, else where all credentials of its profile do; "" where neither is known.
func (p *Principal) account(a *auditor) string {
	if p.Account != "" {
		return p.Account
	}
	profile := a.profile(p.Profile)
	if profile == nil {
		return ""
	}
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
}

// excused reports whether rows with the rule's exception give the whole entry: by what they give, not by their names.
func (j *trial) excused(r *rule, dir int, e Entry) bool {
	if j.excepted == nil {
		j.excepted = j.a.exceptions(j.p)
	}
	side := [2]compile.Dir{compile.Pub, compile.Sub}[dir]
	tokens := e.Pattern.Tokens()
	for _, x := range j.excepted[r.Exception] {
		if x.dir == side && (x.queue == e.Queue || x.queue == hole) && len(tokens) <= maxTokens && align(x.tokens, tokens, coveringLiterals) {
			return true
		}
	}
	return false
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
			if g.Row.Exception != "" && !g.Deny {
				out[g.Row.Exception] = append(out[g.Row.Exception], exceptions{g.Dir, g.Entry.Pattern.Tokens(), g.Entry.Queue})
			}
		}
		return out
	}
	origins, _, err := a.origins(profile, a.stated(p, profile), p.Space)
	if err != nil {
		return out
	}
	for _, o := range origins {
		if row := a.rows[o.row]; row != nil && row.Exception != "" && !o.deny {
			out[row.Exception] = append(out[row.Exception], exceptions{o.dir, o.tokens, o.queue})
		}
	}
	return out
}

// sideHit is the first entry by which a principal holds a side of a disjoint rule.
type sideHit struct {
	entry   Entry
	witness string
}

func (j *trial) side(at ref, n int, e Entry, witness string) {
	if j.sides == nil {
		j.sides = map[int]*[2]sideHit{}
	}
	held := j.sides[at.rule]
	if held == nil {
		held = &[2]sideHit{}
		j.sides[at.rule] = held
	}
	if held[n].witness == "" {
		held[n] = sideHit{e, witness}
	}
}

// whole runs the rules that are about a principal as a whole.
func (j *trial) whole() {
	for n := range j.set.rules {
		r := &j.set.rules[n]
		if j.about[n] == uninvolved && r.Kind != KindLifetime {
			continue
		}
		switch r.Kind {
		case KindLifetime:
			j.lifetime(r)
		case KindSize:
			if j.p.size > r.Bytes {
				j.a.violated(j.p, r, Entry{}, "", fmt.Sprintf("the JWT is of %d bytes, want at most %d", j.p.size, r.Bytes))
			}
		case KindDenyPresent:
			j.denyPresent(r)
		case KindDisjoint:
			if held := j.sides[n]; held != nil && held[0].witness != "" && held[1].witness != "" {
				j.a.violated(j.p, r, held[1].entry, held[1].witness, fmt.Sprintf("holds this beside %s, such as %s: no credential may hold both",
					held[0].entry, held[0].witness))
			}
		}
	}
}

// lifetime judges what a JWT states; the profile's own declaration is judged once, with the contract.
func (j *trial) lifetime(r *rule) {
	t := j.p.Token
	if t == nil || len(r.Profiles) > 0 && !j.a.names(r.Profiles, j.p) {
		return
	}
	only := len(r.By) > 0 && (j.p.Profile == "" || !slices.Contains(r.By, j.p.Profile))
	if t.Expires == 0 && r.Class == contract.LifetimeNone && (only || r.Trust != "" && j.p.Trust != r.Trust) {
		j.a.violated(j.p, r, Entry{}, "", "never expires, which is for "+holders(r))
		return
	}
	profile := j.a.profile(j.p.Profile)
	if r.Max == 0 || profile == nil || profile.Lifetime.Class != r.Class {
		return
	}
	switch lives := t.Expires - t.Issued; {
	case t.Expires == 0:
		j.a.violated(j.p, r, Entry{}, "", fmt.Sprintf("never expires, want at most %s", r.Max))
	case lives > int64(r.Max.Seconds()):
		j.a.violated(j.p, r, Entry{}, "", fmt.Sprintf("lives %d seconds, want at most %s", lives, r.Max))
	}
}

// holders says for whom a lifetime class is.
func holders(r *rule) string {
	if len(r.By) > 0 {
		return names(r.By)
	}
	return "profiles of trust " + r.Trust
}

// denyPresent finds a subject of a family that the denies of the principal do not withhold. A row's deny stands in the home account of its
// profile, unless the rule names another; where it is not known in which one a credential stands, nothing is said.
func (j *trial) denyPresent(r *rule) {
	account := r.Account
	if profile := j.a.profile(j.p.Profile); profile != nil && account == "" {
		account = j.a.topology.Account(profile.Name, profile.Home)
	}
	if own := j.p.account(j.a); j.p.Profile != "" && own != account {
		return
	}
	for dir, d := range j.p.directions() {
		if len(d.Allow) == 0 && !d.Open {
			continue // it holds nothing
		}
		for _, family := range r.families[dir] {
			if w, ok := subject.WitnessOutside(family, j.p.denied(d, "")); ok {
				j.a.violated(j.p, r, Entry{}, w, fmt.Sprintf("has no deny on %s that covers %s", j.p.verb(d), family))
			}
		}
	}
}
