package profiles

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// Scope is what a type may name: declared grammars, records, record kinds and resources by id.
type Scope struct {
	Grammars  map[string]*contract.Grammar
	Records   map[string]*contract.Record
	Kinds     map[string]*contract.Kind
	Resources map[string]*contract.Resource
	needs     map[*contract.Param]source.Node
}

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// Needs are the conditions that a boolean holds its siblings to, as written: they can be read once all types are.
func (s *Scope) Needs(p *contract.Param) (source.Node, bool) {
	n, ok := s.needs[p]
	return n, ok
}

func (s *Scope) need(p *contract.Param, n source.Node) {
	if s.needs == nil {
		s.needs = map[*contract.Param]source.Node{}
	}
	s.needs[p] = n
}

// forms are the keys that select the form of a type written as a map, in order of precedence.
var forms = []string{"list", "enum", "grammar", "record", "token", "dotted", "pattern", "of", "bool", "optional"}

// Param reads one parameter of a profile or field of a record: its type, whether it is optional, its default. A type that is
// wrong is reported and has no kind, so that what names it is not reported again.
func (s *Scope) Param(name string, n source.Node) *contract.Param {
	p := &contract.Param{Name: name, Pos: n.Pos(), Type: &contract.Type{}}
	if n.IsList() {
		p.Type = &contract.Type{Kind: contract.TypeEnum, Enum: enum(n)}
		return p
	}
	if !n.IsMap() {
		p.Type = s.named(n)
		return p
	}
	i := slices.IndexFunc(forms, n.Has)
	if i < 0 {
		n.Fail(name+" has no type", "", "one of the keys "+strings.Join(forms, ", "), "")
		return p
	}
	s.form(p, forms[i], n)
	return p
}

func (s *Scope) form(p *contract.Param, form string, n source.Node) {
	var m source.Map
	switch form {
	case "list":
		m = n.Map("list", "optional", "default", "within", "unique", "also")
		p.Type = &contract.Type{Kind: contract.TypeList, Elem: s.element(m.Get("list")), Unique: m.Get("unique").Text()}
		p.Optional = m.Get("optional").Bool()
		p.From, p.Within = m.Get("default").Text(), m.Get("within").Text()
	case "enum":
		m = n.Map("enum", "default", "optional", "also")
		p.Type = &contract.Type{Kind: contract.TypeEnum, Enum: enum(m.Get("enum"))}
		p.Optional = m.Get("optional").Bool()
		if d := m.Get("default"); d.Given() {
			p.Default = d.OneOf(p.Type.Enum...)
		}
	case "grammar":
		m = n.Map("grammar", "default", "from", "optional", "also")
		p.Type = &contract.Type{Kind: contract.TypeScalar, Grammar: s.grammarNamed(m.Get("grammar"))}
		if p.Type.Grammar == nil {
			p.Type = &contract.Type{}
		}
		scalarExtras(p, m)
	case "token", "dotted":
		m = n.Map("token", "dotted", "max", "wildcards", "as-token", "hint", "default", "from", "optional", "also")
		p.Type = &contract.Type{Kind: contract.TypeScalar, Grammar: grammar("", m)}
		scalarExtras(p, m)
	case "record":
		m = n.Map("record", "optional", "also")
		p.Type, p.Optional = s.recordNamed(m.Get("record")), m.Get("optional").Bool()
	case "bool":
		m = n.Map("bool", "needs", "hint", "also")
		s.boolean(p, m)
	case "of":
		m = n.Map("of", "where", "optional", "also")
		m.Get("of").OneOf("kinds")
		p.Type = &contract.Type{Kind: contract.TypeMember, Of: "kinds", Within: where(m.Get("where"))}
		p.Optional = m.Get("optional").Bool()
	case "pattern":
		m = n.Map("pattern", "within", "never", "own", "optional", "also")
		s.pattern(p, m)
	default:
		m = n.Map("optional", "also")
		s.optional(p, m)
	}
	if also := m.Get("also"); also.Given() {
		p.Also = also.Text()
	}
}

