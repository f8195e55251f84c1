package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// problem is what is wrong with a template or condition in one scope; the same problem in several is reported once.
type problem struct {
	what, got, want, hint string
}

var none problem

func (p problem) found() bool { return p != none }

// text lists what is wrong with the placeholders of a template that becomes text.
func (e *env) text(t contract.Template) []problem {
	var out []problem
	for _, part := range t.Parts {
		if part.Path == nil {
			continue
		}
		b, p := e.resolve(part.Path)
		if !p.found() {
			p = e.placeholder(part, b)
		}
		if !p.found() {
			p = e.guarded(part.Path, b)
		}
		if p.found() {
			out = append(out, p)
		}
	}
	return out
}

// guarded reports an optional value in a template that is evaluated under no condition.
func (e *env) guarded(path []string, b binding) problem {
	if b.optional == "" || e.conditional || e.unbound {
		return none
	}
	return problem{what: fmt.Sprintf("placeholder {%s} may be absent", strings.Join(path, ".")),
		hint: fmt.Sprintf("%s is optional: add a condition, such as when: {%s: present}", b.optional, b.optional)}
}

// placeholder reports a value that cannot become text.
func (e *env) placeholder(part contract.Part, b binding) problem {
	name := strings.Join(part.Path, ".")
	kind := contract.TypeScalar
	if b.typ != nil {
		kind = b.typ.Kind
	}
	oneOf := kind == contract.TypeRecord && b.typ.Record.Cases != nil
	switch {
	case b.broken(), kind == contract.TypeRecord && b.typ.Record.Fields == nil && !oneOf:
		return none // reported where it is declared
	case b.stream:
		return problem{what: fmt.Sprintf("placeholder {%s} names no stream", name), want: fmt.Sprintf("{%s.ID}", name)}
	case part.Splice && !oneOf:
		return problem{what: fmt.Sprintf("splice {%s...} is not a record with cases", name)}
	case part.Splice:
		return e.splice(name, b.typ.Record)
	case b.key != nil:
		return e.kindKeys(name, b.key)
	case kind == contract.TypeList:
		return problem{what: fmt.Sprintf("placeholder {%s} is a list", name), want: "each, to iterate it"}
	case kind == contract.TypeRecord && !oneOf:
		return problem{what: fmt.Sprintf("placeholder {%s} is a record", name), want: "one of its fields"}
	case kind == contract.TypeBool:
		return problem{what: fmt.Sprintf("placeholder {%s} is a boolean", name), want: "text"}
	}
	return none
}

// splice checks the tokens of each case: they name fields of the case, else names of the scope.
func (e *env) splice(name string, r *contract.Record) problem {
	v, ok := e.l.c.Variants[r.Name]
	if !ok {
		return problem{what: fmt.Sprintf("splice {%s...}: record %s has no variant", name, r.Name)}
	}
	for _, c := range contract.SortedKeys(v.Cases) {
		inner := e
		for _, f := range r.Cases[c] {
			inner = inner.with(f.Name, binding{typ: f.Type})
		}
		for _, t := range v.Cases[c] {
			for _, p := range inner.text(t) {
				p.what = fmt.Sprintf("splice {%s...}, case %s: %s", name, c, p.what)
				return p
			}
		}
	}
	return none
}

// kindKeys checks that each key grammar can be evaluated here.
func (e *env) kindKeys(name string, kinds []*contract.Kind) problem {
	if e.unbound {
		return none
	}
	for _, k := range kinds {
		for _, p := range e.text(k.Key) {
			return problem{what: fmt.Sprintf("{%s} of kind %s: %s", name, k.Name, p.what), want: `all of its placeholders bound, or unbound: "*"`}
		}
	}
	return none
}

// report states each problem once, with the profiles in which it holds. It returns whether there was none.
func report(n source.Node, prefix string, envs []*env, problems func(*env) []problem) bool {
	holders := map[problem][]string{}
	for _, e := range envs {
		for _, p := range problems(e) {
			key := problem{what: p.what, got: p.got, want: p.want} // hints differ by scope
			if first, ok := sameButHint(holders, key); ok {
				p = first
			}
			if !slices.Contains(holders[p], e.holder) {
				holders[p] = append(holders[p], e.holder)
			}
		}
	}
	for p, names := range holders { // sorted with all other errors
		n.Fail(prefix+p.what+inProfiles(names), p.got, p.want, p.hint)
	}
	return len(holders) == 0
}

func sameButHint(holders map[problem][]string, key problem) (problem, bool) {
	for p := range holders {
		if p.what == key.what && p.got == key.got && p.want == key.want {
			return p, true
		}
	}
	return none, false
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
	return report(n, "", envs, func(e *env) []problem { return e.text(t) })
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
		if notOneToken(n, t, e.samples(t)) {
			return
		}
	}
}

// notOneToken reports a name that is more than one token in some form, and returns whether it did.
func notOneToken(n source.Node, t contract.Template, samples []string) bool {
	bad := func(s string) bool { return s == "" || strings.ContainsAny(s, ".*>/\\ \t\r\n") }
	if !slices.ContainsFunc(samples, bad) {
		return false
	}
	n.Fail(fmt.Sprintf("%s is not one token", n.Name()), fmt.Sprintf("%q", t.Source), "a name without '.', '*', '>', '/', '\\' or space",
		"a dotted name needs a grammar with as-token")
	return true
}

// checkNode checks a string of a JSON value. One that is a single placeholder may be a list or an optional value.
func (l *loader) checkNode(n source.Node, t contract.Template, envs ...*env) {
	if len(t.Parts) != 1 || t.Parts[0].Path == nil || t.Parts[0].Splice {
		l.checkText(n, t, envs...)
		return
	}
	report(n, "", envs, func(e *env) []problem {
		b, p := e.resolve(t.Parts[0].Path)
		if !p.found() && b.typ != nil && b.typ.Kind == contract.TypeRecord {
			p = e.placeholder(t.Parts[0], b)
		}
		if !p.found() {
			return nil
		}
		return []problem{p}
	})
}
