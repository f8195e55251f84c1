package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// site is one place of a contract that names a consumer: a row for one of its profiles, or a durable of a lifecycle.
type site struct {
	s       *Space
	profile *contract.Profile
	each    []contract.Each
	when    []contract.Cond
	unbound string              // of the row
	spliced map[string][]string // within a variant: the paths of the fields of its case
}

// forms are what a template can become, seen by the first n iterations of the site.
func (at *site) forms(t contract.Template, n int) ([]form, error) {
	out := []form{{}}
	for _, part := range t.Parts {
		alternatives := []form{{seg{text: part.Lit}}}
		if part.Path != nil {
			var err error
			if alternatives, err = at.part(part, n); err != nil {
				return nil, err
			}
		}
		var next []form
		for _, f := range out {
			for _, a := range alternatives {
				next = append(next, f.then(a))
			}
		}
		out = next
	}
	return out, nil
}

// then is a form with another behind it, neighbouring texts put together. A splice of no tokens takes the dot before it along, and
// at the beginning the one after it.
func (f form) then(next form) form {
	out := slices.Clone(f)
	for _, g := range next {
		last := len(out) - 1
		switch {
		case g.place() || last < 0 || out[last].place():
			out = append(out, g)
		case g.empty:
			out[last].text = strings.TrimSuffix(out[last].text, ".")
		case out[last].empty:
			out[last] = seg{text: strings.TrimPrefix(g.text, ".")}
		default:
			out[last].text += g.text
		}
	}
	return out
}

func (at *site) part(part contract.Part, n int) ([]form, error) {
	if part.Splice {
		return at.splice(part.Path, n)
	}
	return at.path(part.Path, n)
}

// splice are the tokens of a record's variant, for each case that the site admits; the fields of the case are visible to them.
func (at *site) splice(path []string, n int) ([]form, error) {
	params, err := at.types(path, n)
	if err != nil {
		return nil, err
	}
	var out []form
	for _, p := range params {
		if p.Type == nil || p.Type.Record == nil || at.s.c.Variants[p.Type.Record.Name] == nil {
			return nil, fmt.Errorf("splice {%s...} has no variant", strings.Join(path, "."))
		}
		cases := at.s.c.Variants[p.Type.Record.Name].Cases
		for _, name := range contract.SortedKeys(cases) {
			if !at.admits(path, name) {
				continue
			}
			inner := *at
			inner.when = append(slices.Clip(at.when), contract.Cond{Path: path, Kind: contract.CondEqual, Values: []string{name}})
			inner.spliced = map[string][]string{}
			for _, field := range p.Type.Record.Cases[name] {
				inner.spliced[field.Name] = append(slices.Clip(path), field.Name)
			}
			forms, err := inner.tokens(cases[name], n)
			if err != nil {
				return nil, err
			}
			out = append(out, forms...)
		}
	}
	return out, nil
}

// tokens are templates with a dot between them.
func (at *site) tokens(templates []contract.Template, n int) ([]form, error) {
	if len(templates) == 0 {
		return []form{{seg{empty: true}}}, nil
	}
	all := contract.Template{}
	for i, t := range templates {
		if i > 0 {
			all.Parts = append(all.Parts, contract.Part{Lit: "."})
		}
		all.Parts = append(all.Parts, t.Parts...)
	}
	return at.forms(all, n)
}

// outer is the site as derived names and symbols see it, which mean the same wherever they stand.
func (at *site) outer() *site {
	out := *at
	out.spliced = nil
	return &out
}

// path are the alternatives of {a.b.c}, looked up as the compiler does: iterations from the innermost, derived names, parameters,
// symbols, resources.
func (at *site) path(path []string, n int) ([]form, error) {
	if full, ok := at.spliced[path[0]]; ok {
		return at.outer().path(append(slices.Clip(full), path[1:]...), n)
	}
	for i := n - 1; i >= 0; i-- {
		if at.each[i].As != path[0] {
			continue
		}
		if at.each[i].Literals != nil {
			return at.literals(&at.each[i], path, i)
		}
		return at.places(path, n)
	}
	if at.parameter(path[0]) != nil {
		return at.places(path, n)
	}
	if at.profile != nil {
		for _, d := range at.profile.Derive {
			if d.Name == path[0] {
				return at.outer().forms(d.Text, 0)
			}
		}
	}
	if t, ok := at.s.c.Symbols[path[0]]; ok {
		return at.outer().forms(t, 0)
	}
	text, err := at.s.scope.Text(contract.Template{Source: "{}", Parts: []contract.Part{{Path: path}}}) // the space, a resource
	return []form{{seg{text: text}}}, err
}

