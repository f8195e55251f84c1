package compile

import (
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Fits reports whether a text could be a value of a parameter's type where a profile takes it. A subtree that must be the holder's own
// is held to what holder says of the holder; what it leaves open is taken from the text.
func Fits(c *contract.Contract, p *contract.Profile, t *contract.Type, text string, holder map[string]string) bool {
	switch t.Kind {
	case contract.TypeScalar:
		return CheckGrammar(t.Grammar, text) == nil
	case contract.TypeBool:
		return text == "true" || text == "false"
	}
	values := map[string]any{}
	for name, v := range holder {
		values[name] = v
	}
	b := &binder{c: c, params: parameters(c, p)}
	fits := func(values map[string]any) bool {
		b.input.Values, b.probs = values, nil
		return b.value(t, text, "") != nil && len(b.probs) == 0
	}
	if fits(values) || len(t.Own) == 0 {
		return len(b.probs) == 0
	}
	got := strings.Split(text, ".")
	return slices.ContainsFunc(contract.Sorted(c.Kinds), func(k *contract.Kind) bool {
		mine := maps.Clone(values)
		for i, token := range k.Tokens() {
			name := strings.Trim(token, "{}")
			if name != token && i < len(got) && mine[name] == nil && slices.Contains(t.Own, name) && b.admits(name, got[i]) {
				mine[name] = got[i]
			}
		}
		return fits(mine)
	})
}

// admits reports whether a text fits the type of a parameter.
func (b *binder) admits(name, text string) bool {
	for _, p := range b.params {
		if p.Name == name {
			return (&binder{c: b.c, params: b.params}).value(p.Type, text, "") != nil
		}
	}
	return false
}
