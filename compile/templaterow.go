package compile

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// templater compiles one template.
type templater struct {
	c        *contract.Contract
	topology *contract.Topology
	profile  *contract.Profile
	tags     *tagSet
	s        *Scope
}

// resolve is Resolve with open parameters. What depends on them is one entry with a template in it: the broker drops the entry for
// a user without the tag, which is what the row's condition says.
func (t *templater) resolve(account string) ([]Grant, error) {
	r := &resolver{account: account}
	for _, row := range t.c.Rows {
		if !appliesTo(row, t.profile.Name, t.topology.Name) || row.Op.Kind == contract.OpShare {
			continue
		}
		own, guards, err := t.opened(row)
		before := len(r.grants)
		r.row, r.rows, r.from = row, []string{row.ID}, nil
		if err == nil {
			r.row = own
			err = t.s.bindings(own.Each, r.binding)
		}
		for i := before; i < len(r.grants) && err == nil; i++ {
			r.grants[i].Row = row
			err = t.entry(&r.grants[i], guards)
		}
		if err != nil {
			r.fail(err)
		}
	}
	r.probs = append(r.probs, t.s.guarded(r.grants, account)...)
	return r.grants, r.probs.Err()
}

// opened is a row whose conditions on open parameters are left out, and whose joined iteration is one tag. guards are the
// templates without which the row gives nothing.
func (t *templater) opened(row *contract.Row) (own *contract.Row, guards []string, err error) {
	copied := *row
	own = &copied
	var j *joinedRow
	if i := slices.IndexFunc(t.tags.joined, func(j *joinedRow) bool { return j.row == row }); i >= 0 {
		j = t.tags.joined[i]
		if err := t.spliced(own, j); err != nil {
			return nil, nil, err
		}
		guards = append(guards, tagOperation(j.tag.Name))
	}
	elements := map[string]*openParam{} // name → the open list that it is an element of, nil for another
	for _, e := range row.Each {
		elements[e.As] = nil
		if j == nil && e.Path != nil && t.tags.open[e.Path[0]] != nil {
			elements[e.As] = t.tags.open[e.Path[0]]
			guards = append(guards, elements[e.As].op)
		}
	}
	own.When = nil
	for i := range row.When {
		cond := &row.When[i]
		o, element := elements[cond.Path[0]]
		if !element {
			o = t.tags.open[cond.Path[0]]
		}
		switch {
		case j != nil && element: // decided for each value of the joined tag
		case o == nil:
			own.When = append(own.When, *cond)
		case cond.Kind == contract.CondPresent && o.op != "" && len(cond.Path) == 1:
			guards = append(guards, o.op)
		default:
			return nil, nil, &contract.Problem{What: "asks for the value of parameter " + o.param.Name + ", in which users of one template differ",
				Got: strings.Join(cond.Path, ".") + " " + string(cond.Kind), Want: "a value of the template", Hint: fixHint(o.param.Name)}
		}
	}
	return own, guards, nil
}

// spliced puts the row's joined tag in the place of all that its iteration decides.
func (t *templater) spliced(own *contract.Row, j *joinedRow) error {
	var lists []string
	for _, e := range own.Each {
		if t.tags.joins(e) {
			lists = append(lists, e.Path[0])
		}
	}
	if len(j.span.Parts) == 0 {
		return &contract.Problem{What: "iterates " + strings.Join(lists, ", ") + " into several subjects, which one tag cannot stand for",
			Got: string(own.Op.Kind), Want: "publish, subscribe, a kv put or a keyed direct-get", Hint: fixHint(lists...)}
	}
	at := opTemplate(&own.Op)
	parts := slices.Concat(at.Parts[:j.first], []contract.Part{{Lit: tagOperation(j.tag.Name)}}, at.Parts[j.first+len(j.span.Parts):])
	joined := contract.Template{Source: at.Source, Parts: parts}
	if own.Op.Key == at {
		own.Op.Key = &joined
	} else {
		own.Op.Subject = joined
	}
	own.Each = nil
	return nil
}

