package compile

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Node evaluates a JSON value with templates. A string that is exactly one placeholder takes the placeholder's own type (a list,
// a number); a map entry or list element whose placeholder is an absent optional is left out.
func (s *Scope) Node(n contract.Node) (any, error) {
	v, _, err := s.node(n)
	return v, err
}

func (s *Scope) node(n contract.Node) (v any, given bool, err error) {
	switch {
	case n.Map != nil:
		out := make(map[string]any, len(n.Map))
		for _, k := range contract.SortedKeys(n.Map) {
			v, given, err := s.node(n.Map[k])
			if err != nil {
				return nil, false, err
			}
			if given {
				out[k] = v
			}
		}
		return out, true, nil
	case n.List != nil:
		out := make([]any, 0, len(n.List))
		for _, e := range n.List {
			v, given, err := s.node(e)
			if err != nil {
				return nil, false, err
			}
			if given {
				out = append(out, v)
			}
		}
		return out, true, nil
	case n.Text == nil:
		return n.Lit, true, nil
	}
	if parts := n.Text.Parts; len(parts) == 1 && parts[0].Path != nil && !parts[0].Splice {
		return s.sole(parts[0])
	}
	text, err := s.Text(*n.Text)
	return text, true, err
}

func (s *Scope) sole(part contract.Part) (any, bool, error) {
	v, err := s.path(part.Path)
	switch {
	case err != nil:
		return nil, false, err
	case v == nil:
		return nil, false, nil
	case v.isList:
		out := make([]any, 0, len(v.list))
		for _, e := range v.list {
			if e.isList || e.fields != nil {
				return nil, false, fmt.Errorf("placeholder {%s} is a list of records, want one of texts", strings.Join(part.Path, "."))
			}
			out = append(out, e.text)
		}
		return out, true, nil
	case v.number:
		return json.Number(v.text), true, nil
	}
	if _, err := s.scalar(&part, v); err != nil {
		return nil, false, err
	}
	if v.boolean {
		return v.text == "true", true, nil
	}
	return v.text, true, nil
}
