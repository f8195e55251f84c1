package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// ParseSet reads repeated "name=value" flags into values, typed by the profile's parameters: a list value is comma-separated,
// an empty one is the empty list, and the last of one name wins. It reports unknown names and shapes that a flag cannot carry.
func ParseSet(p *contract.Profile, flags []string) (map[string]any, error) {
	types := map[string]*contract.Type{}
	for _, param := range parameters(nil, p) {
		types[param.Name] = param.Type
	}
	out := make(map[string]any, len(flags))
	var probs contract.Problems
	for _, f := range flags {
		name, text, ok := strings.Cut(f, "=")
		t := types[name]
		if !ok || t == nil {
			what := "--set"
			if contract.IsName(name) {
				what += " " + name
			}
			probs = append(probs, &contract.Problem{What: what, Got: quote(f),
				Want: "name=value with name one of " + strings.Join(contract.SortedKeys(types), ", ")})
			continue
		}
		v, err := flagValue(t, text)
		if err != nil {
			probs = append(probs, &contract.Problem{What: "--set " + name + ": " + err.Error(), Got: quote(text), Want: describe(t)})
			continue
		}
		out[name] = v
	}
	return out, probs.Err()
}

// Join puts the parameters of several files together under their declared names. What is given twice is refused, in one file under
// both of its keys or in two files: which of two values was meant is not for the order of flags to say.
func Join(p *contract.Profile, files ...Input) (Input, error) {
	out := Input{Values: map[string]any{}, Pos: map[string]contract.Pos{}}
	type source struct {
		key string
		pos contract.Pos
	}
	given := map[string]source{} // by parameter
	var probs contract.Problems
	for _, f := range files {
		keys := contract.SortedKeys(f.Values)
		slices.SortStableFunc(keys, func(a, b string) int { return f.Pos[a].Compare(f.Pos[b]) })
		for _, key := range keys {
			name := declaredName(p, key)
			if first, twice := given[name]; twice {
				what := "parameter " + name + ": is given twice"
				if first.key != key {
					what += ", as " + first.key + " and as " + key
				}
				probs = append(probs, &contract.Problem{Pos: f.Pos[key], What: what + ", also at " + first.pos.String(), Want: "once", Hint: "leave one of them out"})
				continue
			}
			given[name], out.Values[name] = source{key, f.Pos[key]}, f.Values[key]
		}
		for path, pos := range f.Pos {
			key, rest, _ := strings.Cut(path, ".")
			if rest != "" {
				rest = "." + rest
			}
			out.Pos[declaredName(p, key)+rest] = pos
		}
	}
	return out, probs.Err()
}

// declaredName is the parameter that a key of a file gives.
func declaredName(p *contract.Profile, key string) string {
	for _, param := range p.Params {
		if param.Also == key {
			return param.Name
		}
	}
	return key
}

func flagValue(t *contract.Type, text string) (any, error) {
	switch t.Kind {
	case contract.TypeBool:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("is not a boolean")
		}
		return text == "true", nil
	case contract.TypeList:
		if t.Elem.Kind == contract.TypeRecord {
			return nil, fmt.Errorf("is a list of records, which a flag cannot carry: use -f FILE")
		}
		list := []any{}
		if text == "" {
			return list, nil
		}
		for _, item := range strings.Split(text, ",") {
			list = append(list, item)
		}
		return list, nil
	case contract.TypeRecord:
		return nil, fmt.Errorf("is a record, which a flag cannot carry: use -f FILE")
	}
	return text, nil
}
