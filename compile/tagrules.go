package compile

import (
	"regexp"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// TagRule says what the values of a tag may be, whoever minted the user. A template confines the shape of what its users may do,
// never whose it is.
type TagRule struct {
	About    string // in words: a parameter, or what a joined tag is made of
	Optional bool   // a user may lack the tag

	gram *contract.Grammar // of the value as it stands
	expr *regexp.Regexp    // else
	most int               // bytes, 0: as expr bounds it
}

// Fits reports whether a value is one that minting could have written.
func (r *TagRule) Fits(value string) bool {
	if r.gram != nil {
		return CheckGrammar(r.gram, value) == nil
	}
	return (r.most == 0 || len(value) <= r.most) && r.expr.MatchString(value)
}

// TagRules are the rules of all tags that a template of the profile can name, and of the parameters that every credential of it
// carries as tags, by name. A joined tag is judged token by token.
func TagRules(c *contract.Contract, topology *contract.Topology, p *contract.Profile) map[string]*TagRule {
	out := map[string]*TagRule{}
	tags := newTags(c, topology, p, Input{})
	x := &tagExpr{c: c, profile: p, params: map[string]*contract.Type{}}
	for _, param := range parameters(c, p) {
		x.params[param.Name] = param.Type
		if param.Type.Kind == contract.TypeScalar && param.Name != SpaceParam {
			out[param.Name] = &TagRule{About: "parameter " + param.Name, Optional: param.Optional, gram: param.Type.Grammar}
		}
	}
	for name, tag := range tags.byName {
		switch {
		case tag.joined != nil:
			expr := x.template(tag.joined.span, x.iterated(tag.joined.row.Each))
			out[name] = &TagRule{About: tag.Text, Optional: true, expr: regexp.MustCompile("^(?:" + expr + ")$")}
		case len(tag.gram.AsToken) > 0:
			expr := regexp.MustCompile("^(?:" + grammarExpr(tag.gram) + ")$")
			out[name] = &TagRule{About: tag.about(), Optional: tag.Optional, expr: expr, most: tag.gram.Max}
		default:
			out[name] = &TagRule{About: tag.about(), Optional: tag.Optional, gram: tag.gram}
		}
	}
	return out
}

// tagExpr writes templates as regular expressions over what their placeholders may be.
type tagExpr struct {
	c       *contract.Contract
	profile *contract.Profile
	params  map[string]*contract.Type
}

// anyToken is a token of which only that is known.
const anyToken = `[^.*>\s{}]+`

// names are the types of what is iterated, nil where it is only known to be text.
type names map[string]*contract.Type

func (x *tagExpr) iterated(each []contract.Each) names {
	out := names{}
	for _, e := range each {
		t := x.typeOf(e.Path, out)
		if out[e.As] = nil; t != nil && t.Kind == contract.TypeList {
			out[e.As] = t.Elem
		}
	}
	return out
}

// typeOf is the type at the end of a path; nil where it has none.
func (x *tagExpr) typeOf(path []string, in names) *contract.Type {
	if len(path) == 0 {
		return nil
	}
	t, ok := in[path[0]]
	if !ok {
		t = x.params[path[0]]
	}
	for _, field := range path[1:] {
		if t == nil || t.Kind != contract.TypeRecord {
			return nil
		}
		t = fieldType(t.Record, field)
	}
	return t
}

func fieldType(r *contract.Record, name string) *contract.Type {
	fields := r.Fields
	for _, of := range contract.Sorted(r.Cases) {
		fields = append(fields[:len(fields):len(fields)], of...)
	}
	for _, f := range fields {
		if f.Name == name {
			return f.Type
		}
	}
	return nil
}

func (x *tagExpr) template(t contract.Template, in names) string {
	out := ""
	for _, p := range t.Parts {
		switch {
		case p.Path == nil:
			out += regexp.QuoteMeta(p.Lit)
		case !p.Splice:
			out += "(?:" + x.placeholder(p.Path, in) + ")"
		default:
			// Where a case has no tokens, the "." before the splice goes with it.
			before, dot := strings.CutSuffix(out, `\.`)
			some, none := x.splice(p.Path, in)
			switch {
			case dot && none:
				out = before + `(?:\.(?:` + some + "))?"
			case none:
				out += "(?:" + some + ")?"
			default:
				out += "(?:" + some + ")"
			}
		}
	}
	return out
}

func (x *tagExpr) placeholder(path []string, in names) string {
	_, iterated := in[path[0]]
	if t := x.typeOf(path, in); t != nil {
		return typeExpr(t)
	}
	s := Scope{c: x.c, profile: x.profile}
	if def, ok := s.definition(path[0]); ok && !iterated && len(path) == 1 {
		return x.template(def, nil)
	}
	return anyToken
}

// splice is every case of a one-of record that has tokens, and whether one has none.
func (x *tagExpr) splice(path []string, in names) (some string, none bool) {
	t := x.typeOf(path, in)
	if t == nil || t.Kind != contract.TypeRecord || x.c.Variants[t.Record.Name] == nil {
		return anyToken + `(?:\.` + anyToken + ")*", true
	}
	cases := x.c.Variants[t.Record.Name].Cases
	var all []string
	for _, name := range contract.SortedKeys(cases) {
		inner := names{}
		for k, v := range in {
			inner[k] = v
		}
		for _, f := range t.Record.Cases[name] {
			inner[f.Name] = f.Type
		}
		var tokens []string
		for _, token := range cases[name] {
			tokens = append(tokens, x.template(token, inner))
		}
		if none = none || len(tokens) == 0; len(tokens) > 0 {
			all = append(all, strings.Join(tokens, `\.`))
		}
	}
	return strings.Join(all, "|"), none
}

func typeExpr(t *contract.Type) string {
	switch t.Kind {
	case contract.TypeScalar:
		return grammarExpr(t.Grammar)
	case contract.TypeEnum:
		quoted := make([]string, len(t.Enum))
		for i, v := range t.Enum {
			quoted[i] = regexp.QuoteMeta(v)
		}
		return strings.Join(quoted, "|")
	case contract.TypeBool:
		return "true|false"
	case contract.TypePattern:
		return `[^>\s{}]+>?`
	}
	return anyToken
}

// grammarExpr is a grammar as its text stands in a subject.
func grammarExpr(g *contract.Grammar) string {
	segment := "(?:" + g.Source + ")"
	if !g.Dotted {
		return segment
	}
	inner, last := segment, segment
	if g.Star == contract.StarInner {
		inner = "(?:" + segment + `|\*)`
	}
	if g.Tail {
		last = "(?:" + segment + "|>)"
	}
	return "(?:" + inner + regexp.QuoteMeta(g.OneToken(".")) + ")*" + last
}
