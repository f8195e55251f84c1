package audit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// mapping is one destination of an account mapping, read as the broker's subject transform reads it.
type mapping struct {
	src  subject.Pattern
	dest string
	out  []string // tokens of the destination
	refs []int    // of each token: the wildcard of src that it repeats, 0 for a literal, -1 for a function whose result is not known
}

// wildcardFunction is the long spelling of $1.
var wildcardFunction = regexp.MustCompile(`^\{\{\s*[wW]ildcard\s*\(\s*(\d+)\s*\)\s*\}\}$`)

func readMapping(src jwt.Subject, dest jwt.Subject) mapping {
	m := mapping{src: pattern(src), dest: string(dest), out: strings.Split(string(dest), ".")}
	for _, token := range m.out {
		ref := 0
		if found := wildcardFunction.FindStringSubmatch(token); found != nil {
			ref, _ = strconv.Atoi(found[1])
		} else if n, err := strconv.Atoi(strings.TrimPrefix(token, "$")); err == nil && strings.HasPrefix(token, "$") {
			ref = n
		} else if strings.Contains(token, "{{") {
			ref = -1
		}
		m.refs = append(m.refs, ref)
	}
	return m
}

// lands is where the destination can be.
func (m *mapping) lands() subject.Pattern {
	tokens := slices.Clone(m.out)
	for i, ref := range m.refs {
		if ref < 0 { // split and slice give several tokens: whatever follows is open
			return subject.Pattern(strings.Join(append(tokens[:i], ">"), "."))
		}
		if ref > 0 {
			tokens[i] = "*"
		}
	}
	return pattern(jwt.Subject(strings.Join(tokens, ".")))
}

// exact reports whether every token of the destination is known from the source.
func (m *mapping) exact() bool { return !slices.Contains(m.refs, -1) }

// from pulls a part of lands back to the source: the subjects that map into it.
func (m *mapping) from(hit subject.Pattern) subject.Pattern {
	src, got := m.src.Tokens(), hit.Tokens()
	wild := 0
	for i, token := range src {
		switch token {
		case "*":
			wild++
			if at := slices.Index(m.refs, wild); at >= 0 && at < len(got) && got[at] != ">" {
				src[i] = got[at]
			}
		case ">":
			if at := len(m.out) - 1; m.out[at] == ">" && at < len(got) {
				src = append(src[:i], got[at:]...)
			}
		}
	}
	return subject.Pattern(strings.Join(src, "."))
}

// apply maps one literal subject of the source.
func (m *mapping) apply(s string) string {
	src, tokens := m.src.Tokens(), strings.Split(s, ".")
	var wild []string
	var rest []string
	for i, t := range src {
		switch {
		case t == "*" && i < len(tokens):
			wild = append(wild, tokens[i])
		case t == ">":
			rest = tokens[min(i, len(tokens)):]
		}
	}
	var out []string
	for i, t := range m.out {
		switch ref := m.refs[i]; {
		case ref > 0 && ref <= len(wild):
			out = append(out, wild[ref-1])
		case t == ">":
			out = append(out, rest...)
		default:
			out = append(out, t)
		}
	}
	return strings.Join(out, ".")
}

// mappingsOf lists the mappings of an account in a fixed order.
func mappingsOf(c *jwt.AccountClaims) []mapping {
	var out []mapping
	for _, src := range slices.Sorted(maps.Keys(c.Mappings)) {
		for _, to := range c.Mappings[src] {
			out = append(out, readMapping(src, to.Subject))
		}
	}
	return out
}

// mappings judges an account's mappings by themselves (A040).
func (a *auditor) mappings(p *Principal, c *jwt.AccountClaims, beyond bool) {
	for _, m := range mappingsOf(c) {
		severity, message := Warning, "is mapped to "+m.dest+": a grant of that subject admits this one"
		if beyond {
			severity, message = Error, message+", and no contract has mappings"
		} else if family := unsafeLanding(m.lands()); family != "" {
			severity, message = Error, message+", which reaches "+family
		}
		a.reportAs(p, codeMapping, severity, Entry{Entry: subject.Entry{Pattern: m.src}}, m.src.Witness(), message)
	}
}

// mapped finds subjects that a user publishes through a mapping of its account without a grant, or against a deny (A040): the
// broker checks the subject that the mapping gives.
func (a *auditor) mapped(p *Principal, acc *account) {
	if p.Pub.Open && len(p.Pub.Deny) == 0 {
		return
	}
	for _, twin := range acc.twins {
		a.mapped(p, twin)
	}
	for _, m := range mappingsOf(acc.AccountClaims) {
		for _, e := range p.Pub.allows() {
			hit, ok := subject.Intersect(m.lands(), e.Pattern)
			if !ok {
				continue
			}
			if s, ok := p.through(&m, hit); ok {
				a.report(p, codeMapping, e, s, fmt.Sprintf("no grant names this subject; %s maps %s to %s, which the entry grants",
					entityName("account", &acc.ClaimsData), m.src, m.dest))
				break
			}
		}
	}
}

// through returns a subject of the mapping that the principal may not publish and that maps into hit, which it may.
func (p *Principal) through(m *mapping, hit subject.Pattern) (string, bool) {
	if !m.exact() {
		return "", false // the account's own finding stands for it
	}
	may := func(s string) bool {
		for _, d := range p.Pub.Deny {
			if d.Pattern.Matches(s) {
				return false
			}
		}
		return slices.ContainsFunc(p.Pub.allows(), func(e Entry) bool { return e.Pattern.Matches(s) })
	}
	var allowed []subject.Pattern
	for _, e := range p.Pub.allows() {
		allowed = append(allowed, e.Pattern)
	}
	var tries []string
	if s, ok := subject.WitnessOutside(m.from(hit), allowed); ok {
		tries = append(tries, s)
	}
	if d, ok := subject.WitnessOutside(hit, p.denied(&p.Pub, "")); ok {
		tries = append(tries, m.from(subject.Pattern(d)).Witness())
	}
	for _, d := range p.Pub.Deny { // a denied source that maps out of the deny
		if back, ok := subject.Intersect(m.from(hit), d.Pattern); ok {
			tries = append(tries, back.Witness())
		}
	}
	for _, s := range tries {
		if m.src.Matches(s) && !may(s) && may(m.apply(s)) {
			return s, true
		}
	}
	return "", false
}
