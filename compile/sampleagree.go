package compile

import (
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// agree makes sampled siblings meet what they say of each other: a list within a field of another list's records holds the texts
// of that field, and a boolean is true only where what it needs could be given.
func agree(params []*contract.Param, m map[string]any) {
	for _, p := range params {
		list, field, ok := strings.Cut(p.Within, ".")
		if _, given := m[p.Name]; !ok || !given {
			continue
		}
		texts := []any{}
		for _, record := range listOf(m[list]) {
			if text, ok := record.(map[string]any)[field]; ok && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		m[p.Name] = texts
	}
	for _, p := range params {
		if m[p.Name] == true && slices.ContainsFunc(p.Needs, func(c contract.Cond) bool { return !give(params, m, c) }) {
			if m[p.Name] = false; p.Default == false {
				delete(m, p.Name)
			}
		}
	}
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// give makes one sibling meet a condition, and reports whether it could.
func give(params []*contract.Param, m map[string]any, c contract.Cond) bool {
	name := c.Path[0]
	v, given := m[name]
	switch {
	case len(c.Path) > 1:
		return false
	case c.Kind == contract.CondAbsent:
		delete(m, name)
		return true
	case c.Kind == contract.CondPresent:
		return given
	case c.Kind != contract.CondHas:
		return slices.ContainsFunc(c.Values, func(want string) bool { return v == want })
	case slices.Contains(listOf(v), any(c.Values[0])):
		return true
	}
	m[name] = append(slices.Clone(listOf(v)), c.Values[0])
	at := slices.IndexFunc(params, func(p *contract.Param) bool { return p.Name == name })
	list, field, ok := strings.Cut(params[at].Within, ".")
	if !ok {
		return true
	}
	records := listOf(m[list])
	if len(records) == 0 {
		return false
	}
	one := maps.Clone(records[0].(map[string]any))
	one[field] = c.Values[0]
	m[list] = append(slices.Clone(records), one)
	return true
}

// ownSubtree is everything below a holder's own keys of a kind; false where the kind's keys have no holder.
func (s sampler) ownSubtree(t *contract.Type, k *contract.Kind) (string, bool) {
	tokens, last := k.Tokens(), -1
	for i, token := range tokens {
		if name := strings.Trim(token, "{}"); slices.Contains(t.Own, name) {
			text, ok := s.stated[name]
			if !ok {
				text = s.text(s.c.Grammars[name], s.n)
			}
			tokens[i], last = text, i
		} else if name != token {
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens[:last+1], ".") + ".>", last >= 0
}
