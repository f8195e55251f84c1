package compile

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Sample is a generated input of a profile: what an audit compiles when it is given the contract alone.
type Sample struct {
	Name  string // "full", "minimal", "full reads=mediated", "full kind=goal": which choices it stands for
	Input Input
}

// Samples returns inputs that reach the rows of a profile: one with every optional parameter given, one more for each further
// value of an enumerated, boolean or one-of parameter, one with whole subtrees where a grammar admits them, and one with the
// required parameters alone; all of them once per member of a family. Lists of records hold every combination of their enumerated and boolean fields. Only a row whose condition asks
// for one text of a grammar may stay out of reach. n picks the identities: different n give different values of every grammar
// that admits as many.
func Samples(c *contract.Contract, p *contract.Profile, space string, n int) []Sample {
	return SamplesOf(c, p, space, n, nil)
}

// SamplesOf is Samples for a caller that puts the stated parameters in: what must be the holder's own names those.
func SamplesOf(c *contract.Contract, p *contract.Profile, space string, n int, stated map[string]string) []Sample {
	return sampler{c: c, n: n, stated: stated}.samples(p, space)
}

// LongestSample is the full one of [Samples] with texts as long as their grammars admit, once per member of a family: how large a
// credential of the profile becomes by its identities.
func LongestSample(c *contract.Contract, p *contract.Profile, space string) []Sample {
	s := sampler{c: c, longest: true}
	out := []Sample{{"longest", s.input(p, space, true)}}
	if p.Family != nil {
		return s.members(p.Family, out)
	}
	return out
}

func (s sampler) samples(p *contract.Profile, space string) []Sample {
	full := s.input(p, space, true)
	out := []Sample{{"full", full}, {"minimal", s.input(p, space, false)}}
	for _, param := range p.Params {
		if !chosen(param.Type) {
			continue
		}
		for i := range s.choices(param.Type) {
			v := s.value(param.Type, i, true)
			if v == param.Default || param.Default == nil && i == 0 {
				continue // the full one has it
			}
			in := s.input(p, space, true)
			in.Values[param.Name] = v
			out = append(out, Sample{fmt.Sprintf("full %s=%s", param.Name, choiceName(v)), in})
		}
	}
	if widest, ok := widen(p, full); ok {
		out = append(out, Sample{"widest", widest})
	}
	if p.Family != nil {
		return s.members(p.Family, out)
	}
	return out
}

// widen gives every parameter that admits a whole subtree just that: what an audit of literal samples would not see.
func widen(p *contract.Profile, full Input) (Input, bool) {
	values, found := maps.Clone(full.Values), false
	for _, param := range p.Params {
		switch t := param.Type; {
		case t.Kind == contract.TypeScalar && t.Grammar.Tail:
			values[param.Name], found = ">", true
		case t.Kind == contract.TypeList && t.Elem.Kind == contract.TypeScalar && t.Elem.Grammar.Tail:
			values[param.Name], found = []any{">"}, true
		}
	}
	return Input{Values: values}, found
}

// chosen reports whether a type has a few values of its own to choose from.
func chosen(t *contract.Type) bool {
	return t.Kind == contract.TypeEnum || t.Kind == contract.TypeBool || t.Kind == contract.TypeRecord && t.Record.Cases != nil
}

func choiceName(v any) string {
	if m, ok := v.(map[string]any); ok {
		return contract.SortedKeys(m)[0] // the one case
	}
	return fmt.Sprint(v)
}

// sampler makes the values of one identity.
type sampler struct {
	c       *contract.Contract
	n       int
	stated  map[string]string
	longest bool // texts are as long as may be
}

func (s sampler) text(g *contract.Grammar, n int) string {
	if s.longest {
		return LongestText(g, n)
	}
	return SampleText(g, n)
}

// members repeats the samples for each member of a family.
func (s sampler) members(f *contract.Family, samples []Sample) []Sample {
	var out []Sample
	for _, k := range contract.Sorted(s.c.Kinds) {
		if !k.Has(f.Where) {
			continue
		}
		for _, sample := range samples {
			values := maps.Clone(sample.Input.Values)
			values[f.Param] = k.Name
			out = append(out, Sample{fmt.Sprintf("%s %s=%s", sample.Name, f.Param, k.Name), Input{Values: values}})
		}
	}
	return out
}

func (s sampler) input(p *contract.Profile, space string, full bool) Input {
	values := map[string]any{SpaceParam: space}
	for _, param := range p.Params {
		if v := s.param(param, 0, full); v != nil {
			values[param.Name] = v
		}
	}
	agree(p.Params, values)
	return Input{Values: values}
}

// param leaves defaults to the binder where there is nothing to choose, except that a full sample fills optional parameters.
func (s sampler) param(p *contract.Param, pick int, full bool) any {
	defaulted := p.Default != nil && p.Default != contract.DefaultUserKey
	if defaulted && (pick == 0 || !chosen(p.Type)) || p.Optional && !full {
		return nil
	}
	return s.value(p.Type, pick, full)
}

