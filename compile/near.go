package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// mostNear is how many causes a hint names.
const mostNear = 3

// near is what keeps a row, or a durable of a lifecycle, from taking a record.
type near struct {
	ids   []string
	met   int // conditions that hold
	lacks []lack
}

type lack struct {
	at   string // relative to the record; "": the record itself
	kind contract.CondKind
	want []string
}

// nearest says of the rows that come closest to taking a record what they lack; "" where none iterates it.
func (s *Scope) nearest(v *value) string {
	var all []near
	try := func(id string, each []contract.Each, when []contract.Cond) {
		f := finder{of: v, when: when}
		if f.each(s, each, false); f.found {
			f.best.ids = []string{id}
			all = append(all, f.best)
		}
	}
	for _, row := range s.c.Rows {
		if appliesTo(row, s.profile.Name, s.topology.Name) && row.Op.Kind != contract.OpShare && !row.Deny {
			try(row.ID, row.Each, row.When)
		}
	}
	for _, l := range contract.SortedKeys(s.c.Lifecycles) {
		for _, d := range s.c.Lifecycles[l].Durables {
			if s.c.Lifecycles[l].Profile == s.profile.Name {
				try("durable "+d.Consumer, d.Each, d.When)
			}
		}
	}
	texts := []string{}
	for _, n := range closest(all) {
		texts = append(texts, n.String())
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// closest are those that lack least, and of them those of which most holds already; a row of which nothing holds is near only
// where that is so of all. Rows that ask for different values of one field are one cause.
func closest(all []near) []near {
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.cost(), b.cost()), cmp.Compare(b.met, a.met))
	})
	var out []near
	for _, n := range all {
		if n.cost() > all[0].cost() || n.met == 0 && all[0].met > 0 {
			continue
		}
		i := slices.IndexFunc(out, func(o near) bool {
			return len(n.lacks) == 1 && len(o.lacks) == 1 && o.lacks[0].at == n.lacks[0].at && o.lacks[0].kind == n.lacks[0].kind
		})
		switch {
		case i >= 0:
			out[i].ids = append(out[i].ids, n.ids...)
			out[i].lacks[0].want = append(out[i].lacks[0].want, n.lacks[0].want...)
		case len(out) < mostNear:
			out = append(out, n)
		}
	}
	return out
}

// cost counts what lacks; that the record would have to be another weighs more than anything that it could be given.
func (n near) cost() int {
	sum := len(n.lacks)
	for _, l := range n.lacks {
		if l.at == "" {
			sum++
		}
	}
	return sum
}

func (n near) String() string {
	ids, verb := slices.Compact(slices.Sorted(slices.Values(n.ids))), " needs "
	if len(ids) > 1 {
		verb = " need "
	}
	words := make([]string, len(n.lacks))
	for i, l := range n.lacks {
		words[i] = l.String()
	}
	return strings.Join(ids, ", ") + verb + strings.Join(words, " and ")
}

func (l lack) String() string {
	want := strings.Join(slices.Compact(slices.Sorted(slices.Values(l.want))), " or ")
	switch at := cmp.Or(l.at, "it"); l.kind {
	case contract.CondPresent:
		return at
	case contract.CondAbsent:
		return "no " + at
	case contract.CondHas, contract.CondAny:
		return at + " to hold " + want
	default:
		return at + " to be " + want
	}
}

// finder looks for the binding of a record that lacks the fewest conditions.
type finder struct {
	of    *value
	when  []contract.Cond
	found bool
	best  near
}

// each walks the bindings as a resolver does, but only those in which the record stands.
func (f *finder) each(s *Scope, rest []contract.Each, bound bool) {
	if len(rest) == 0 {
		if bound {
			f.judge(s, nil)
		}
		return
	}
	elements, err := s.elements(rest[0])
	if err != nil {
		return
	}
	if i := slices.Index(elements, f.of); i >= 0 {
		elements, bound = elements[i:i+1], true
	}
	if bound && len(elements) == 0 {
		f.judge(s, &rest[0])
		return
	}
	for _, e := range elements {
		f.each(s.with(rest[0].As, e), rest[1:], bound)
	}
}

// judge counts what holds and what lacks; empty is an inner list without elements, whose names no condition can be held to.
func (f *finder) judge(s *Scope, empty *contract.Each) {
	var n near
	if empty != nil {
		n.lacks = append(n.lacks, lack{at: f.place(s, empty.Path), kind: contract.CondPresent})
	}
	for i := range f.when {
		c := &f.when[i]
		v, err := s.path(c.Path)
		if err != nil {
			continue
		}
		if ok, err := meets(c, v); err == nil && ok {
			n.met++
			continue
		}
		want := c.Values
		if c.Kind == contract.CondAny {
			want = []string{asked(c)}
		}
		n.lacks = append(n.lacks, lack{f.place(s, c.Path), c.Kind, slices.Clone(want)})
	}
	if !f.found || n.cost() < f.best.cost() || n.cost() == f.best.cost() && n.met > f.best.met {
		f.found, f.best = true, n
	}
}

// place is a path as a file writes it, from the record on.
func (f *finder) place(s *Scope, path []string) string {
	for i := len(s.frames) - 1; i >= 0; i-- {
		if s.frames[i].name == path[0] && s.frames[i].v.path != "" {
			from := strings.TrimPrefix(strings.TrimPrefix(s.frames[i].v.path, f.of.path), ".")
			return strings.TrimPrefix(from+"."+strings.Join(path[1:], "."), ".")
		}
	}
	return strings.Join(path, ".")
}
