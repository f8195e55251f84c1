package compile

import (
	"fmt"
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

func flagValue(t *contract.Type, text string) (any, error) {
	switch t.Kind {
	case contract.TypeBool:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("is not a boolean")
		}
		return text == "true", nil
	case contract.TypeList:
		if t.Elem.Kind == contract.TypeRecord {
			return nil, fmt.Errorf("is a list of records, which a flag cannot carry: use --params FILE")
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
		return nil, fmt.Errorf("is a record, which a flag cannot carry: use --params FILE")
	}
	return text, nil
}
