package compile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Input is what a caller gives for a profile's parameters: string, bool, []any and map[string]any, as a parameter file or
// [ParseSet] yields them.
type Input struct {
	Values  map[string]any
	Pos     map[string]contract.Pos // of values from a file, by dotted path; nil: a sample, with which something is wrong in the contract
	UserKey string                  // public user key for parameters that default to it; "" leaves them at PlaceholderKey
}

// PlaceholderKey stands for the credential's own key where none exists yet: a compile that mints nothing. It has the length of
// a real public key, so sizes are true.
const PlaceholderKey = "UAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// SpaceParam is the implicit parameter of every profile.
const SpaceParam = "space"

// binder checks values against declared types and collects what is wrong.
type binder struct {
	c      *contract.Contract
	params []*contract.Param // of the profile
	input  Input
	probs  contract.Problems
}

// bind checks every parameter of p and returns them by name. Problems name the parameter by its path.
func bind(c *contract.Contract, p *contract.Profile, in Input) (map[string]*value, contract.Problems) {
	params := parameters(c, p)
	b := &binder{c: c, params: params, input: in}
	out := make(map[string]*value, len(params))
	for _, param := range params {
		if v := b.param(param, in.Values[param.Name], param.Name); v != nil {
			out[param.Name] = v
		}
	}
	if len(b.probs) == 0 {
		b.siblings(params, out, "")
	}
	b.unknown(in.Values, params, "", "parameter")
	return out, b.probs
}

// parameters are all that a profile takes: the space, the member of a family, and what it declares. A nil contract leaves out
// the grammar of the space.
func parameters(c *contract.Contract, p *contract.Profile) []*contract.Param {
	space := &contract.Type{Kind: contract.TypeScalar}
	if c != nil {
		space.Grammar = c.Grammars[SpaceParam]
	}
	out := make([]*contract.Param, 0, len(p.Params)+2)
	out = append(out, &contract.Param{Name: SpaceParam, Type: space})
	if f := p.Family; f != nil {
		out = append(out, &contract.Param{Name: f.Param, Pos: p.Pos,
			Type: &contract.Type{Kind: contract.TypeMember, Of: f.Of, Within: &contract.Filter{Of: f.Of, Where: f.Where}}})
	}
	return append(out, p.Params...)
}

// maxProblems is how many problems one binding reports: a hostile list must not become a million lines.
const maxProblems = 100

func (b *binder) fail(path, what, got, want, hint string) {
	if len(b.probs) >= maxProblems {
		return
	}
	b.probs = append(b.probs, &contract.Problem{Pos: b.pos(path), What: "parameter " + path + ": " + what, Got: got, Want: want, Hint: hint})
}

// pos is where a value stands in a file: what is missing stands in what surrounds it.
func (b *binder) pos(path string) contract.Pos {
	for {
		if pos, ok := b.input.Pos[path]; ok {
			return pos
		}
		at := strings.LastIndexByte(path, '.')
		if at < 0 {
			return contract.Pos{}
		}
		path = path[:at]
	}
}

func (b *binder) unknown(given map[string]any, known []*contract.Param, prefix, noun string) {
	for name := range given { // sorted when the problems are
		if slices.ContainsFunc(known, func(p *contract.Param) bool { return p.Name == name }) {
			continue
		}
		names := make([]string, len(known))
		for i, p := range known {
			names[i] = p.Name
		}
		b.probs = append(b.probs, &contract.Problem{Pos: b.input.Pos[prefix+name],
			What: "unknown " + noun, Got: quote(prefix + name), Want: "one of " + strings.Join(names, ", "), Hint: listParameters})
	}
}

const listParameters = "matrix show --profile lists the parameters"

// param binds one parameter or field, applying its default; nil is absent (optional) or reported.
func (b *binder) param(p *contract.Param, given any, path string) *value {
	if given == nil {
		given = b.fallback(p)
	}
	if given != nil {
		return b.value(p.Type, given, path)
	}
	if !p.Optional {
		hint := "give it with --set " + path + "=… or in -f FILE; " + listParameters
		if strings.Contains(path, ".") || ofRecords(p.Type) {
			hint = "give it in -f FILE: a flag carries no records"
		}
		b.fail(path, "missing", "nothing", describe(p.Type), hint)
	}
	return nil
}

// ofRecords reports whether a type needs more shape than a flag has.
func ofRecords(t *contract.Type) bool {
	return t.Kind == contract.TypeRecord || t.Kind == contract.TypeList && ofRecords(t.Elem)
}

func (b *binder) fallback(p *contract.Param) any {
	switch {
	case p.Default == contract.DefaultUserKey && b.input.UserKey != "":
		return b.input.UserKey
	case p.Default == contract.DefaultUserKey:
		return PlaceholderKey
	case p.Default != nil:
		return p.Default
	case p.From != "":
		return b.input.Values[p.From]
	case p.Type.Kind == contract.TypeBool:
		return false
	}
	return nil
}

