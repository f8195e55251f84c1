package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// What stands in a text for a value that no credential of the profile states. No subject holds these characters.
const (
	someToken  = "\x00" // of one token, or a part of it
	someTokens = "\x01" // of one token or more: the element of a list
	someSplice = "\x02" // of any number of tokens: a variant
)

// stated is what a principal says of itself, for the boundaries of confined rules.
type stated struct {
	contract *contract.Contract
	set      *ruleset
	profile  *contract.Profile // nil where none is known
	p        *Principal
	identity map[string]string
}

// boundaries resolves a family: exactly, once per element of the lists that it names, where the principal's parameters are known. Of a
// credential that was read, what its profile has no tag for is open, since no such credential states it.
func (h *stated) boundaries(b contract.Bound) (out []boundary) {
	if len(b.Verbs) > 0 {
		out, _ = resolveBound(h.set.scope, b, h.set.scope.Text)
		return out
	}
	if h.p.given != nil && len(b.Each)+len(b.When) > 0 {
		// A list that the profile lacks has no elements; a text that cannot be resolved bounds nothing.
		_ = h.p.given.Each(b.Each, b.When, func(s *compile.Scope) error {
			if bounds, err := resolveBound(s, b, s.Text); err == nil {
				out = append(out, bounds...)
			}
			return nil
		})
		return out
	}
	spelled, lists := []contract.Each{}, []contract.Each{}
	for _, e := range b.Each {
		if h.spelledOut(e) {
			spelled = append(spelled, e)
		} else {
			lists = append(lists, e)
		}
	}
	b.Each = lists
	_ = h.set.scope.Each(spelled, nil, func(s *compile.Scope) error { // as above
		out = append(out, h.open(s, b)...)
		return nil
	})
	return out
}

// spelledOut reports whether an each is a list of words, which need no holder.
func (h *stated) spelledOut(e contract.Each) bool {
	return e.Path == nil && !slices.ContainsFunc(e.Literals, func(l contract.Literal) bool {
		return l.Resource == "" && len(l.Text.Paths()) > 0
	})
}

// open resolves a family whose lists are not known.
func (h *stated) open(s *compile.Scope, b contract.Bound) (out []boundary) {
	family, err := h.text(s, b, b.Family)
	if err != nil {
		return nil
	}
	queue, err := h.text(s, b, b.Queue)
	if err != nil {
		return nil
	}
	if strings.ContainsAny(queue, someToken+someTokens) {
		queue = someToken
	}
	for _, text := range h.opened(family) {
		if p, err := subject.ParseStrict(text); err == nil {
			out = append(out, boundary{p, queue})
		}
	}
	return out
}

// opened writes wildcards for what is not stated. The first token has to be: a root that is open bounds nothing.
func (h *stated) opened(text string) []string {
	if before, after, ok := strings.Cut(text, someSplice); ok {
		var out []string
		for n := range h.longestVariant() + 1 {
			stars := strings.Repeat("*.", n)
			out = append(out, h.opened(before+stars+strings.TrimPrefix(after, "."))...)
		}
		return out
	}
	tokens := strings.Split(strings.TrimSuffix(text, "."), ".")
	for i, token := range tokens {
		switch {
		case !strings.ContainsAny(token, someToken+someTokens):
		case i == 0:
			return nil
		case i == len(tokens)-1 && strings.Contains(token, someTokens):
			tokens[i] = ">"
		default:
			tokens[i] = "*"
		}
	}
	return []string{strings.Join(tokens, ".")}
}

func (h *stated) longestVariant() (longest int) {
	for _, v := range h.contract.Variants {
		for _, tokens := range v.Cases {
			longest = max(longest, len(tokens))
		}
	}
	return longest
}

// text evaluates a template: names of a space, and what the principal states of itself.
func (h *stated) text(s *compile.Scope, b contract.Bound, t contract.Template) (string, error) {
	var out strings.Builder
	for _, part := range t.Parts {
		word, err := part.Lit, error(nil)
		switch {
		case part.Path == nil:
		case part.Splice:
			word = someSplice
		case slices.ContainsFunc(b.Each, func(e contract.Each) bool { return e.As == part.Path[0] }):
			word = someTokens
		default:
			word, err = h.word(s, b, part)
		}
		if err != nil {
			return "", err
		}
		out.WriteString(word)
	}
	return out.String(), nil
}

func (h *stated) word(s *compile.Scope, b contract.Bound, part contract.Part) (string, error) {
	name := part.Path[0]
	if len(part.Path) == 1 && name != compile.SpaceParam {
		value, ok := h.identity[name]
		if own := h.p.inboxPrefix(); !ok && own != "" && h.set.keysInbox(h.profile, name) {
			value, ok = strings.TrimPrefix(own, inboxPrefix+"_"), true
		}
		switch {
		case ok && (value == "" || strings.ContainsAny(value, "*> \t\r\n\f")):
			return "", fmt.Errorf("%s is no literal", name)
		case ok:
			return value, nil
		case h.neverStated(name):
			return someToken, nil
		case h.profile != nil:
			for _, d := range h.profile.Derive {
				if d.Name == name {
					return h.text(s, b, d.Text)
				}
			}
		}
	}
	return s.Text(contract.Template{Source: "{" + strings.Join(part.Path, ".") + "}", Parts: []contract.Part{part}})
}

// neverStated reports whether a parameter of one value is missing because what was read never states it: a set has no tags, and a JWT
// those of its profile. Of a sample every parameter is known.
func (h *stated) neverStated(name string) bool {
	if h.profile == nil || h.p.Sampled || h.p.given != nil || h.p.Token != nil && slices.Contains(h.profile.Tags, name) {
		return false
	}
	if h.profile.Family != nil && h.profile.Family.Param == name {
		return true
	}
	return slices.ContainsFunc(h.profile.Params, func(p *contract.Param) bool {
		return p.Name == name && p.Type.Kind != contract.TypeList && p.Type.Kind != contract.TypeRecord
	})
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