// optional reads {optional: T}: T as it is written, but that it may be absent.
func (s *Scope) optional(p *contract.Param, m source.Map) {
	inner := s.Param(p.Name, m.Get("optional"))
	if needs, ok := s.Needs(inner); ok {
		s.need(p, needs)
	}
	inner.Pos, inner.Optional = p.Pos, true
	*p = *inner
}

// boolean reads {bool: DEFAULT} with what must hold where it is true.
func (s *Scope) boolean(p *contract.Param, m source.Map) {
	p.Type, p.Default = &contract.Type{Kind: contract.TypeBool}, m.Get("bool").Bool()
	needs, hint := m.Get("needs"), m.Get("hint")
	p.Hint = hint.Text()
	if needs.Given() {
		s.need(p, needs)
	} else if hint.Given() {
		hint.Fail("hint of a boolean without needs", "", "needs, of which the hint says how to meet them", "")
	}
}

// element reads the type of a list's elements, which can be neither optional nor have a default.
func (s *Scope) element(n source.Node) *contract.Type {
	e := s.Param("element", n)
	if e.Optional || (e.Default != nil && e.Type.Kind != contract.TypeBool) {
		n.Fail("element of a list is optional or has a default", "", "a plain type", "")
	}
	if _, needs := s.Needs(e); needs || e.Also != "" {
		n.Fail("element of a list has needs or also", "", "a plain type", "")
	}
	if e.Type.Kind == contract.TypeList {
		n.Fail("list of lists", "", "a list of scalars or records", "")
		return &contract.Type{}
	}
	return e.Type
}

// scalarExtras reads what may stand beside a scalar's grammar.
func scalarExtras(p *contract.Param, m source.Map) {
	p.Optional = m.Get("optional").Bool()
	d, from := m.Get("default"), m.Get("from")
	p.From = from.Text()
	if d.Given() && from.Given() {
		from.Fail("default and from exclude each other", "", "one of them", "")
	}
	if !d.Given() {
		return
	}
	text := d.Text()
	p.Default = text
	g := p.Type.Grammar
	if text == "" || text == contract.DefaultUserKey || g == nil || g.Token == nil {
		return
	}
	segments := []string{text}
	if g.Dotted {
		segments = strings.Split(text, ".")
	}
	if slices.ContainsFunc(segments, func(s string) bool { return !g.Token.MatchString(s) }) {
		d.Fail("default does not fit its grammar", fmt.Sprintf("%q", text), g.Source, "")
	}
}

func (s *Scope) pattern(p *contract.Param, m source.Map) {
	id := m.Get("pattern").Text()
	if _, ok := s.Resources[id]; id != "" && !ok {
		m.Get("pattern").Fail(fmt.Sprintf("resource %q is not declared", id), "", "", source.Suggest(id, contract.SortedKeys(s.Resources)))
	}
	p.Type = &contract.Type{Kind: contract.TypePattern, Of: id, Within: filter(m.Get("within")), Never: filter(m.Get("never"))}
	p.Optional = m.Get("optional").Bool()
	if own := m.Get("own"); own.Given() {
		p.Type.Own = own.Strings()
		s.own(own, p.Type)
	}
}

func whereOf(f *contract.Filter) map[string]bool {
	if f == nil {
		return nil
	}
	return f.Where
}

// own checks that the place of each named placeholder is certain in every key that has it: all before it are one token each.
func (s *Scope) own(n source.Node, t *contract.Type) {
	found, admitted := map[string]bool{}, Kinds(s.Kinds, whereOf(t.Within))
	if t.Never != nil {
		never := Kinds(s.Kinds, whereOf(t.Never))
		admitted = slices.DeleteFunc(admitted, func(k *contract.Kind) bool { return slices.Contains(never, k) })
	}
	for _, k := range contract.Sorted(s.Kinds) {
		certain := true
		for _, token := range k.Tokens() {
			if !strings.ContainsAny(token, "{}") {
				continue
			}
			name := strings.Trim(token, "{}")
			g := s.Grammars[name]
			certain = certain && g != nil && (!g.Dotted || g.AsToken != nil)
			if !slices.Contains(t.Own, name) {
				continue
			}
			if found[name] = true; !certain && slices.Contains(admitted, k) {
				n.Fail(fmt.Sprintf("own %q has no certain place in the key of kind %s", name, k.Name), fmt.Sprintf("%q", k.Key.Source),
					"placeholders of one token each up to it, named as their grammars", "")
			}
		}
	}
	for _, name := range t.Own {
		if !found[name] {
			n.Fail(fmt.Sprintf("own %q is in no key of a kind", name), "", "a placeholder of a kind's key", "")
		}
	}
}

