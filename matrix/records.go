package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

// records reads the typed shapes and their variants. All names are declared before the first type is read, so that the order of
// the file does not matter.
func (l *loader) records(n, variants source.Node) {
	var fields []source.Field
	if n.Given() {
		fields = n.Fields()
	}
	for _, f := range fields {
		if !id(f, l.c.Records, "record") {
			continue
		}
		if _, taken := l.c.Grammars[f.Name]; taken {
			f.Key.Fail(fmt.Sprintf("record %q has the name of a grammar", f.Name), "", "another name", "")
			continue
		}
		l.c.Records[f.Name] = &contract.Record{Name: f.Name, Pos: f.Key.Pos()}
	}
	for _, f := range fields {
		if r := l.c.Records[f.Name]; r != nil && r.Pos == f.Key.Pos() {
			l.record(r, f.Value)
		}
	}
	for _, f := range fields {
		if r := l.c.Records[f.Name]; r != nil && holds(r, r, map[*contract.Record]bool{}) {
			f.Key.Fail(fmt.Sprintf("record %q holds itself", f.Name), "", "a record of finite depth", "")
			r.Fields, r.Cases = nil, nil // so that nothing walks it without end
		}
	}
	for _, f := range fields {
		if r := l.c.Records[f.Name]; r != nil && r.Pos == f.Key.Pos() {
			l.siblings(f.Value, r)
		}
	}
	if variants.Given() {
		for _, f := range variants.Fields() {
			l.variant(f)
		}
	}
}

func (l *loader) record(r *contract.Record, n source.Node) {
	if !n.Has("one-of") {
		r.Fields = l.fields(n.Fields())
		return
	}
	r.Cases = map[string][]*contract.Param{}
	for _, f := range n.Map("one-of").Get("one-of").Fields() {
		if !contract.IsName(f.Name) {
			f.Key.Fail(fmt.Sprintf("case name %q is not valid", f.Name), "", "a letter, then letters, digits, '-' or '_'", "")
			continue
		}
		r.Cases[f.Name] = l.fields(f.Value.Entries())
	}
}

func (l *loader) fields(entries []source.Field) []*contract.Param {
	var out []*contract.Param
	for _, f := range entries {
		if !contract.IsName(f.Name) {
			f.Key.Fail(fmt.Sprintf("field name %q is not valid", f.Name), "", "a letter, then letters, digits, '-' or '_'", "")
			continue
		}
		out = append(out, l.types.Param(f.Name, f.Value))
	}
	return out
}

// siblings checks what the fields of a record say of each other, once every record is read.
func (l *loader) siblings(n source.Node, r *contract.Record) {
	all := [][]*contract.Param{r.Fields}
	for _, name := range contract.SortedKeys(r.Cases) {
		all = append(all, r.Cases[name])
	}
	for _, fields := range all {
		for _, f := range fields {
			if f.From != "" || f.Also != "" {
				n.Fail(fmt.Sprintf("field %s of a record takes its value from elsewhere", f.Name), "", "neither also, from nor the default of a list, which are for parameters", "")
			}
		}
		profiles.Siblings(n, fields)
		l.needs(fields)
	}
}

// needs reads the conditions that booleans hold their siblings to. They see those alone.
func (l *loader) needs(siblings []*contract.Param) {
	for _, p := range siblings {
		n, ok := l.types.Needs(p)
		if !ok {
			continue
		}
		e := &env{l: l, names: map[string]binding{}}
		for _, q := range siblings {
			e.names[q.Name] = paramBinding(q, q.Name)
		}
		known := contract.SortedKeys(e.names)
		for _, f := range n.Entries() {
			if name, _, _ := strings.Cut(f.Name, "."); contract.IsName(name) && !slices.Contains(known, name) {
				e.names[name] = binding{} // a resource of that name is not meant
				f.Key.Fail(fmt.Sprintf("%s needs %q, which is not beside it", p.Name, name), "", "", source.Suggest(name, known))
			}
		}
		p.Needs = conditions(n, []*env{e})
	}
}

// holds reports whether r reaches target through its fields.
func holds(r, target *contract.Record, seen map[*contract.Record]bool) bool {
	params := slices.Clone(r.Fields)
	for _, name := range contract.SortedKeys(r.Cases) {
		params = append(params, r.Cases[name]...)
	}
	for _, p := range params {
		t := p.Type
		if t.Kind == contract.TypeList {
			t = t.Elem
		}
		if t.Kind != contract.TypeRecord || t.Record == nil {
			continue
		}
		if t.Record == target {
			return true
		}
		if !seen[t.Record] {
			seen[t.Record] = true
			if holds(t.Record, target, seen) {
				return true
			}
		}
	}
	return false
}

// variant reads the tokens of each case of a one-of record; the cases must match exactly.
func (l *loader) variant(f source.Field) {
	r, ok := l.c.Records[f.Name]
	switch {
	case !ok:
		f.Key.Fail(fmt.Sprintf("record %q is not declared", f.Name), "", "", source.Suggest(f.Name, contract.SortedKeys(l.c.Records)))
		return
	case r.Cases == nil:
		f.Key.Fail(fmt.Sprintf("record %q has no cases", f.Name), "", "a record with one-of", "")
		return
	case l.c.Variants[f.Name] != nil:
		again(f.Key, fmt.Sprintf("variant %q is declared twice", f.Name), "another name", l.c.Variants[f.Name].Pos)
		return
	}
	v := &contract.Variant{Name: f.Name, Pos: f.Key.Pos(), Cases: map[string][]contract.Template{}}
	for _, c := range f.Value.Fields() {
		if _, known := r.Cases[c.Name]; !known {
			c.Key.Fail(fmt.Sprintf("case %q is not one of record %s", c.Name, f.Name), "", "", source.Suggest(c.Name, contract.SortedKeys(r.Cases)))
			continue
		}
		v.Cases[c.Name] = l.variantTokens(c.Value, r.Cases[c.Name])
	}
	var missing []string
	for _, name := range contract.SortedKeys(r.Cases) {
		if _, ok := v.Cases[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 && f.Value.IsMap() {
		f.Value.Fail(fmt.Sprintf("variant %s leaves out cases", f.Name), strings.Join(contract.SortedKeys(v.Cases), ", "), "also "+strings.Join(missing, ", "), "")
	}
	l.c.Variants[f.Name] = v
}

func (l *loader) variantTokens(n source.Node, fields []*contract.Param) []contract.Template {
	out := []contract.Template{}
	for _, item := range n.Elements() {
		t, ok := profiles.Template(item)
		if !ok {
			continue
		}
		for _, p := range t.Parts {
			i := slices.IndexFunc(fields, func(f *contract.Param) bool { return len(p.Path) == 1 && f.Name == p.Path[0] })
			if p.Splice {
				item.Fail("splice inside a variant", fmt.Sprintf("%q", t.Source), "plain placeholders", "")
			} else if i >= 0 && fields[i].Optional {
				item.Fail(fmt.Sprintf("field %q of a variant is optional", p.Path[0]), "", "a required field", "")
			}
		}
		malformed(item, samplesOf(t)...)
		out = append(out, t)
	}
	return out
}
