package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// text lists what is wrong with the placeholders of a template that becomes text.
func (e *env) text(t contract.Template) []string {
	var out []string
	for _, p := range t.Parts {
		if p.Path == nil {
			continue
		}
		b, problem := e.resolve(p.Path)
		if problem == "" {
			problem = e.placeholder(p, b)
		}
		if problem == "" {
			problem = e.guarded(p.Path, b)
		}
		if problem != "" {
			out = append(out, problem)
		}
	}
	return out
}

// guarded reports an optional value in a template that is evaluated under no condition, in a row that does not say what the unbound becomes.
func (e *env) guarded(path []string, b binding) string {
	if b.optional == "" || e.conditional || e.unbound {
		return ""
	}
	return fmt.Sprintf("placeholder {%s} may be absent, as %s is optional", strings.Join(path, "."), b.optional)
}

// placeholder reports a value that cannot become text.
func (e *env) placeholder(p contract.Part, b binding) string {
	name := strings.Join(p.Path, ".")
	oneOf := b.typ != nil && b.typ.Kind == contract.TypeRecord && b.typ.Record.Cases != nil
	switch {
	case b.stream:
		return fmt.Sprintf("placeholder {%s} needs a stream: {%s.ID}", name, name)
	case p.Splice && !oneOf && (b.typ == nil || b.typ.Kind != ""):
		return fmt.Sprintf("splice {%s...} is not a record with cases", name)
	case p.Splice && b.typ.Kind == "":
		return ""
	case p.Splice:
		return e.splice(name, b.typ.Record)
	case b.key != nil:
		return e.kindKeys(name, b.key)
	case b.typ != nil && b.typ.Kind == contract.TypeList:
		return fmt.Sprintf("placeholder {%s} is a list: iterate it with each", name)
	case b.typ != nil && b.typ.Kind == contract.TypeRecord && !oneOf && b.typ.Record.Fields != nil:
		return fmt.Sprintf("placeholder {%s} is a record: name one of its fields", name)
	case b.typ != nil && b.typ.Kind == contract.TypeBool:
		return fmt.Sprintf("placeholder {%s} is a boolean", name)
	}
	return ""
}

// splice checks the tokens of each case: they name fields of the case, else names of the scope.
func (e *env) splice(name string, r *contract.Record) string {
	v, ok := e.l.c.Variants[r.Name]
	if !ok {
		return fmt.Sprintf("splice {%s...}: record %s has no variant", name, r.Name)
	}
	for _, c := range contract.SortedKeys(v.Cases) {
		inner := e
		for _, f := range r.Cases[c] {
			inner = inner.with(f.Name, binding{typ: f.Type})
		}
		for _, t := range v.Cases[c] {
			for _, problem := range inner.text(t) {
				return fmt.Sprintf("splice {%s...}, case %s: %s", name, c, problem)
			}
		}
	}
	return ""
}

// kindKeys checks that each key grammar can be evaluated here.
func (e *env) kindKeys(name string, kinds []*contract.Kind) string {
	if e.unbound {
		return ""
	}
	for _, k := range kinds {
		if problems := e.text(k.Key); len(problems) > 0 {
			return fmt.Sprintf("{%s} of kind %s: %s, and the row has no unbound: \"*\"", name, k.Name, problems[0])
		}
	}
	return ""
}

// report states each problem once, with the profiles in which it holds.
func report(n source.Node, prefix string, envs []*env, problems func(*env) []string) bool {
	holders := map[string][]string{}
	for _, e := range envs {
		for _, p := range problems(e) {
			if !slices.Contains(holders[p], e.holder) {
				holders[p] = append(holders[p], e.holder)
			}
		}
	}
	for _, p := range contract.SortedKeys(holders) {
		n.Fail(prefix+p+inProfiles(holders[p]), "", "", hint(p, envs))
	}
	return len(holders) == 0
}

func hint(problem string, envs []*env) string {
	if strings.Contains(problem, " may be absent, as ") {
		return "add a condition, such as when: {NAME: present}"
	}
	if rest, ok := strings.CutPrefix(problem, "placeholder {"); ok && strings.HasSuffix(problem, "} is not declared") {
		return envs[0].suggest(strings.TrimSuffix(rest, "} is not declared"))
	}
	return ""
}

func inProfiles(names []string) string {
	switch {
	case len(names) == 0 || names[0] == "":
		return ""
	case len(names) == 1:
		return fmt.Sprintf(" in profile %q", names[0])
	}
	slices.Sort(names)
	return " in profiles " + strings.Join(names, ", ")
}

// checkText checks a template that becomes text of any form.
func (l *loader) checkText(n source.Node, t contract.Template, envs ...*env) bool {
	return report(n, "", envs, func(e *env) []string { return e.text(t) })
}

// checkSubject checks a template that becomes a subject: its placeholders, and its tokens with a sample for each of them.
func (l *loader) checkSubject(n source.Node, t contract.Template, envs ...*env) {
	l.checkBelow("", n, t, envs...)
}

// checkBelow is checkSubject for what stands below a prefix such as "$JS.API.".
func (l *loader) checkBelow(prefix string, n source.Node, t contract.Template, envs ...*env) {
	if t.IsZero() || !l.checkText(n, t, envs...) {
		return
	}
	for _, e := range envs {
		for _, sample := range e.samples(t) {
			if malformed(n, prefix+sample) {
				return
			}
		}
	}
}

// checkName checks a template that becomes the one token of a stream, bucket, consumer or queue name.
func (l *loader) checkName(n source.Node, t contract.Template, envs ...*env) {
	if t.IsZero() || !l.checkText(n, t, envs...) {
		return
	}
	for _, e := range envs {
		for _, sample := range e.samples(t) {
			if sample == "" || strings.ContainsAny(sample, ".*>/\\ \t\r\n") {
				n.Fail(fmt.Sprintf("%s is not one token", n.Name()), fmt.Sprintf("%q", t.Source), "a name without '.', '*', '>', '/', '\\' or space",
					"a dotted name needs a grammar with as-token")
				return
			}
		}
	}
}

// checkNode checks a string of a JSON value. One that is a single placeholder may be a list or an optional value.
func (l *loader) checkNode(n source.Node, t contract.Template, envs ...*env) {
	if len(t.Parts) == 1 && t.Parts[0].Path != nil && !t.Parts[0].Splice {
		report(n, "", envs, func(e *env) []string {
			b, problem := e.resolve(t.Parts[0].Path)
			if problem == "" && b.typ != nil && b.typ.Kind == contract.TypeRecord && b.typ.Record.Fields != nil {
				problem = fmt.Sprintf("placeholder {%s} is a record: name one of its fields", t.Parts[0].Path[0])
			}
			if problem == "" {
				return nil
			}
			return []string{problem}
		})
		return
	}
	l.checkText(n, t, envs...)
}
