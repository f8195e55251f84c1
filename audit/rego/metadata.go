package rego

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// entryPoint is what every package of a rule defines.
const entryPoint = "findings"

// described is a rule as its package's metadata says.
type described struct {
	audit.PolicyRule
	path ast.Ref
}

// pkg is what the modules of one package say together.
type pkg struct {
	name     string
	at       *ast.Module
	findings *ast.Location
	notes    []*ast.Annotations // of scope package
}

// describe lists the rules among the modules, sorted. A package with the entry point is one; a package whose metadata states a
// severity must be one; any other is a library.
func (s *source) describe() ([]described, contract.Problems) {
	var out []described
	var probs contract.Problems
	fail := func(l *ast.Location, what, hint string) {
		probs = append(probs, &contract.Problem{Pos: posOf(l), What: what, Hint: hint})
	}
	for _, p := range s.packages() {
		shipped := s.shipped[p.at.Package.Location.File]
		switch {
		case len(p.notes) > 1:
			fail(p.notes[1].Location, "package "+p.name+" has metadata twice", "")
		case p.findings == nil && len(p.notes) == 1 && p.notes[0].Custom["severity"] != nil:
			fail(p.at.Package.Location, "package "+p.name+" states a severity and has no "+entryPoint, "write: "+entryPoint+" contains f if { … }")
		case p.findings == nil:
		case len(p.notes) == 0:
			fail(p.at.Package.Location, "package "+p.name+" has "+entryPoint+" and no metadata, want a title (the code), a description and custom.severity",
				"write a # METADATA comment above the package line")
		default:
			d, err := ruleOf(p, shipped)
			if err != nil {
				fail(p.notes[0].Location, "package "+p.name+": metadata: "+err.Error(), "")
				continue
			}
			out = append(out, d)
		}
	}
	sortRules(out)
	return out, probs
}

func (s *source) packages() []*pkg {
	byName := map[string]*pkg{}
	for _, file := range contract.SortedKeys(s.modules) {
		m := s.modules[file]
		name := packageName(m)
		p := byName[name]
		if p == nil {
			p = &pkg{name: name, at: m}
			byName[name] = p
		}
		for _, r := range m.Rules {
			if first := r.Head.Ref()[0].Value; p.findings == nil && first.Compare(ast.Var(entryPoint)) == 0 {
				p.findings = r.Location
			}
		}
		for _, a := range m.Annotations {
			if a.Scope == "package" {
				p.notes = append(p.notes, a)
			}
		}
	}
	return contract.Sorted(byName)
}

func ruleOf(p *pkg, shipped bool) (described, error) {
	a := p.notes[0]
	d := described{path: p.at.Package.Path.Append(ast.StringTerm(entryPoint))}
	d.Code, d.Title, d.Pos = a.Title, oneLine(a.Description), posOf(p.findings)
	var err error
	if d.Severity, err = text(a, "severity"); err != nil {
		return d, err
	}
	if d.Hint, err = text(a, "hint"); err != nil {
		return d, err
	}
	restates, err := text(a, "restates")
	switch {
	case err != nil:
		return d, err
	case d.Code == "":
		return d, fmt.Errorf("title, got none, want the code of the rule, such as R001")
	case d.Title == "":
		return d, fmt.Errorf("description, got none, want what the rule finds")
	case !slices.Contains(severities, d.Severity):
		return d, fmt.Errorf("custom.severity, got %q, want one of %s", d.Severity, strings.Join(severities, ", "))
	case restates != "" && !shipped:
		return d, fmt.Errorf("custom.restates is for the rules that ship")
	case restates == "kind":
		d.Kind = d.Code
	}
	d.Twin = restates != ""
	d.Cite = citeOf(a)
	return d, nil
}

var severities = []string{audit.Error, audit.Warning, audit.Note}

func text(a *ast.Annotations, key string) (string, error) {
	v, ok := a.Custom[key]
	if !ok {
		return "", nil
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("custom.%s, got %v, want a text", key, v)
	}
	return s, nil
}

// citeOf is what the rule rests on: its related resources.
func citeOf(a *ast.Annotations) string {
	var out []string
	for _, r := range a.RelatedResources {
		ref := r.Ref.String()
		if plain, err := url.PathUnescape(ref); err == nil {
			ref = plain
		}
		out = append(out, cmp.Or(r.Description, ref))
	}
	return strings.Join(out, "; ")
}