func (b *binder) value(t *contract.Type, given any, path string) *value {
	switch t.Kind {
	case contract.TypeList:
		return b.list(t, given, path)
	case contract.TypeRecord:
		return b.recordValue(t.Record, given, path)
	case contract.TypeBool:
		if v, ok := given.(bool); ok {
			return &value{text: strconv.FormatBool(v), boolean: true}
		}
		b.fail(path, "is not a boolean", show(given), "true or false", "")
		return nil
	}
	text, ok := given.(string)
	if !ok {
		b.fail(path, "has the wrong shape", show(given), describe(t), "")
		return nil
	}
	switch t.Kind {
	case contract.TypeEnum:
		if slices.Contains(t.Enum, text) {
			return textValue(text)
		}
		b.fail(path, "is not one of its values", quote(text), "one of "+strings.Join(t.Enum, ", "), "")
	case contract.TypeMember:
		return b.member(t, text, path)
	case contract.TypePattern:
		return b.subtree(t, text, path)
	default:
		if err := CheckGrammar(t.Grammar, text); err != nil {
			b.fail(path, "does not fit "+grammarName(t.Grammar), quote(text), err.Want, cmp.Or(err.Hint, t.Grammar.Hint))
			return nil
		}
		return &value{text: text, grammar: t.Grammar}
	}
	return nil
}

func (b *binder) list(t *contract.Type, given any, path string) *value {
	items, ok := given.([]any)
	if !ok {
		hint := ""
		if given == (contract.Null{}) {
			hint = "leave it out where there is nothing to say; [] is the empty list"
		}
		b.fail(path, "is not a list", show(given), "a list of "+describe(t.Elem), hint)
		return nil
	}
	v := &value{isList: true, list: make([]*value, 0, len(items))}
	seen := make(map[string]bool, len(items))
	for i, item := range items {
		at := path + "." + strconv.Itoa(i)
		e := b.value(t.Elem, item, at)
		if e == nil {
			continue
		}
		key := e.identity()
		if seen[key] {
			b.fail(at, "stands twice in the list", show(item), "each element once", "")
			continue
		}
		seen[key] = true
		e.path, e.pos = at, b.input.Pos[at]
		if b.unique(t.Unique, e, v.list) {
			v.list = append(v.list, e)
		}
	}
	return v
}

// unique reports whether an element differs from those before it in the field that tells them apart.
func (b *binder) unique(field string, e *value, before []*value) bool {
	if field == "" || e.fields[field] == nil {
		return true
	}
	text := e.fields[field].text
	for _, f := range before {
		if have := f.fields[field]; have != nil && have.text == text {
			what := "is given twice"
			if f.pos != (contract.Pos{}) {
				what += ", also at " + f.pos.String()
			}
			b.fail(e.path+"."+field, what, quote(text), "each "+field+" once in the list", "say of it in one element what there is to say, or leave one out")
			return false
		}
	}
	return true
}

func (b *binder) recordValue(r *contract.Record, given any, path string) *value {
	fields := r.Fields
	v := &value{record: r, fields: map[string]*value{}}
	if r.Cases != nil {
		branch, inner, ok := oneCase(given)
		if fields, ok = caseFields(r, branch, ok); !ok {
			b.fail(path, "is no case of "+r.Name, show(given), "one of "+strings.Join(caseNames(r), ", "), "")
			return nil
		}
		path += "." + branch
		v.branch, v.text, given = branch, branch, inner
	}
	m, ok := given.(map[string]any)
	if !ok {
		b.fail(path, "is not a record", show(given), "the fields of "+r.Name, "")
		return nil
	}
	before := len(b.probs)
	for _, f := range fields {
		if fv := b.param(f, m[f.Name], path+"."+f.Name); fv != nil {
			v.fields[f.Name] = fv
		}
	}
	if len(b.probs) == before { // what did not bind would be missed in what refers to it
		b.siblings(fields, v.fields, path+".")
	}
	b.unknown(m, fields, path+".", "field")
	return v
}

// oneCase reads a one-of value: a bare case name, or a map of exactly one case to its fields.
func oneCase(given any) (branch string, fields any, ok bool) {
	switch g := given.(type) {
	case string:
		return g, map[string]any{}, true
	case map[string]any:
		if len(g) != 1 {
			return "", nil, false
		}
		for k, f := range g {
			if f == nil {
				f = map[string]any{}
			}
			return k, f, true
		}
	}
	return "", nil, false
}

func caseFields(r *contract.Record, branch string, ok bool) ([]*contract.Param, bool) {
	if !ok {
		return nil, false
	}
	fields, known := r.Cases[branch]
	return fields, known
}

func caseNames(r *contract.Record) []string {
	names := make([]string, 0, len(r.Cases))
	for name := range r.Cases {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
