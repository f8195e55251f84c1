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
	queue  string // "": with any queue, or none; anyQueue: with one
}

// anyQueue is the queue of a boundary that names a parameter which the credential does not state.
const anyQueue = "*"

// admits reports whether an entry of this queue lies within the boundary, as far as its subjects do. A plain boundary takes a queue entry
// too, which admits less.
func (b boundary) admits(queue string) bool {
	return b.queue == "" || b.queue == queue || b.queue == anyQueue && queue != ""
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

// unstated stands for a parameter that a credential does not state.
const unstated = "\x00"

// holderText evaluates a template for a principal: names of a space, and the single tokens that the principal states of itself. A parameter
// that its profile has and a credential does not state may be anything: the token that it stands in becomes "*". One that a sample was not
// given is what unbound says, or an error, as what no profile of the kind has is.
func (s *ruleset) holderText(p *Principal, profile *contract.Profile, identity map[string]string,
	unbound string) func(contract.Template) (string, error) {
	var text func(contract.Template) (string, error)
	text = func(t contract.Template) (string, error) {
		var b strings.Builder
		for _, part := range t.Parts {
			word, err := part.Lit, error(nil)
			if part.Path != nil {
				word, err = s.holderWord(profile, p, part, identity, text)
				if _, stated := identity[part.Path[0]]; err != nil && !stated && len(part.Path) == 1 && s.gives(profile, part.Path[0]) {
					word, err = absent(p, unbound, err)
				}
			}
			if err != nil {
				return "", err
			}
			b.WriteString(word)
		}
		return b.String(), nil
	}
	return func(t contract.Template) (string, error) {
		whole, err := text(t)
		tokens := strings.Split(whole, ".")
		for i, token := range tokens {
			if strings.Contains(token, unstated) {
				tokens[i] = anyQueue
			}
		}
		return strings.Join(tokens, "."), err
	}
}

// absent is what stands for a parameter of the profile that a principal does not state.
func absent(p *Principal, unbound string, err error) (string, error) {
	switch {
	case !p.Sampled:
		return unstated, nil
	case unbound != "":
		return unbound, nil
	}
	return "", err
}

// gives reports whether a profile has a parameter that may stand in a credential's subjects, and is not what keys its inbox.
func (s *ruleset) gives(profile *contract.Profile, name string) bool {
	return profile != nil && !s.keysInbox(profile, name) &&
		slices.ContainsFunc(profile.Params, func(p *contract.Param) bool { return p.Name == name })
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
