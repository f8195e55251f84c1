package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// held reports every allow entry of a direction that reaches a family of the rule.
func (a *auditor) held(p *Principal, r rule, d *Direction, message string) {
	for _, e := range d.allows() {
		for _, family := range r.families {
			if w, ok := p.reaches(d, e, family); ok {
				a.violated(p, r, e, w, message)
				break
			}
		}
	}
}

// identityToken reports every publish allow entry that admits a subject of a family whose tokens are not the holder's own.
func (a *auditor) identityToken(p *Principal, r rule, identity map[string]string) {
	owned := make([][]subject.Pattern, len(r.families))
	for i, family := range r.families {
		owned[i] = own(family, r.Tokens, identity)
	}
	for _, e := range p.Pub.allows() {
		for i, family := range r.families {
			if w, ok := p.reaches(&p.Pub, e, family, owned[i]...); ok {
				a.violated(p, r, e, w, foreign(w, r.Tokens, identity))
				break
			}
		}
	}
}

// own returns the subjects of a family whose tokens carry the holder's parameters; none where a parameter is not known, or is
// more than one literal token: then every subject of the family is foreign.
func own(family subject.Pattern, tokens map[int]string, identity map[string]string) []subject.Pattern {
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
		return []subject.Pattern{exact}
	}
	return []subject.Pattern{exact, exact + ".>"}
}

// foreign says which token of a witness is not the holder's.
func foreign(witness string, tokens map[int]string, identity map[string]string) string {
	text := strings.Split(witness, ".")
	for _, at := range slices.Sorted(maps.Keys(tokens)) {
		param := tokens[at]
		switch value, known := identity[param]; {
		case at >= len(text):
			return fmt.Sprintf("may publish in the family without the token %d, its %s", at, param)
		case !known || value == "":
			return fmt.Sprintf("may publish %s %q in token %d, and has no %s of its own", param, text[at], at, param)
		case !isToken(value):
			return fmt.Sprintf("may publish %s %q in token %d; its own %s is no single token", param, text[at], at, param)
		case text[at] != value:
			return fmt.Sprintf("may publish as %s %q in token %d, its own is %q", param, text[at], at, value)
		}
	}
	return "may publish a foreign identity"
}

// identityOf completes the identity of a credential that does not state one: a parameter takes the single literal that the
// publish entries carry in its place.
func identityOf(p *Principal, rules []rule) map[string]string {
	if p.Sampled {
		return p.Identity
	}
	out, seen := maps.Clone(p.Identity), map[string]map[string]bool{}
	if out == nil {
		out = map[string]string{}
	}
	for _, r := range rules {
		if r.Kind == KindIdentityToken {
			carried(p, r, seen)
		}
	}
	for param, values := range seen {
		if _, stated := p.Identity[param]; !stated && len(values) == 1 {
			for v := range values {
				out[param] = v
			}
		}
	}
	return out
}

// carried collects the literals that stand in the places of a rule's parameters.
func carried(p *Principal, r rule, seen map[string]map[string]bool) {
	for _, e := range p.Pub.Allow {
		for _, family := range r.families {
			hit, ok := subject.Intersect(e.Pattern, family)
			if !ok {
				continue
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
	}
}

// queueOnly reports every subscribe allow entry that reaches a family without the queue that the rule names, or without the
// queue that one of its own tokens spells.
func (a *auditor) queueOnly(p *Principal, r rule) {
	for _, e := range p.Sub.allows() {
		for _, family := range r.families {
			w, ok := p.reaches(&p.Sub, e, family)
			if !ok {
				continue
			}
			want := r.queue
			if want == "" {
				want = tokenAt(e.Pattern, family, r.Token)
			}
			if e.Queue == "" || e.Queue != want {
				a.violated(p, r, e, w, queueFault(e.Queue, want, r.Token))
				break
			}
		}
	}
}

func queueFault(got, want string, at int) string {
	if want == "" {
		want = fmt.Sprintf("one that token %d spells", at)
	}
	if got == "" {
		return "subscribes without a queue, want queue " + want
	}
	return fmt.Sprintf("subscribes with queue %s, want %s", got, want)
}

// tokenAt is the literal token of what an entry reaches in a family, "" where it is open.
func tokenAt(e, family subject.Pattern, at int) string {
	hit, ok := subject.Intersect(e, family)
	if !ok {
		return ""
	}
	if tokens := hit.Tokens(); at < len(tokens) && isToken(tokens[at]) {
		return tokens[at]
	}
	return ""
}

// pinnedToken reports every publish allow entry that leaves the token of a family open.
func (a *auditor) pinnedToken(p *Principal, r rule) {
	for _, e := range p.Pub.allows() {
		for _, family := range r.families {
			w, ok := p.reaches(&p.Pub, e, family)
			if ok && tokenAt(e.Pattern, family, r.Token) == "" {
				a.violated(p, r, e, w, fmt.Sprintf("publishes with token %d open, want a literal", r.Token))
				break
			}
		}
	}
}
