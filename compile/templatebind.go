package compile

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// openParam is a parameter that a template leaves to its users.
type openParam struct {
	param *contract.Param
	op    string // what stands for its value; "" for a list that is only iterated into joined tags
	tag   *Tag   // nil for the user's own key, and where op is ""
}

// tagSet is what the users of a profile's templates differ in.
type tagSet struct {
	open   map[string]*openParam // by parameter
	byName map[string]*Tag
	joined []*joinedRow
}

// joinedRow is a row that iterates an open list of anything but plain texts. All that differs from one binding to the next is one
// tag with one value for each: several tags in one entry would multiply.
type joinedRow struct {
	row   *contract.Row
	span  contract.Template // from the first part that depends on the iteration to the last
	first int               // part of the row's template at which it begins
	when  []contract.Cond   // that only a user's own values decide
	tag   *Tag
}

// newTags finds what is open where fixed is given.
func newTags(c *contract.Contract, topology *contract.Topology, p *contract.Profile, fixed Input) *tagSet {
	t := &tagSet{open: map[string]*openParam{}, byName: map[string]*Tag{}}
	for _, param := range parameters(c, p) {
		if _, given := fixed.Values[param.Name]; given || param.Name == SpaceParam {
			continue
		}
		elem := param.Type
		if elem.Kind == contract.TypeList {
			elem = elem.Elem
		}
		switch {
		case param.Default == contract.DefaultUserKey:
			t.open[param.Name] = &openParam{param: param, op: subjectOperation}
		case elem.Kind == contract.TypeScalar && param.Type.Kind != contract.TypeRecord:
			tag := &Tag{Name: tagName(p, param, elem.Grammar), Param: param.Name, Several: param.Type.Kind == contract.TypeList,
				Optional: param.Optional || param.Type.Kind == contract.TypeList, gram: elem.Grammar,
				dotted: elem.Grammar.Dotted && len(elem.Grammar.AsToken) == 0}
			t.open[param.Name] = &openParam{param: param, op: tagOperation(tag.Name), tag: tag}
			t.byName[tag.Name] = tag
		case param.Type.Kind == contract.TypeList:
			t.open[param.Name] = &openParam{param: param}
		}
	}
	for _, row := range c.Rows {
		if appliesTo(row, p.Name, topology.Name) && row.Op.Kind != contract.OpShare {
			if j := t.join(row); j != nil {
				if t.byName[j.tag.Name] != nil {
					j.tag.Name += "-row"
				}
				t.joined = append(t.joined, j)
				t.byName[j.tag.Name] = j.tag
			}
		}
	}
	return t
}

// tagName is that of a parameter's tag. Tags that every credential carries for its readers have the same name and the parameter's
// text: where a subject has another form of it, or none of those is meant, the tag has a name of its own.
func tagName(p *contract.Profile, param *contract.Param, g *contract.Grammar) string {
	name := strings.ToLower(param.Name)
	if len(g.AsToken) > 0 || name == "profile" || name == SpaceParam || name != param.Name && slices.Contains(p.Tags, name) {
		name += "-token"
	}
	return name
}

// opTemplate is where the text of a row stands that its bindings differ in; nil for operations that have several, or none.
func opTemplate(op *contract.Op) *contract.Template {
	switch {
	case op.Kind == contract.OpKV && op.Verbs[0] == "put", op.Kind == contract.OpRead && op.How == "direct-get" && op.Key != nil:
		return op.Key
	case slices.Contains([]contract.OpKind{contract.OpPublish, contract.OpSubscribe, contract.OpServe, contract.OpSystem, contract.OpAPI}, op.Kind):
		return &op.Subject
	}
	return nil
}

// join returns the joined tag of a row; nil where it iterates no list that needs one. Without a span the row cannot be a template.
func (t *tagSet) join(row *contract.Row) *joinedRow {
	if !slices.ContainsFunc(row.Each, t.joins) {
		return nil
	}
	j := &joinedRow{row: row, tag: &Tag{Name: strings.ToLower(row.ID), Row: row.ID, Several: true, Optional: true, dotted: true}}
	j.tag.joined = j
	names := map[string]bool{}
	for _, e := range row.Each {
		names[e.As] = true
	}
	for _, cond := range row.When {
		if names[cond.Path[0]] {
			j.when = append(j.when, cond)
		}
	}
	if at := opTemplate(&row.Op); at != nil {
		if first, last := spanOf(at.Parts, names); first >= 0 {
			j.span, j.first = contract.Template{Parts: at.Parts[first : last+1]}, first
			for _, p := range j.span.Parts {
				j.tag.Text += p.String()
			}
			j.span.Source = j.tag.Text
		}
	}
	return j
}

// joins reports whether an each item iterates an open list whose elements are no plain texts.
func (t *tagSet) joins(e contract.Each) bool {
	if e.Path == nil {
		return false
	}
	o := t.open[e.Path[0]]
	return o != nil && o.op == ""
}

// spanOf is from the first to the last part that names something iterated; -1 where none does.
func spanOf(parts []contract.Part, names map[string]bool) (first, last int) {
	first = -1
	for i, p := range parts {
		if p.Path != nil && names[p.Path[0]] {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	return first, last
}

// scope binds what is fixed, and what stands for the rest. What parameters say of each other is left to whoever mints a user: it
// is known then.
func (t *templater) scope(fixed Input) (*Scope, error) {
	params := parameters(t.c, t.profile)
	b := &binder{c: t.c, params: params, input: fixed}
	bound := map[string]*value{}
	for _, p := range params {
		switch o := t.tags.open[p.Name]; {
		case p.Optional && fixed.Values[p.Name] == (contract.Null{}): // fixed to be absent
		case o == nil:
			if v := b.param(p, fixed.Values[p.Name], p.Name); v != nil {
				bound[p.Name] = v
			}
		case p.Type.Kind == contract.TypeList:
			bound[p.Name] = &value{isList: true, list: []*value{textValue(o.op)}}
		default:
			bound[p.Name] = textValue(o.op)
		}
	}
	b.unknown(fixed.Values, params, "", "parameter")
	if len(b.probs) > 0 {
		return nil, b.probs.Err()
	}
	s := &Scope{c: t.c, topology: t.topology, profile: t.profile, params: bound, in: fixed, given: fixed.Pos != nil,
		memo: &memo{derived: map[string]*value{}, names: map[string]*value{}, text: make([]byte, 0, 512)}}
	return s, s.ownNames().Err()
}
