package compile

import (
	"github.com/cotalctl/cotalctl/internal/contract"
)

// Unused returns the records of list parameters that granted nothing in the last compile: rows iterate them, and none of those
// rows met its conditions for them. A caller that was given parameters by a person refuses them, because whoever wrote a
// capability meant one.
func (s *Scope) Unused() error {
	var probs contract.Problems
	for _, name := range contract.SortedKeys(s.params) {
		probs = unused(probs, s.params[name])
	}
	return probs.Err()
}

func unused(probs contract.Problems, v *value) contract.Problems {
	switch {
	case v == nil:
	case v.record != nil && v.path != "" && v.iterated && !v.used:
		return append(probs, &contract.Problem{Pos: v.pos, What: "parameter " + v.path + " grants nothing",
			Hint: "no row takes it as it is: something that the rows ask for is missing, such as a rail, a target or a command"})
	case v.isList:
		for _, e := range v.list {
			probs = unused(probs, e)
		}
	default:
		for _, name := range contract.SortedKeys(v.fields) {
			probs = unused(probs, v.fields[name])
		}
	}
	return probs
}
