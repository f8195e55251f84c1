package compile

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Sample is a generated input of a profile: what an audit compiles when it is given the contract alone.
type Sample struct {
	Name  string // "full", "minimal", or "full reads=mediated": which choices it stands for
	Input Input
}

// Samples returns inputs that reach every row of a profile: one with every optional parameter given, one more for each further
// value of an enumerated parameter, and one with the required parameters alone. n picks the identities: different n give
// different values of every grammar that admits more than one.
func Samples(c *contract.Contract, p *contract.Profile, space string, n int) []Sample {
	out := []Sample{{Name: "full", Input: sampleInput(p, space, n, true)}, {Name: "minimal", Input: sampleInput(p, space, n, false)}}
	for _, param := range p.Params {
		if param.Type.Kind != contract.TypeEnum {
			continue
		}
		for _, v := range param.Type.Enum {
			if v == param.Default {
				continue
			}
			in := sampleInput(p, space, n, true)
			in.Values[param.Name] = v
			out = append(out, Sample{Name: fmt.Sprintf("full %s=%s", param.Name, v), Input: in})
		}
	}
	for i := range out {
		sampleMembers(c, p, out[i].Input.Values)
	}
	return out
}

func sampleInput(p *contract.Profile, space string, n int, full bool) Input {
	values := map[string]any{SpaceParam: space}
	for _, param := range p.Params {
		if v := sampleParam(param, n, full); v != nil {
			values[param.Name] = v
		}
	}
	return Input{Values: values}
}

// sampleParam leaves defaults to the binder, except that a full sample fills optional parameters.
func sampleParam(p *contract.Param, n int, full bool) any {
	if p.Default != nil && p.Default != contract.DefaultUserKey || p.Optional && !full {
		return nil
	}
	return sampleValue(p.Type, n, full)
}

func sampleValue(t *contract.Type, n int, full bool) any {
	switch t.Kind {
	case contract.TypeBool:
		return false
	case contract.TypeEnum:
		return t.Enum[0]
	case contract.TypeList:
		if !full {
			return []any{}
		}
		return sampleList(t.Elem, n)
	case contract.TypeRecord:
		return sampleRecord(t.Record, n, 0)
	case contract.TypeScalar:
		return SampleText(t.Grammar, n)
	}
	return nil // members and subtrees depend on the contract: sampleMembers
}

// sampleList holds every value of an enumeration and every case of a one-of record, else two values.
func sampleList(t *contract.Type, n int) []any {
	switch {
	case t.Kind == contract.TypeEnum:
		list := make([]any, len(t.Enum))
		for i, v := range t.Enum {
			list[i] = v
		}
		return list
	case t.Kind == contract.TypeRecord && t.Record.Cases != nil:
		list := make([]any, 0, len(t.Record.Cases))
		for i := range t.Record.Cases {
			list = append(list, map[string]any{i: sampleFields(t.Record.Cases[i], n)})
		}
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return list
	case t.Kind == contract.TypePattern || t.Kind == contract.TypeMember:
		return []any{}
	}
	a, b := sampleValue(t, 2*n, true), sampleValue(t, 2*n+1, true)
	if fmt.Sprint(a) == fmt.Sprint(b) {
		return []any{a}
	}
	return []any{a, b}
}

func sampleRecord(r *contract.Record, n, pick int) any {
	if r.Cases != nil {
		name := contract.SortedKeys(r.Cases)[pick%len(r.Cases)]
		return map[string]any{name: sampleFields(r.Cases[name], n)}
	}
	return sampleFields(r.Fields, n)
}

func sampleFields(fields []*contract.Param, n int) map[string]any {
	m := map[string]any{}
	for _, f := range fields {
		if v := sampleParam(f, n, true); v != nil {
			m[f.Name] = v
		}
	}
	return m
}

func sampleMembers(c *contract.Contract, p *contract.Profile, values map[string]any) {
	for _, param := range p.Params {
		if param.Type.Kind != contract.TypeMember {
			continue
		}
		for _, k := range contract.Sorted(c.Kinds) {
			if kindHas(k, param.Type.Within) {
				values[param.Name] = k.Name
				break
			}
		}
	}
}

// SampleText returns a short text that fits a grammar. Different n give different texts where the grammar admits them.
func SampleText(g *contract.Grammar, n int) string {
	re, err := syntax.Parse(g.Token.String(), syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	sampleRegexp(&b, re.Simplify(), &n)
	return b.String()
}

// sampleRegexp writes one match: the last alternative, the fewest repeats (but once for "?"-free stars of nothing), and
// within the first free character class the n-th character.
func sampleRegexp(b *strings.Builder, re *syntax.Regexp, n *int) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(pickRune(re.Rune, n))
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			sampleRegexp(b, sub, n)
		}
	case syntax.OpAlternate:
		sampleRegexp(b, re.Sub[len(re.Sub)-1], n)
	case syntax.OpPlus:
		sampleRegexp(b, re.Sub[0], n)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	}
}

// pickRune takes the n-th rune of a class, letters first where it has any, and carries the rest of n to the next class.
func pickRune(class []rune, n *int) rune {
	var runes []rune
	for i := 0; i+1 < len(class); i += 2 {
		for r := class[i]; r <= class[i+1] && r < 128 && len(runes) < 128; r++ {
			runes = append(runes, r)
		}
	}
	if len(runes) == 0 {
		return class[0]
	}
	slices.SortStableFunc(runes, func(a, b rune) int { return rank(a) - rank(b) })
	r := runes[*n%len(runes)]
	*n /= len(runes)
	return r
}

func rank(r rune) int {
	switch {
	case r >= 'a' && r <= 'z':
		return 0
	case r >= 'A' && r <= 'Z':
		return 1
	case r >= '0' && r <= '9':
		return 2
	}
	return 3
}
