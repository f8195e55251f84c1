package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// maxSpaces bounds in how many spaces one credential is judged. A real one names one.
const maxSpaces = 16

// spaces returns the spaces in which a credential is judged: the one it states, and every one that its entries name in the place
// where a subject prefix of the contract names it. A credential that names none is judged in a sample space, where its wildcards
// reach as they do in every other.
func (a *auditor) spaces(p *Principal) []string {
	if p.in == nil {
		p.in = a.spacesOf(p)
	}
	return p.in
}

func (a *auditor) spacesOf(p *Principal) []string {
	found, last := map[string]bool{}, "" // most entries name the space of the one before
	for _, symbol := range contract.Sorted(a.cfg.Contract.Symbols) {
		prefix, ok := spacePrefix(symbol)
		if !ok {
			continue
		}
		for _, d := range p.directions() {
			for _, e := range d.Allow {
				if space := spaceIn(prefix, string(e.Pattern)); space != "" && space != last && a.isSpace(space) {
					last = space
					found[space] = true
				}
			}
		}
	}
	delete(found, p.Space)
	out := slices.Sorted(maps.Keys(found))
	if a.isSpace(p.Space) {
		out = append([]string{p.Space}, out...)
	}
	if len(out) == 0 {
		return []string{a.sampleSpace()}
	}
	if len(out) > maxSpaces {
		// What is left out is the author's choice.
		a.reportAs(p, codeUnjudged, Error, Entry{}, "", fmt.Sprintf("names %d spaces; judged in the first %d", len(out), maxSpaces))
		out = out[:maxSpaces]
	}
	return out
}

func (a *auditor) isSpace(text string) bool {
	g := a.cfg.Contract.Grammars[compile.SpaceParam]
	return isToken(text) && (g == nil || compile.CheckGrammar(g, text) == nil)
}

// spacePrefix returns the literal text before the token of a subject prefix that is exactly the space.
func spacePrefix(symbol contract.Template) (string, bool) {
	tokens := strings.Split(symbol.Source, ".")
	at := slices.Index(tokens, "{"+compile.SpaceParam+"}")
	if at < 0 || strings.Contains(strings.Join(tokens[:at], "."), "{") {
		return "", false
	}
	if at == 0 {
		return "", true
	}
	return strings.Join(tokens[:at], ".") + ".", true
}

func spaceIn(prefix, pattern string) string {
	rest, ok := strings.CutPrefix(pattern, prefix)
	if !ok {
		return ""
	}
	space, _, _ := strings.Cut(rest, ".")
	return space
}
