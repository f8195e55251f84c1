package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// conditions reads the conditions of a row.
func (r *rowReader) conditions() {
	r.row.When = conditions(r.m.Get("when"), r.envs)
	for i, e := range r.envs {
		r.envs[i] = e.given(promises(r.row.When))
	}
}

// promises reports whether some condition asks for a value, rather than for its absence.
func promises(conds []contract.Cond) bool {
	return slices.ContainsFunc(conds, func(c contract.Cond) bool { return c.Kind != contract.CondAbsent })
}

// conditions reads a map of paths to tests and checks them against the types of every scope.
func conditions(n source.Node, envs []*env) []contract.Cond {
	var out []contract.Cond
	for _, f := range optionalFields(n) {
		path := strings.Split(f.Name, ".")
		if slices.ContainsFunc(path, func(s string) bool { return !contract.IsName(s) }) {
			f.Key.Fail("condition", fmt.Sprintf("%q", f.Name), "a path such as c.endpoint", "")
			continue
		}
		report(f.Key, "", envs, func(e *env) []problem {
			if _, p := e.resolve(path); p.found() {
				return []problem{p}
			}
			return nil
		})
		if c, ok := condition(f.Value, path, envs); ok {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b contract.Cond) int { return cmp.Compare(strings.Join(a.Path, "."), strings.Join(b.Path, ".")) })
	return out
}

func condition(n source.Node, path []string, envs []*env) (contract.Cond, bool) {
	c := contract.Cond{Path: path, Kind: contract.CondEqual}
	switch {
	case n.IsBool():
		c.Values = []string{fmt.Sprint(n.Bool())}
		return c, compared(n, c, true, envs)
	case n.IsMap():
		return test(n, c, envs)
	}
	text := n.Text()
	switch text {
	case "":
		return c, false
	case "present":
		return contract.Cond{Path: path, Kind: contract.CondPresent}, true
	case "absent":
		return contract.Cond{Path: path, Kind: contract.CondAbsent}, true
	}
	c.Values = []string{text}
	return c, compared(n, c, false, envs)
}

// test reads {in: […]}, {has: v} or {any: {…}}.
func test(n source.Node, c contract.Cond, envs []*env) (contract.Cond, bool) {
	m := n.Map("in", "has", "any")
	if n.Len() != 1 {
		n.Fail("condition", fmt.Sprintf("%d tests", n.Len()), "one of in, has, any", "")
		return c, false
	}
	switch in, has, each := m.Get("in"), m.Get("has"), m.Get("any"); {
	case in.Given():
		c.Kind, c.Values = contract.CondIn, in.Strings()
		return c, len(c.Values) > 0 && compared(in, c, false, envs)
	case has.Given():
		c.Kind, c.Values = contract.CondHas, []string{has.Text()}
		return c, compared(has, c, false, envs)
	case each.Given():
		c.Kind = contract.CondAny
		inner, ok := elementEnvs(each, c.Path, envs)
		if ok {
			c.Sub = conditions(each, inner)
		}
		if each.IsMap() && each.Len() == 0 {
			return c, false
		}
		return c, ok
	}
	return c, false
}

// elementEnvs are scopes of nothing but the fields of a list's elements.
func elementEnvs(n source.Node, path []string, envs []*env) ([]*env, bool) {
	var out []*env
	ok := report(n, "", envs, func(e *env) []problem {
		b, p := e.resolve(path)
		if p.found() || b.broken() {
			return nil // reported at the path
		}
		if b.typ == nil || b.typ.Kind != contract.TypeList || b.typ.Elem.Kind != contract.TypeRecord {
			return []problem{{what: fmt.Sprintf("condition any: %s is not a list of records", strings.Join(path, "."))}}
		}
		inner := &env{l: e.l, holder: e.holder, names: map[string]binding{}}
		for _, f := range b.typ.Elem.Record.Fields {
			inner.names[f.Name] = paramBinding(f, f.Name)
		}
		out = append(out, inner)
		return nil
	})
	return out, ok
}

// compared checks the values of a condition against the type of its path.
func compared(n source.Node, c contract.Cond, boolean bool, envs []*env) bool {
	return report(n, "", envs, func(e *env) []problem {
		b, p := e.resolve(c.Path)
		if p.found() || b.broken() || b.typ == nil && c.Kind != contract.CondHas {
			return nil // reported at the path, or text, which equals what it equals
		}
		t, name := b.typ, strings.Join(c.Path, ".")
		switch {
		case c.Kind == contract.CondHas && (t == nil || t.Kind != contract.TypeList):
			return []problem{{what: fmt.Sprintf("condition has: %s is not a list", name)}}
		case c.Kind == contract.CondHas:
			t = t.Elem
		}
		for _, v := range c.Values {
			if want := mismatch(e.l, t, v, boolean); want != "" {
				got := fmt.Sprintf("%q", v)
				if boolean {
					got = v
				}
				return []problem{{what: "condition on " + name, got: got, want: want}}
			}
		}
		return nil
	})
}

// mismatch says what a value of the type would be; "" where v is one.
func mismatch(l *loader, t *contract.Type, v string, boolean bool) string {
	fits, want := true, "text"
	switch t.Kind {
	case contract.TypeBool:
		if !boolean {
			return "true or false"
		}
		return ""
	case contract.TypeEnum:
		fits, want = slices.Contains(t.Enum, v), "one of "+strings.Join(t.Enum, ", ")
	case contract.TypeScalar:
		if g := t.Grammar; g != nil && g.Token != nil && !g.Dotted {
			fits, want = g.Token.MatchString(v), g.Source
		}
	case contract.TypeMember:
		_, fits = l.c.Kinds[v]
		want = "a declared kind"
	case contract.TypeList:
		fits, want = false, "has or any, as it is a list"
	case contract.TypeRecord:
		_, fits = t.Record.Cases[v]
		want = "one of " + strings.Join(contract.SortedKeys(t.Record.Cases), ", ")
		if t.Record.Cases == nil {
			want = "a test of one of its fields, as it is a record"
		}
	}
	if fits && !boolean {
		return ""
	}
	return want
}
