package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

func (b *binder) member(t *contract.Type, name, path string) *value {
	k, ok := b.c.Kinds[name]
	if ok && t.Within.Holds(k) {
		return &value{text: name, kind: k, grammar: k.Grammar}
	}
	var names []string
	for _, k := range contract.Sorted(b.c.Kinds) {
		if t.Within.Holds(k) {
			names = append(names, k.Name)
		}
	}
	b.fail(path, "is not a member of "+t.Of, quote(name), "one of "+strings.Join(names, ", "), "")
	return nil
}

// subtree binds a pattern below a resource: it must lie within one allowed kind, and overlap no kind that is not allowed.
func (b *binder) subtree(t *contract.Type, text, path string) *value {
	p, err := subject.ParseStrict(text)
	if err != nil {
		b.fail(path, "is not a subject pattern", quote(text), "tokens, * and a final >", "")
		return nil
	}
	within := t.Within == nil
	for _, k := range contract.Sorted(b.c.Kinds) {
		forbidden := !k.Admitted(t)
		for _, tree := range kindTrees(k) {
			switch {
			case forbidden && subject.Overlaps(tree, p):
				b.fail(path, "reaches kind "+k.Name, quote(text), "a subtree outside it", "allowed: "+b.allowedTrees(t))
				return nil
			case !forbidden && subject.Covers(tree, p):
				if within = true; !b.own(t, k, p, path) {
					return nil
				}
			}
		}
	}
	if !within {
		b.fail(path, "lies in no allowed kind", quote(text), "a subtree of one allowed kind", "allowed: "+b.allowedTrees(t))
		return nil
	}
	return textValue(text)
}

// kindTrees are patterns that hold every key of a kind and its halves: the literal tokens in front, and all below them. How many
// tokens a placeholder becomes is for the row to say, so that nothing narrower is certain.
func kindTrees(k *contract.Kind) []subject.Pattern {
	literal, whole := "", true
	for _, part := range k.Key.Parts {
		if part.Path != nil {
			whole = false
			break
		}
		literal += part.Lit
	}
	if whole {
		return []subject.Pattern{subject.Pattern(literal), subject.Pattern(literal + ".>")}
	}
	return []subject.Pattern{subject.Pattern(literal[:strings.LastIndexByte(literal, '.')+1] + ">")}
}

// openKey is what a placeholder of a kind's key becomes where the row leaves it open. A name that some profile derives from
// several tokens stands for as many: "{owner}.{actor}.{uid}" becomes "*.*.*". A nil value is one token.
func (s *Scope) openKey(name string) (*value, error) {
	shape := ""
	for _, p := range contract.Sorted(s.c.Profiles) {
		for i := range p.Derive {
			if p.Derive[i].Name != name {
				continue
			}
			own := s.openShape(p, i)
			joined, ok := joinShapes(shape, own, s.unbound)
			if !ok {
				return nil, fmt.Errorf("placeholder {%s} has no one form: profiles derive it as %s and as %s", name, shape, own)
			}
			shape = joined
		}
	}
	if shape == "" {
		return nil, nil
	}
	return textValue(shape), nil
}

// joinShapes leaves open the tokens in which two forms of one name differ; forms of different lengths do not join.
func joinShapes(a, b, open string) (string, bool) {
	if a == "" {
		return b, true
	}
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	if len(x) != len(y) {
		return "", false
	}
	for i := range x {
		if x[i] != y[i] {
			x[i] = open
		}
	}
	return strings.Join(x, "."), true
}

// openShape is the text of a derived name with all of its placeholders left open; it sees the names derived before it.
func (s *Scope) openShape(p *contract.Profile, at int) string {
	var b strings.Builder
	for _, part := range p.Derive[at].Text.Parts {
		if part.Path == nil {
			b.WriteString(part.Lit)
			continue
		}
		earlier := slices.IndexFunc(p.Derive[:at], func(d contract.Derive) bool { return d.Name == part.Path[0] })
		if earlier >= 0 {
			b.WriteString(s.openShape(p, earlier))
			continue
		}
		b.WriteString(s.unbound)
	}
	tokens := strings.Split(b.String(), ".")
	for i, token := range tokens {
		if strings.Contains(token, s.unbound) {
			tokens[i] = s.unbound // "*-*" is a literal token to the broker
		}
	}
	return strings.Join(tokens, ".")
}
