package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

// env is what a template can name at one place of a contract.
type env struct {
	l      *loader
	holder string // "agent", for messages; "" outside profiles
	names  map[string]binding
	// conditional: some condition must hold before a template is evaluated, so that it may take an optional value. Which
	// values a condition promises is for the author to say: a value that is absent nevertheless is refused by compile.
	conditional bool
	// unbound: optional values and placeholders of a kind's key may stay unbound, as the row says what they become.
	unbound bool
}

// binding is what a name stands for; nothing set: its declaration is broken and was reported.
type binding struct {
	typ       *contract.Type   // a declared shape
	text      []string         // text: samples of what it can be
	resources []string         // ids
	key       []*contract.Kind // the key of a member of these kinds
	stream    bool             // a sequence number per stream id ("frontier")
	optional  string           // path of an optional value that it takes, or ""
}

// broken reports a binding that stands for a declaration with errors.
func (b binding) broken() bool {
	return b.typ != nil && b.typ.Kind == "" || b.typ == nil && b.text == nil && b.resources == nil && b.key == nil && !b.stream
}

// spaceEnv is the scope of what belongs to a space: its name, the symbols, the resources.
func (l *loader) spaceEnv() *env {
	e := &env{l: l, names: map[string]binding{}}
	for name, samples := range l.symbolText {
		e.names[name] = binding{text: samples}
	}
	e.names[spaceName] = binding{typ: &contract.Type{Kind: contract.TypeScalar, Grammar: l.c.Grammars[spaceName]}}
	return e
}

// settingsEnv adds the names that the settings of a space bind.
func (l *loader) settingsEnv() *env {
	e := l.spaceEnv()
	for _, c := range l.c.Settings {
		for _, names := range c.Values {
			for name := range names {
				e.names[name] = binding{text: []string{"x"}}
			}
		}
	}
	return e
}

// profileEnv adds the parameters of a profile and its derived names, which it checks in order.
func (l *loader) profileEnv(d profiles.Decl) *env {
	e := l.spaceEnv()
	e.holder = d.Name
	if f := d.Family; f != nil {
		e.names[f.Param] = binding{typ: &contract.Type{Kind: contract.TypeMember, Of: f.Of, Within: &contract.Filter{Of: f.Of, Where: f.Where}}}
	}
	for _, p := range d.Params {
		e.names[p.Name] = paramBinding(p, p.Name)
	}
	for i, derive := range d.Profile.Derive {
		n := d.Derives[i]
		l.checkText(n, derive.Text, e.given(true))
		b := binding{text: e.samples(derive.Text), optional: e.optional(derive.Text)}
		if len(b.text[0]) > maxSubjectBytes {
			tooLong(n)
			b = binding{}
		}
		e.names[derive.Name] = b
	}
	return e
}

// paramBinding binds a parameter or field under the path by which it is named.
func paramBinding(p *contract.Param, path string) binding {
	b := binding{typ: p.Type}
	if p.Optional && p.Default == nil && p.Type.Kind != contract.TypeList {
		b.optional = path
	}
	return b
}

// with returns e with one more name.
func (e *env) with(name string, b binding) *env {
	child := *e
	child.names = maps.Clone(e.names)
	child.names[name] = b
	return &child
}

// given returns a copy of e for templates that are evaluated under conditions, or not.
func (e *env) given(conditional bool) *env {
	child := *e
	child.conditional = conditional
	return &child
}

// optional names the first optional value that a template takes, or "".
func (e *env) optional(t contract.Template) string {
	for _, path := range t.Paths() {
		if b, problem := e.resolve(path); !problem.found() && b.optional != "" {
			return b.optional
		}
	}
	return ""
}

func (e *env) lookup(name string) (binding, bool) {
	if b, ok := e.names[name]; ok {
		return b, true
	}
	if _, ok := e.l.c.Resources[name]; ok {
		return binding{resources: []string{name}}, true
	}
	return binding{}, false
}

// resolve finds what a path names.
func (e *env) resolve(path []string) (b binding, p problem) {
	b, ok := e.lookup(path[0])
	if !ok {
		known := slices.Concat(contract.SortedKeys(e.names), contract.SortedKeys(e.l.c.Resources))
		return b, problem{what: fmt.Sprintf("placeholder {%s} is not declared", path[0]), hint: source.Suggest(path[0], known)}
	}
	for i, field := range path[1:] {
		if b, p = e.field(b, field, path[:i+2]); p.found() {
			return b, p
		}
	}
	return b, none
}

func (e *env) field(b binding, field string, path []string) (binding, problem) {
	missing := problem{what: fmt.Sprintf("{%s} has no field %q", strings.Join(path[:len(path)-1], "."), field)}
	switch {
	case b.stream:
		if r, ok := e.l.c.Resources[field]; !ok || r.Bucket {
			return b, problem{what: fmt.Sprintf("{%s} names no stream", strings.Join(path, "."))}
		}
		return binding{text: []string{"1"}}, none
	case b.resources != nil && b.text == nil:
		return e.resourceField(b, field, missing)
	case b.broken():
		return b, none
	case b.typ == nil:
		return b, missing
	case b.typ.Kind == contract.TypeMember && field == "key":
		return binding{key: profiles.Kinds(e.l.c.Kinds, filterOf(b.typ.Within)), optional: b.optional}, none
	case b.typ.Kind == contract.TypeRecord:
		return recordField(b, field, path, missing)
	}
	return b, missing
}

func filterOf(f *contract.Filter) map[string]bool {
	if f == nil {
		return nil
	}
	return f.Where
}

func (e *env) resourceField(b binding, field string, missing problem) (binding, problem) {
	switch field {
	case "name":
		return binding{text: []string{"x"}}, none
	case "bucket":
		for _, id := range b.resources {
			if r := e.l.c.Resources[id]; r != nil && !r.Bucket {
				return b, problem{what: fmt.Sprintf("%s is a stream and has no bucket", id)}
			}
		}
		return binding{text: []string{"x"}}, none
	}
	missing.want = "name or bucket"
	return b, missing
}

// recordField finds a field of a record; a field of one case of a one-of record is there only in that case.
func recordField(b binding, field string, path []string, missing problem) (binding, problem) {
	full := strings.Join(path, ".")
	known := []string{}
	for _, p := range b.typ.Record.Fields {
		if p.Name == field {
			inner := paramBinding(p, full)
			inner.optional = cmp.Or(b.optional, inner.optional)
			return inner, none
		}
		known = append(known, p.Name)
	}
	for _, name := range contract.SortedKeys(b.typ.Record.Cases) {
		for _, p := range b.typ.Record.Cases[name] {
			if p.Name == field {
				return binding{typ: p.Type, optional: cmp.Or(b.optional, full)}, none
			}
			known = append(known, p.Name)
		}
	}
	if b.typ.Record.Fields == nil && b.typ.Record.Cases == nil {
		return binding{}, none // broken, and reported
	}
	missing.hint = source.Suggest(field, known)
	return b, missing
}
