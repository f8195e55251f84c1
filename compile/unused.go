package compile

import (
	"cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Unused returns the records of list parameters that granted nothing in the last compile: rows iterate them, and none of those
// rows met its conditions for them. A caller that was given parameters by a person refuses them, because whoever wrote a
// capability meant one.
func (s *Scope) Unused() error {
	var probs contract.Problems
	for _, name := range contract.SortedKeys(s.params) {
		probs = s.unused(probs, s.params[name])
	}
	return probs.Err()
}

func (s *Scope) unused(probs contract.Problems, v *value) contract.Problems {
	switch {
	case v == nil || len(probs) >= maxProblems:
	case v.record != nil && v.path != "" && v.iterated && !v.used:
		return append(probs, &contract.Problem{Pos: v.pos, What: "parameter " + v.path + " grants nothing",
			Hint: cmp.Or(s.nearest(v), "no row takes it as it is")})
	case v.isList:
		for _, e := range v.list {
			probs = s.unused(probs, e)
		}
	default:
		for _, name := range contract.SortedKeys(v.fields) {
			probs = s.unused(probs, v.fields[name])
		}
	}
	return probs
}
