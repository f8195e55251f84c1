package compile

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Alternative is an input that differs from another in one way that makes the set smaller, perhaps.
type Alternative struct {
	Text    string // what it does, as a parameter file would say it: "reads: mediated"
	Changed int    // how many values differ
	Input   Input
}

// Choices are the inputs in which one parameter of a few values has another one, and those in which a record of a list, or every
// record, turns on a flag that is off, with what its type says the flag needs.
func Choices(p *contract.Profile, in Input) []Alternative {
	var out []Alternative
	for _, param := range p.Params {
		for _, v := range otherChoices(param, in.Values[param.Name]) {
			out = append(out, Alternative{fmt.Sprintf("%s: %v", param.Name, v), 1, with(in, param.Name, v)})
		}
		if param.Type.Kind == contract.TypeList && param.Type.Elem.Kind == contract.TypeRecord {
			out = append(out, flags(param, in)...)
		}
	}
	return out
}

func otherChoices(param *contract.Param, have any) []any {
	if have == nil {
		have = param.Default
	}
	var out []any
	switch param.Type.Kind {
	case contract.TypeEnum:
		for _, v := range param.Type.Enum {
			if v != have {
				out = append(out, v)
			}
		}
	case contract.TypeBool:
		if have == true {
			out = append(out, false)
		}
	}
	return out
}

// with is an input with another value for one parameter. Positions are left out: they are of what was given.
func with(in Input, name string, v any) Input {
	values := maps.Clone(in.Values)
	values[name] = v
	return Input{Values: values, UserKey: in.UserKey}
}

// Shorter is the input in which a list parameter lacks its n largest elements, with the text of the largest.
func Shorter(in Input, list string, n int) (Input, string) {
	have := slices.Clone(listOf(in.Values[list]))
	order := make([]int, len(have))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(fmt.Sprint(have[b])) - len(fmt.Sprint(have[a])) })
	drop, largest := map[int]bool{}, fmt.Sprint(have[order[0]])
	if record, ok := have[order[0]].(map[string]any); ok { // a record goes by the first text of its own
		for _, key := range contract.SortedKeys(record) {
			if text, ok := record[key].(string); ok {
				largest = text
				break
			}
		}
	}
	for _, i := range order[:min(n, len(order))] {
		drop[i] = true
	}
	rest := []any{}
	for i, v := range have {
		if !drop[i] {
			rest = append(rest, v)
		}
	}
	return with(in, list, rest), largest
}

// Lists are the list parameters of an input that have elements, with how many.
func Lists(p *contract.Profile, in Input) map[string]int {
	out := map[string]int{}
	for _, param := range p.Params {
		if n := len(listOf(in.Values[param.Name])); n > 0 && param.Type.Kind == contract.TypeList {
			out[param.Name] = n
		}
	}
	return out
}

// flags turns on each boolean of the records of a list: in all of them that lack it.
func flags(param *contract.Param, in Input) []Alternative {
	var out []Alternative
	fields := param.Type.Elem.Record.Fields
	for _, f := range fields {
		if f.Type.Kind != contract.TypeBool || len(f.Needs) == 0 {
			continue
		}
		changed, list := 0, []any{}
		for _, v := range listOf(in.Values[param.Name]) {
			record, ok := v.(map[string]any)
			if ok && record[f.Name] != true {
				if on := turnedOn(fields, f, record); on != nil {
					changed++
					v = on
				}
			}
			list = append(list, v)
		}
		if changed > 0 {
			text := fmt.Sprintf("%s: true in %d of %s (%s)", f.Name, changed, param.Name, needs(f))
			out = append(out, Alternative{text, changed, with(in, param.Name, list)})
		}
	}
	return out
}

// needs says what a holder must be sure of before it turns a flag on.
func needs(f *contract.Param) string {
	var out []string
	for _, c := range f.Needs {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", strings.Join(c.Path, "."), c.Kind, strings.Join(c.Values, ", "))))
	}
	return "each needs: " + strings.Join(out, "; ")
}

// turnedOn is a record with a flag that it meets the needs of already or is made to meet: lists that must cover its records' names do, and
// what its records list under the name of a list of its own moves up into that.
func turnedOn(fields []*contract.Param, flag *contract.Param, record map[string]any) map[string]any {
	m := maps.Clone(record)
	for _, f := range fields {
		if m[f.Name] == nil && f.Type.Kind == contract.TypeList && f.Within != "" {
			m[f.Name] = []any{}
		}
	}
	m[flag.Name] = true
	for _, f := range fields {
		if f.Type.Kind == contract.TypeList && f.Type.Elem.Kind == contract.TypeRecord {
			hoist(fields, m, f)
		}
	}
	agree(fields, m)
	if m[flag.Name] != true {
		return nil
	}
	return m
}

func hoist(fields []*contract.Param, m map[string]any, list *contract.Param) {
	for _, own := range fields {
		if own.Type.Kind != contract.TypeList || own.Within != "" || !slices.ContainsFunc(list.Type.Elem.Record.Fields, func(f *contract.Param) bool {
			return f.Name == own.Name && f.Type.Kind == contract.TypeList && f.Type.Elem.Kind == own.Type.Elem.Kind
		}) {
			continue
		}
		union, records := slices.Clone(listOf(m[own.Name])), []any{}
		for _, v := range listOf(m[list.Name]) {
			record, ok := v.(map[string]any)
			if !ok {
				return // the binder says what is wrong with it
			}
			for _, e := range listOf(record[own.Name]) {
				if !slices.ContainsFunc(union, func(have any) bool { return reflect.DeepEqual(have, e) }) {
					union = append(union, e)
				}
			}
			record = maps.Clone(record)
			delete(record, own.Name)
			records = append(records, record)
		}
		m[own.Name], m[list.Name] = union, records
	}
}