func (s *Scope) named(n source.Node) *contract.Type {
	name := n.Text()
	if name == "" {
		return &contract.Type{}
	}
	if g, ok := s.Grammars[name]; ok {
		return &contract.Type{Kind: contract.TypeScalar, Grammar: g}
	}
	if r, ok := s.Records[name]; ok {
		return &contract.Type{Kind: contract.TypeRecord, Record: r}
	}
	known := slices.Concat(contract.SortedKeys(s.Grammars), contract.SortedKeys(s.Records))
	n.Fail(fmt.Sprintf("type %q is not declared", name), "", "a grammar or a record", source.Suggest(name, known))
	return &contract.Type{}
}

func (s *Scope) grammarNamed(n source.Node) *contract.Grammar {
	name := n.Text()
	g, ok := s.Grammars[name]
	if name != "" && !ok {
		n.Fail(fmt.Sprintf("grammar %q is not declared", name), "", "", source.Suggest(name, contract.SortedKeys(s.Grammars)))
	}
	return g
}

func (s *Scope) recordNamed(n source.Node) *contract.Type {
	name := n.Text()
	if r, ok := s.Records[name]; ok {
		return &contract.Type{Kind: contract.TypeRecord, Record: r}
	}
	if name != "" {
		n.Fail(fmt.Sprintf("record %q is not declared", name), "", "", source.Suggest(name, contract.SortedKeys(s.Records)))
	}
	return &contract.Type{}
}

// enum reads the words of an enumeration; each can stand as one token.
func enum(n source.Node) []string {
	words := n.Strings()
	for i, item := range n.Elements() {
		if i < len(words) && strings.ContainsAny(words[i], ".*> \t\r\n{}") {
			item.Fail("enumeration word is not one token", fmt.Sprintf("%q", words[i]), "no '.', '*', '>', brace or space", "")
		}
	}
	return words
}

// flags are the flags of a record kind by which a filter selects.
var flags = contract.KindFlags()

// Flags reads the flags of record kinds by which something selects; nil where it was not given.
func Flags(n source.Node) map[string]bool {
	if f := where(n); f != nil {
		return f.Where
	}
	return nil
}

// where reads {flag: bool, ...}; nil where it was not given.
func where(n source.Node) *contract.Filter {
	if !n.Given() {
		return nil
	}
	f := &contract.Filter{Of: "kinds", Where: map[string]bool{}}
	for _, e := range n.Fields() {
		if !slices.Contains(flags, e.Name) {
			e.Key.Fail(fmt.Sprintf("unknown flag %q", e.Name), "", "one of "+strings.Join(flags, ", "), source.Suggest(e.Name, flags))
			continue
		}
		f.Where[e.Name] = e.Value.Bool()
	}
	return f
}

// filter reads "kinds where FLAG" or "kinds where not FLAG"; nil where it was not given.
func filter(n source.Node) *contract.Filter {
	text := n.Text()
	if text == "" {
		return nil
	}
	words := strings.Fields(text)
	want := true
	if len(words) == 4 && words[2] == "not" {
		want, words = false, slices.Delete(words, 2, 3)
	}
	if len(words) != 3 || words[0] != "kinds" || words[1] != "where" || !slices.Contains(flags, words[2]) {
		n.Fail(n.Name(), fmt.Sprintf("%q", text), `"kinds where FLAG" or "kinds where not FLAG", FLAG one of `+strings.Join(flags, ", "), "")
		return nil
	}
	return &contract.Filter{Of: words[0], Where: map[string]bool{words[2]: want}}
}
