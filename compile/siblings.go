package compile

import (
	"fmt"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// siblings holds parameters, or the fields of a record, to what their types say of each other.
func (b *binder) siblings(params []*contract.Param, bound map[string]*value, prefix string) {
	for _, p := range params {
		b.within(p, bound, prefix)
		b.needs(p, bound, prefix)
	}
}

// within holds the elements of a list against those of the list that must cover them, such as the channels joined at boot against
// the read ACL, or all that is registered against what a capability lists.
func (b *binder) within(p *contract.Param, bound map[string]*value, prefix string) {
	list := bound[p.Name]
	if p.Within == "" || list == nil {
		return
	}
	name, field, _ := strings.Cut(p.Within, ".")
	limit := limits(bound[name], field)
	patterns := make([]subject.Pattern, len(limit))
	for i, text := range limit {
		patterns[i] = subject.Pattern(text)
	}
	for i, v := range list.list {
		w, outside := subject.WitnessOutside(subject.Pattern(v.text), patterns)
		if !outside {
			continue
		}
		at := fmt.Sprintf("%s%s.%d", prefix, p.Name, i)
		if w == v.text && field != "" {
			b.fail(at, "is missing from "+p.Within, quote(v.text), "one of "+strings.Join(limit, ", "), "add it there")
			continue
		}
		b.fail(at, "reaches beyond "+p.Within, quote(v.text)+", which reaches "+quote(w), "what "+p.Within+" covers", "")
	}
}

// limits are the texts of a list, or of one field of its records.
func limits(v *value, field string) []string {
	if v == nil {
		return nil
	}
	var out []string
	for _, e := range v.list {
		if field != "" {
			e = e.fields[field]
		}
		if e != nil {
			out = append(out, e.text)
		}
	}
	return out
}

// needs holds the siblings of a boolean that is true to its conditions.
func (b *binder) needs(p *contract.Param, bound map[string]*value, prefix string) {
	if v := bound[p.Name]; v == nil || v.text != "true" {
		return
	}
	for i := range p.Needs {
		c := &p.Needs[i]
		v := bound[c.Path[0]]
		for _, field := range c.Path[1:] {
			if v != nil {
				v = v.fields[field]
			}
		}
		if ok, err := meets(c, v); err != nil || !ok {
			b.fail(prefix+p.Name, "is true, but "+strings.Join(c.Path, ".")+" "+unmet(c.Kind), held(v), asked(c), p.Hint)
		}
	}
}

// unmet says how a condition failed, asked what would meet it.
func unmet(kind contract.CondKind) string {
	switch kind {
	case contract.CondPresent:
		return "is absent"
	case contract.CondAbsent:
		return "is given"
	case contract.CondHas:
		return "lacks an element"
	case contract.CondAny:
		return "has no element as it is needed"
	}
	return "is something else"
}

func asked(c *contract.Cond) string {
	switch c.Kind {
	case contract.CondPresent:
		return "a value"
	case contract.CondAbsent:
		return "none"
	case contract.CondHas:
		return quote(c.Values[0]) + " among them"
	case contract.CondAny:
		parts := make([]string, len(c.Sub))
		for i := range c.Sub {
			parts[i] = strings.Join(c.Sub[i].Path, ".") + ": " + asked(&c.Sub[i])
		}
		return "one with " + strings.Join(parts, ", ")
	}
	return strings.Join(c.Values, " or ")
}

func held(v *value) string {
	switch {
	case !v.present():
		return "nothing"
	case v.isList && v.list[0].fields == nil:
		return quote(strings.Join(limits(v, ""), ", "))
	case v.isList:
		return fmt.Sprintf("%d elements", len(v.list))
	case v.fields != nil:
		return "a record"
	}
	return quote(v.text)
}
