package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
