package matrix

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

const eachForm = `"path.to.list as name" or "[A, 'text {x}'] as name"`

// eaches reads the nested iterations of a row; each name is in scope of what follows.
func (r *rowReader) eaches() {
	n := r.m.Get("each")
	if !n.Given() {
		return
	}
	taken := map[string]bool{}
	for _, item := range n.Items() {
		text := item.Text()
		if text == "" {
			continue
		}
		over, as, err := splitEach(text)
		switch _, symbol := r.l.c.Symbols[as]; {
		case err != "":
			item.Fail(err, fmt.Sprintf("%q", text), eachForm, "")
			continue
		case taken[as] || symbol || as == spaceName:
			item.Fail(fmt.Sprintf("name %q is already taken", as), "", "another name", "")
			continue
		}
		taken[as] = true
		if e, ok := r.each(item, over, as); ok {
			r.row.Each = append(r.row.Each, e)
			continue
		}
		for i, env := range r.envs {
			r.envs[i] = env.with(as, binding{}) // reported here, not where the name is used
		}
	}
}

func splitEach(text string) (over, as, wrong string) {
	i := strings.LastIndex(text, " as ")
	if i < 0 {
		return "", "", "each item has no name"
	}
	over, as = strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+len(" as "):])
	if !contract.IsName(as) {
		return "", "", fmt.Sprintf("name %q is not valid", as)
	}
	return over, as, ""
}

func (r *rowReader) each(n source.Node, over, as string) (contract.Each, bool) {
	e := contract.Each{As: as}
	if strings.HasPrefix(over, "[") {
		return e, r.literals(n, over, &e)
	}
	e.Path = strings.Split(over, ".")
	if slices.ContainsFunc(e.Path, func(s string) bool { return !contract.IsName(s) }) {
		n.Fail("each item", fmt.Sprintf("%q", over), eachForm, "")
		return e, false
	}
	report(n, "", r.envs, func(env *env) []problem {
		if _, p := env.element(e.Path); p.found() {
			return []problem{p}
		}
		return nil
	})
	for i, env := range r.envs {
		b, _ := env.element(e.Path)
		r.envs[i] = env.with(as, b)
	}
	return e, true
}

// element is the binding of an element of the list at path.
func (e *env) element(path []string) (binding, problem) {
	b, p := e.resolve(path)
	switch {
	case p.found():
		return binding{}, p
	case b.broken():
		return b, none
	case b.typ == nil || b.typ.Kind != contract.TypeList:
		return binding{}, problem{what: fmt.Sprintf("each: %s is not a list", strings.Join(path, "."))}
	}
	return binding{typ: b.typ.Elem}, none
}

var literal = regexp.MustCompile(`^\s*(?:'([^']*)'|"([^"]*)"|([^\s,'"\[\]{}]+))\s*(,|$)`)

// literals reads "[A, B, 'text {x}']": a bare word that is a resource's id is that resource, other bare words are text, quoted
// text is a template.
func (r *rowReader) literals(n source.Node, over string, e *contract.Each) bool {
	rest, ok := strings.CutSuffix(over[1:], "]")
	if !ok || strings.TrimSpace(rest) == "" {
		n.Fail("each item", fmt.Sprintf("%q", over), eachForm, "")
		return false
	}
	var resources []string
	var texts []contract.Template
	for rest != "" {
		m := literal.FindStringSubmatch(rest)
		if m == nil {
			n.Fail("each item", fmt.Sprintf("%q", over), eachForm, "")
			return false
		}
		rest = rest[len(m[0]):]
		if m[4] == "," && strings.TrimSpace(rest) == "" {
			n.Fail("each item ends in a comma", fmt.Sprintf("%q", over), eachForm, "")
			return false
		}
		if _, resource := r.l.c.Resources[m[3]]; resource {
			e.Literals = append(e.Literals, contract.Literal{Resource: m[3]})
			resources = append(resources, m[3])
			continue
		}
		t, ok := r.literalText(n, m[1]+m[2]+m[3])
		if !ok {
			return false
		}
		e.Literals = append(e.Literals, contract.Literal{Text: t})
		texts = append(texts, t)
	}
	for i, env := range r.envs {
		b := binding{resources: resources}
		for _, t := range texts {
			b.text = append(b.text, env.samples(t)...)
		}
		r.envs[i] = env.with(e.As, b)
	}
	return true
}

func (r *rowReader) literalText(n source.Node, text string) (contract.Template, bool) {
	if text == "" {
		n.Fail("each item holds an empty text", "", "text", "")
		return contract.Template{}, false
	}
	t, err := contract.ParseTemplate(text)
	if err != nil {
		n.Fail(err.Error(), "", "", "")
		return t, false
	}
	return t, r.l.checkText(n, t, r.envs...)
}