// entry holds one entry of a row to what a template can say.
func (t *templater) entry(g *Grant, guards []string) error {
	text := g.Entry.String()
	ops := operations(text)
	var several []string
	for _, op := range ops {
		if tag := t.tagOf(op); tag != nil && tag.Several {
			several = append(several, op)
		}
	}
	if len(several) > 1 {
		return &contract.Problem{What: "holds two tags that may have several values each, which the broker multiplies", Got: quote(text), Want: "one",
			Hint: fixHint(t.tagOf(several[0]).Param)}
	}
	for _, op := range guards {
		if !slices.Contains(ops, op) {
			t.require(op, g.Row) // the entry stands whether the user has the tag or not
		}
	}
	if g.Deny || g.Row.Unbound != "" {
		t.requireAll(text, g.Row)
	}
	return nil
}

func (t *templater) tagOf(op string) *Tag {
	name, ok := strings.CutPrefix(op, "{{tag(")
	if !ok {
		return nil
	}
	return t.tags.byName[strings.TrimSuffix(name, ")}}")]
}

func (t *templater) require(op string, row *contract.Row) {
	if tag := t.tagOf(op); tag != nil && tag.Required == "" {
		tag.Required = row.ID
	}
}

func (t *templater) requireAll(entry string, row *contract.Row) {
	for _, op := range operations(entry) {
		t.require(op, row)
	}
}

// soundClosing is that of Close, for every value that the templates may take.
func (t *templater) soundClosing(grants []Grant, i int, d subject.Pattern) *contract.Problem {
	g, denied := &grants[i], t.tokens(d)
	for j := range grants {
		e := &grants[j]
		if j != i && e.Dir == Sub && !e.Deny && e.Entry != g.Entry && meet(t.tokens(subject.Widen(e.Entry.Pattern)), denied) {
			return closingProblem(g, e, "may also take from the subscription "+quote(e.Entry.String()))
		}
		for _, f := range e.Stored {
			if meet(t.tokens(f), denied) {
				return closingProblem(g, e, "may withhold a stored message "+quote(string(f))+" read")
			}
		}
	}
	return nil
}

// openToken is a token of a pattern whose text users decide in part.
type openToken struct {
	pre, suf string // of what is fixed of it
	any      bool   // more may stand between them
	many     bool   // it may be several tokens, wildcards among them
	rest     bool
}

func (t *templater) tokens(p subject.Pattern) []openToken {
	var out []openToken
	for _, text := range p.Tokens() {
		tok := openToken{pre: text}
		switch ops := operations(text); {
		case text == ">":
			tok = openToken{rest: true}
		case text == "*":
			tok = openToken{any: true}
		case len(ops) > 0:
			many := slices.ContainsFunc(ops, func(op string) bool { tag := t.tagOf(op); return tag != nil && tag.dotted })
			tok = openToken{pre: text[:strings.Index(text, "{{")], suf: text[strings.LastIndex(text, "}}")+2:], any: true, many: many}
		}
		out = append(out, tok)
	}
	return out
}

// meet reports whether some values make two patterns overlap. Two templates of one tag count as independent, which errs on the
// safe side.
func meet(a, b []openToken) bool {
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a) == len(b)
	case a[0].rest || b[0].rest:
		return true
	case a[0].many || b[0].many:
		return meet(a[1:], b[1:]) || a[0].many && meet(a, b[1:]) || b[0].many && meet(a[1:], b)
	}
	return meetToken(a[0], b[0]) && meet(a[1:], b[1:])
}

func meetToken(a, b openToken) bool {
	switch {
	case !a.any && !b.any:
		return a.pre == b.pre
	case !a.any:
		return meetToken(b, a)
	case !b.any:
		return len(b.pre) >= len(a.pre)+len(a.suf) && strings.HasPrefix(b.pre, a.pre) && strings.HasSuffix(b.pre, a.suf)
	}
	return (strings.HasPrefix(a.pre, b.pre) || strings.HasPrefix(b.pre, a.pre)) &&
		(strings.HasSuffix(a.suf, b.suf) || strings.HasSuffix(b.suf, a.suf))
}
