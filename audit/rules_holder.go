package audit

import (
	"fmt"
	"slices"
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
func (b boundary) admits(queue string) bool { return b.queue == "" || b.queue == queue }

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
			out = append(out, boundary{family: p})
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

// holderText evaluates a template for a principal: names of a space, and the single tokens that the principal states of itself. What it does
// not state is an error.
func (s *ruleset) holderText(profile *contract.Profile, p *Principal, identity map[string]string) func(contract.Template) (string, error) {
	var text func(contract.Template) (string, error)
	text = func(t contract.Template) (string, error) {
		var b strings.Builder
		for _, part := range t.Parts {
			word, err := part.Lit, error(nil)
			if part.Path != nil {
				word, err = s.holderWord(profile, p, part, identity, text)
			}
			if err != nil {
				return "", err
			}
			b.WriteString(word)
		}
		return b.String(), nil
	}
	return text
}

func (s *ruleset) holderWord(profile *contract.Profile, p *Principal, part contract.Part, identity map[string]string,
	text func(contract.Template) (string, error)) (string, error) {
	name := part.Path[0]
	if len(part.Path) == 1 && name != compile.SpaceParam {
		value, ok := identity[name]
		if own := p.inboxPrefix(); !ok && own != "" && s.keysInbox(profile, name) {
			value, ok = strings.TrimPrefix(own, inboxPrefix+"_"), true
		}
		if ok {
			if value == "" || strings.ContainsAny(value, "*> \t\r\n\f") {
				return "", fmt.Errorf("%s is no literal", name)
			}
			return value, nil
		}
		if profile != nil {
			for _, d := range profile.Derive {
				if d.Name == name {
					return text(d.Text)
				}
			}
		}
	}
	return s.scope.Text(contract.Template{Source: "{" + strings.Join(part.Path, ".") + "}", Parts: []contract.Part{part}})
}

// keysInbox reports whether a parameter is the one that keys the connection's own inbox, which no tag states: of some profile, where none
// is known.
func (s *ruleset) keysInbox(profile *contract.Profile, name string) bool {
	keys := func(profile *contract.Profile) bool {
		return slices.ContainsFunc(profile.Params, func(p *contract.Param) bool { return p.Name == name && p.Default == contract.DefaultUserKey })
	}
	if profile != nil {
		return keys(profile)
	}
	return slices.ContainsFunc(contract.Sorted(s.profiles), keys)
}
