package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// own holds a subtree to the holder: where the key has one of the named placeholders, the subtree has the holder's parameter of
// that name, or is too short to reach a key. A profile that declares no such parameter holds subtrees for others.
func (b *binder) own(t *contract.Type, k *contract.Kind, p subject.Pattern, path string) bool {
	got, certain := p.Tokens(), true
	for i, token := range k.Tokens() {
		name := strings.Trim(token, "{}")
		g := b.c.Grammars[name]
		certain = certain && (name == token || g != nil && (!g.Dotted || g.AsToken != nil))
		if name == token || !slices.Contains(t.Own, name) || !b.declares(name) || i >= len(got) && got[len(got)-1] != ">" {
			continue
		}
		mine := b.holders(name)
		if certain && i < len(got) && got[i] == mine && mine != "" {
			continue
		}
		b.fail(path, "reaches beyond the holder's own "+k.Name, quote(string(p)), quote(b.ownTree(t, k)), "name there the "+strings.Join(t.Own, ", ")+" of the holder")
		return false
	}
	return true
}

// holders is the holder's own value of a parameter, or "".
func (b *binder) holders(name string) string {
	for _, p := range b.params {
		if p.Name != name {
			continue
		}
		if text, ok := b.input.Values[name].(string); ok {
			return text
		}
		text, _ := b.fallback(p).(string)
		return text
	}
	return ""
}

func (b *binder) declares(name string) bool {
	return slices.ContainsFunc(b.params, func(p *contract.Param) bool { return p.Name == name })
}

// ownTree is the widest subtree of a kind that is the holder's own.
func (b *binder) ownTree(t *contract.Type, k *contract.Kind) string {
	var tokens []string
	last := 0
	for i, token := range k.Tokens() {
		name := strings.Trim(token, "{}")
		switch v := b.holders(name); {
		case name == token:
			tokens = append(tokens, token)
		case !slices.Contains(t.Own, name):
			tokens = append(tokens, "*")
		default:
			tokens, last = append(tokens, cmp.Or(v, "<"+name+">")), i
		}
	}
	return strings.Join(tokens[:last+1], ".") + ".>"
}

// allowedTrees lists the kinds that a subtree may be of, each as a pattern that holds all of it.
func (b *binder) allowedTrees(t *contract.Type) string {
	var out []string
	for _, k := range contract.Sorted(b.c.Kinds) {
		if k.Admitted(t) {
			trees := kindTrees(k)
			out = append(out, string(trees[len(trees)-1]))
		}
	}
	return strings.Join(out, ", ")
}
