package audit

import (
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// boundary is a family within which an entry must lie, resolved for a holder.
type boundary struct {
	family subject.Pattern
	queue  string // "" : with any queue, or none
}

// admits reports whether an entry of this queue lies within the boundary, as far as its subjects do. A plain boundary takes a queue entry
// too, which admits less.
func (b boundary) admits(queue string) bool {
	return b.queue == "" || b.queue == queue || b.queue == someToken && queue != ""
}

// resolveWithin resolves the boundaries of a confined rule that are the same for every holder.
func (r *rule) resolveWithin(scope *compile.Scope) error {
	r.within = []boundary{}
	for _, b := range r.Within {
		if ofHolder(scope, b) {
			r.within = nil // they are resolved for each
			return nil
		}
		bounds, err := resolveBound(scope, b, scope.Text)
		if err != nil {
			return err
		}
		r.within = append(r.within, bounds...)
	}
	for i, b := range r.within {
		r.near.add(b.family, ref{0, i})
	}
	return nil
}

// ofHolder reports whether a boundary names something that a space alone does not say.
func ofHolder(scope *compile.Scope, b contract.Bound) bool {
	if len(b.Each)+len(b.When) > 0 {
		return true
	}
	for _, t := range []contract.Template{b.Family, b.Queue} {
		if _, err := scope.Text(t); err != nil {
			return true
		}
	}
	return false
}

func resolveBound(scope *compile.Scope, b contract.Bound, text func(contract.Template) (string, error)) ([]boundary, error) {
	if len(b.Verbs) > 0 {
		families, _, err := verbFamilies(scope, b.Verbs, b.On)
		var out []boundary
		for _, p := range families {
			if !strings.HasPrefix(string(p), domainAPIRoot) { // no row grants the API of a domain
				out = append(out, boundary{family: p})
			}
		}
		return out, err
	}
	family, err := text(b.Family)
	if err != nil {
		return nil, err
	}
	p, err := subject.ParseStrict(family)
	if err != nil {
		return nil, err
	}
	queue, err := text(b.Queue)
	return []boundary{{p, queue}}, err
}
