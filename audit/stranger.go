package audit

import (
	"fmt"
	"strings"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// ofContract reports whether a credential says that it is of the contract: by a profile, by a space, or by an entry that names one.
func (a *auditor) ofContract(p *Principal) bool {
	if p.Profile != "" || p.Sampled || a.isSpace(p.Space) {
		return true
	}
	for _, d := range p.directions() {
		for _, e := range d.Allow {
			if a.looks.speaks(e.Pattern) {
				return true
			}
		}
	}
	return false
}

// concerned reports whether the powers of a credential are the contract's: it says that it is of it, or an entry reaches a store in
// the space. A tag that is left out takes nobody out of it.
func (a *auditor) concerned(p *Principal) bool {
	if a.ofContract(p) {
		return true
	}
	for _, e := range p.Pub.allows() {
		if a.touched(p, e) {
			return true
		}
	}
	return false
}

// touched reports whether the severity of a power is the contract's: that of an entry which a credential of the contract holds, or which
// reaches a resource of it.
func (a *auditor) touched(p *Principal, e Entry) bool {
	switch {
	case p.System && p.Profile == "":
		return false
	case e.Pattern == "" || a.ofContract(p):
		return true
	}
	for _, space := range a.spaces(p) {
		w := a.world(space)
		if w == nil || w.meets(e.Pattern) {
			return true
		}
	}
	return false
}

// meets reports whether an entry reaches a store, by its subjects or by a request that names or may name its stream.
func (w *world) meets(e subject.Pattern) bool {
	if first, _, _ := strings.Cut(string(e), "."); first == "$JS" {
		found := map[string]bool{}
		w.requested(e, found)
		return len(found) > 0
	}
	for _, s := range w.streams {
		for _, family := range s.subjects {
			if subject.Overlaps(e, family) {
				return true
			}
		}
	}
	return false
}

// streamOpen reports whether a request leaves open which stream it is about: a wildcard stands at the place of the name in some verb
// that the entry reaches, or before it.
func streamOpen(e subject.Pattern) bool {
	tokens := e.Tokens()
	for _, verb := range deputyVerbs {
		for _, form := range verb.forms {
			if !strings.HasSuffix(string(form), ".>") || !subject.Overlaps(e, form) {
				continue
			}
			if at := form.NumTokens() - 1; at >= len(tokens) || tokens[at] == "*" || tokens[at] == ">" {
				return true
			}
		}
	}
	return false
}

// noteUntagged says once who states no profile, where a contract is judged by.
func (a *auditor) noteUntagged() {
	if len(a.untagged) == 0 {
		return
	}
	first, names := a.untagged[0], []string{}
	met := map[string]bool{}
	for _, p := range a.untagged {
		if !met[p.Name] && len(names) < 3 {
			names = append(names, p.Name)
		}
		met[p.Name] = true
	}
	more := ""
	if n := len(met) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	a.reportAs(&Principal{Name: first.Name, File: first.File, at: first.at}, codeUnjudged, Note, Entry{}, "",
		fmt.Sprintf("no profile is stated: judged as untrusted (%d credentials: %s%s)", len(a.untagged), strings.Join(names, ", "), more))
}