// literals are what an iteration over a list in place makes of a name: one of several texts, or each text's own form.
func (at *site) literals(e *contract.Each, path []string, n int) ([]form, error) {
	typ := &contract.Type{Kind: contract.TypeEnum}
	var out []form
	for _, l := range e.Literals {
		t := l.Text
		if l.Resource != "" {
			t = contract.Template{Source: "{}", Parts: []contract.Part{{Path: append([]string{l.Resource}, path[1:]...)}}}
		}
		forms, err := at.forms(t, n)
		if err != nil {
			return nil, err
		}
		out = append(out, forms...)
	}
	for _, f := range out {
		if len(f) != 1 || f[0].place() {
			return out, nil // with places of their own
		}
		typ.Enum = append(typ.Enum, f[0].text)
	}
	return []form{{seg{path: strings.Join(path, "."), typ: typ}}}, nil
}

// places are the places of a typed path, one for each type that it has: a field may stand in several cases of a record.
func (at *site) places(path []string, n int) ([]form, error) {
	name := strings.Join(path, ".")
	params, err := at.types(path, n)
	if err != nil {
		return nil, err
	}
	var out []form
	for _, p := range params {
		g := seg{path: name, typ: p.Type, holds: len(path) == 1 && at.parameter(name) != nil}
		if p.Optional {
			g.open = at.unbound
		}
		if p.Type != nil && (p.Type.Kind == contract.TypeList || p.Type.Kind == contract.TypeRecord && p.Type.Record.Cases == nil) {
			return nil, fmt.Errorf("placeholder {%s} is a list or record, want text", name)
		}
		if p.Type != nil && p.Type.Kind == contract.TypeRecord { // its case
			g.typ = &contract.Type{Kind: contract.TypeEnum, Enum: contract.SortedKeys(p.Type.Record.Cases)}
		}
		out = append(out, form{g})
	}
	return out, nil
}

// parameter is a parameter of the site's profile; the member of a family is one, and the space none.
func (at *site) parameter(name string) *contract.Param {
	if at.profile == nil {
		return nil
	}
	if f := at.profile.Family; f != nil && f.Param == name {
		return &contract.Param{Name: name, Type: &contract.Type{Kind: contract.TypeMember, Of: f.Of, Within: &contract.Filter{Of: f.Of, Where: f.Where}}}
	}
	for _, p := range at.profile.Params {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// types are the declarations that a path can have: those of the fields that its last name has in the cases that the site admits.
func (at *site) types(path []string, n int) ([]*contract.Param, error) {
	if len(path) == 1 {
		for i := n - 1; i >= 0; i-- {
			if e := &at.each[i]; e.As == path[0] && e.Path != nil {
				return at.elements(e, i)
			}
		}
		if p := at.parameter(path[0]); p != nil {
			return []*contract.Param{p}, nil
		}
		return nil, fmt.Errorf("placeholder {%s} is not declared", path[0])
	}
	above, err := at.types(path[:len(path)-1], n)
	if err != nil {
		return nil, err
	}
	var out []*contract.Param
	for _, p := range above {
		out = append(out, at.fields(p.Type, path)...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("placeholder {%s} has no type", strings.Join(path, "."))
	}
	return out, nil
}

func (at *site) elements(e *contract.Each, n int) ([]*contract.Param, error) {
	lists, err := at.types(e.Path, n)
	if err != nil {
		return nil, err
	}
	var out []*contract.Param
	for _, p := range lists {
		if p.Type.Kind == contract.TypeList {
			out = append(out, &contract.Param{Name: e.As, Type: p.Type.Elem})
		}
	}
	return out, nil
}

// fields are the declarations of a field. The key of a member is that of a kind, whose form is the row's to say: anything.
func (at *site) fields(t *contract.Type, path []string) []*contract.Param {
	field, of := path[len(path)-1], path[:len(path)-1]
	var out []*contract.Param
	add := func(params []*contract.Param) {
		for _, p := range params {
			if p.Name == field && !slices.ContainsFunc(out, func(have *contract.Param) bool { return have.Type == p.Type || sameScalar(have.Type, p.Type) }) {
				out = append(out, p)
			}
		}
	}
	switch {
	case t == nil:
	case t.Kind == contract.TypeMember && field == "key":
		out = append(out, &contract.Param{Name: field})
	case t.Kind == contract.TypeRecord:
		add(t.Record.Fields)
		for _, name := range contract.SortedKeys(t.Record.Cases) {
			if at.admits(of, name) {
				add(t.Record.Cases[name])
			}
		}
	}
	return out
}

func sameScalar(a, b *contract.Type) bool {
	return a.Kind == contract.TypeScalar && b.Kind == contract.TypeScalar && a.Grammar == b.Grammar
}

// admits reports whether the site's conditions leave a case to a record.
func (at *site) admits(path []string, name string) bool {
	for _, c := range at.when {
		if slices.Equal(c.Path, path) && (c.Kind == contract.CondEqual || c.Kind == contract.CondIn) && !slices.Contains(c.Values, name) {
			return false
		}
	}
	return true
}