// value makes a value; pick chooses among those of an enumeration, a boolean and the cases of a record.
func (s sampler) value(t *contract.Type, pick int, full bool) any {
	switch t.Kind {
	case contract.TypeBool:
		return pick%2 == 1
	case contract.TypeEnum:
		return t.Enum[pick%len(t.Enum)]
	case contract.TypeList:
		if !full {
			return []any{}
		}
		return s.distinct(t, s.list(t.Elem))
	case contract.TypeRecord:
		return s.record(t.Record, pick)
	case contract.TypeMember:
		return s.member(t, pick)
	case contract.TypePattern:
		return s.subtree(t, pick)
	}
	return s.text(t.Grammar, s.n)
}

// list holds every value of an enumeration, every case of a one-of record, every member and subtree, as many records as make
// every choice of their fields, else two values.
func (s sampler) list(t *contract.Type) []any {
	if t.Kind == contract.TypeScalar {
		two := []any{s.text(t.Grammar, 2*s.n), s.text(t.Grammar, 2*s.n+1)}
		return slices.Compact(two)
	}
	list := []any{}
	for i := range s.choices(t) {
		// Two choices may have become one value where a field holds another to something.
		if v := s.value(t, i, true); v != nil && !slices.ContainsFunc(list, func(have any) bool { return reflect.DeepEqual(have, v) }) {
			list = append(list, v)
		}
	}
	return list
}

// distinct gives each record a text of its own in the field that tells the list's elements apart; those for which the grammar has
// none are left out.
func (s sampler) distinct(t *contract.Type, list []any) []any {
	at := -1
	if t.Unique != "" {
		at = slices.IndexFunc(t.Elem.Record.Fields, func(f *contract.Param) bool { return f.Name == t.Unique })
	}
	if at < 0 {
		return list
	}
	seen, out := map[string]bool{}, []any{}
	for i, record := range list {
		text := s.text(t.Elem.Record.Fields[at].Type.Grammar, len(list)*s.n+i)
		if !seen[text] {
			seen[text] = true
			record.(map[string]any)[t.Unique] = text
			out = append(out, record)
		}
	}
	return out
}

// mostRecords bounds the combinations of fields that a list of records holds; above it, each choice stands in some element.
const mostRecords = 16

// choices counts the values that a list needs to hold every choice of its elements' type.
func (s sampler) choices(t *contract.Type) int {
	switch t.Kind {
	case contract.TypeEnum:
		return len(t.Enum)
	case contract.TypeBool:
		return 2
	case contract.TypeMember, contract.TypePattern:
		return len(s.allowed(t))
	case contract.TypeRecord:
		if t.Record.Cases != nil {
			return len(t.Record.Cases)
		}
		all, most := s.combinations(t.Record.Fields)
		if all <= mostRecords {
			return all
		}
		return most
	}
	return 1
}

// combinations counts all combinations of the chosen fields, and the most choices of one of them.
func (s sampler) combinations(fields []*contract.Param) (all, most int) {
	all, most = 1, 1
	for _, f := range fields {
		if chosen(f.Type) {
			all, most = all*s.choices(f.Type), max(most, s.choices(f.Type))
		}
	}
	return all, most
}

func (s sampler) record(r *contract.Record, pick int) any {
	if r.Cases != nil {
		name := contract.SortedKeys(r.Cases)[pick%len(r.Cases)]
		return map[string]any{name: s.fields(r.Cases[name], 0)}
	}
	return s.fields(r.Fields, pick)
}

func (s sampler) fields(fields []*contract.Param, pick int) map[string]any {
	all, _ := s.combinations(fields)
	m := map[string]any{}
	for _, f := range fields {
		own := pick
		if chosen(f.Type) && all <= mostRecords {
			own = pick % s.choices(f.Type)
			pick /= s.choices(f.Type)
		}
		if v := s.param(f, own, true); v != nil {
			m[f.Name] = v
		}
	}
	agree(fields, m)
	return m
}

func (s sampler) member(t *contract.Type, pick int) any {
	if kinds := s.allowed(t); len(kinds) > 0 {
		return kinds[pick%len(kinds)].Name
	}
	return nil
}

// subtree is everything below the literal tokens of an allowed kind, or below its holder where it must be the holder's own.
func (s sampler) subtree(t *contract.Type, pick int) any {
	kinds := s.allowed(t)
	if len(kinds) == 0 {
		return nil
	}
	if own, ok := s.ownSubtree(t, kinds[pick%len(kinds)]); ok {
		return own
	}
	trees := kindTrees(kinds[pick%len(kinds)])
	return string(trees[len(trees)-1])
}

// Idle reports whether a row gives a profile nothing whatever its input: it iterates a list of members of which the contract has
// none, such as the kinds of third parties where no overlay registers any.
func Idle(c *contract.Contract, p *contract.Profile, row *contract.Row) bool {
	s := sampler{c: c}
	return slices.ContainsFunc(row.Each, func(e contract.Each) bool {
		return len(e.Path) == 1 && slices.ContainsFunc(p.Params, func(q *contract.Param) bool {
			return q.Name == e.Path[0] && q.Type.Kind == contract.TypeList && q.Type.Elem.Kind == contract.TypeMember && len(s.allowed(q.Type.Elem)) == 0
		})
	})
}

// allowed are the kinds that a member or subtree may be of.
func (s sampler) allowed(t *contract.Type) []*contract.Kind {
	return slices.DeleteFunc(contract.Sorted(s.c.Kinds), func(k *contract.Kind) bool {
		return !k.Admitted(t)
	})
}
