package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// absentError is a placeholder without a value. Whoever wrote the row is told how to guard it; whoever gave the parameters, which
// one is missing.
type absentError struct {
	name    string
	missing *contract.Problem // nil: the parameters are a sample, or the name is of none
}

func (e *absentError) Error() string {
	return fmt.Sprintf("placeholder {%s} has no value: give the parameter, or guard the row with when: {%s: present}", e.name, e.name)
}

func (s *Scope) absent(path []string) error {
	return &absentError{strings.Join(path, "."), s.missing(path)}
}

// missing is the parameter, or the field of one, at which a path ends without a value; it stands
// where the element of a list stands that lacks it.
func (s *Scope) missing(path []string) *contract.Problem {
	if !s.given || s.profile == nil {
		return nil
	}
	pos, at, params, values := contract.Pos{}, "", parameters(s.c, s.profile), s.params
	for i := len(s.frames) - 1; i >= 0; i-- {
		if v := s.frames[i].v; s.frames[i].name == path[0] {
			at, params, values = fieldsOf(v, v.path)
			pos, path = v.pos, path[1:]
			break
		}
	}
	for _, name := range path {
		i := slices.IndexFunc(params, func(p *contract.Param) bool { return p.Name == name })
		if i < 0 {
			break
		}
		at = strings.TrimPrefix(at+"."+name, ".")
		v := values[name]
		if v == nil {
			return &contract.Problem{Pos: pos, What: "parameter " + at + ": missing", Got: "nothing", Want: describe(params[i].Type)}
		}
		at, params, values = fieldsOf(v, at)
	}
	return nil
}

// fieldsOf are the fields of a record at a path, as a file writes it, with their values.
func fieldsOf(v *value, path string) (string, []*contract.Param, map[string]*value) {
	switch {
	case v.record == nil:
		return path, nil, nil
	case v.branch != "":
		return path + "." + v.branch, v.record.Cases[v.branch], v.fields
	}
	return path, v.record.Fields, v.fields
}
