package rego

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// builtin is one function on the subject algebra. Where run returns a nil term the call is undefined.
type builtin struct {
	name string
	args []types.Type
	out  types.Type
	doc  string
	run  func(args []*ast.Term) (*ast.Term, error)
}

// builtins is the closed list, by name. An argument that is no subject is an error, never undefined: it would make a rule pass.
func builtins() []builtin {
	s, b := types.S, types.B
	two, one := []types.Type{s, s}, []types.Type{s}
	list := types.NewArray(nil, s)
	some := types.NewAny(list, types.NewSet(s))
	return []builtin{
		{"subject.covers", two, b, "every subject of b is one of a", onTwo(func(a, b subject.Pattern) *ast.Term {
			return ast.BooleanTerm(subject.Covers(a, b))
		})},
		{"subject.intersect", two, s, "the pattern of the subjects of both; undefined where there are none", onTwo(func(a, b subject.Pattern) *ast.Term {
			p, ok := subject.Intersect(a, b)
			return textOr(string(p), ok)
		})},
		{"subject.matches", two, b, "the text b, wildcards taken as ordinary tokens, matches the pattern a", onTwo(func(a, b subject.Pattern) *ast.Term {
			return ast.BooleanTerm(a.Matches(string(b)))
		})},
		{"subject.overlaps", two, b, "some subject is one of both", onTwo(func(a, b subject.Pattern) *ast.Term {
			return ast.BooleanTerm(subject.Overlaps(a, b))
		})},
		{"subject.pairs", []types.Type{list, list}, types.NewArray(nil, types.NewArray(nil, types.N)),
			"the pairs [i, k] of which a[i] overlaps b[k]: one call for what a loop over both would ask", pairs},
		{"subject.plain", one, b, "no wildcard stands inside a longer token, and no space or control character", plain},
		{"subject.widen", one, s, "what a subscribe allow really admits: a final * also takes >", func(args []*ast.Term) (*ast.Term, error) {
			p, err := patternOf(args[0])
			return ast.StringTerm(string(subject.Widen(p))), err
		}},
		{"subject.witness", []types.Type{s, some}, s, "a subject of the pattern outside the others; undefined where there is none", witness},
	}
}

func onTwo(f func(a, b subject.Pattern) *ast.Term) func([]*ast.Term) (*ast.Term, error) {
	return func(args []*ast.Term) (*ast.Term, error) {
		a, err := patternOf(args[0])
		if err != nil {
			return nil, err
		}
		b, err := patternOf(args[1])
		if err != nil {
			return nil, err
		}
		return f(a, b), nil
	}
}

func plain(args []*ast.Term) (*ast.Term, error) {
	p, err := patternOf(args[0])
	if err != nil {
		return nil, err
	}
	_, err = subject.ParseStrict(string(p))
	return ast.BooleanTerm(err == nil), nil
}

func witness(args []*ast.Term) (*ast.Term, error) {
	p, err := patternOf(args[0])
	if err != nil {
		return nil, err
	}
	set, err := patternsOf(args[1])
	if err != nil {
		return nil, err
	}
	return textOr(subject.WitnessOutside(p, set)), nil
}

func pairs(args []*ast.Term) (*ast.Term, error) {
	a, err := patternsOf(args[0])
	if err != nil {
		return nil, err
	}
	b, err := patternsOf(args[1])
	if err != nil {
		return nil, err
	}
	var out []*ast.Term
	for i, p := range a {
		for k, q := range b {
			if subject.Overlaps(p, q) {
				out = append(out, ast.ArrayTerm(ast.InternedTerm(i), ast.InternedTerm(k)))
			}
		}
	}
	return ast.ArrayTerm(out...), nil
}

// patternsOf reads an array or a set of subjects, the latter in its order.
func patternsOf(t *ast.Term) ([]subject.Pattern, error) {
	var out []subject.Pattern
	var bad error
	add := func(t *ast.Term) {
		p, err := patternOf(t)
		if err != nil && bad == nil {
			bad = err
		}
		out = append(out, p)
	}
	switch list := t.Value.(type) {
	case *ast.Array:
		list.Foreach(add)
	case ast.Set:
		list.Foreach(add)
	default:
		return nil, fmt.Errorf("got %s, want an array or a set of subjects", ast.ValueName(list))
	}
	return out, bad
}

func textOr(text string, ok bool) *ast.Term {
	if !ok {
		return nil
	}
	return ast.StringTerm(text)
}

func patternOf(t *ast.Term) (subject.Pattern, error) {
	s, ok := t.Value.(ast.String)
	if !ok {
		return "", fmt.Errorf("got %s, want a subject", ast.ValueName(t.Value))
	}
	return subject.Parse(string(s))
}

func (b builtin) function() *oparego.Function {
	return &oparego.Function{Name: b.name, Description: b.doc, Decl: types.NewFunction(b.args, b.out)}
}

func (b builtin) decl() *ast.Builtin {
	return &ast.Builtin{Name: b.name, Description: b.doc, Decl: types.NewFunction(b.args, b.out)}
}

// option registers the builtin with one query: nothing global is touched.
func (b builtin) option() func(*oparego.Rego) {
	return oparego.FunctionDyn(b.function(), func(_ oparego.BuiltinContext, args []*ast.Term) (*ast.Term, error) { return b.run(args) })
}
