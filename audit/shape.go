package audit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// shape is what the rows of a profile compile to for every holder that states the same parameters: the stated values are
// placeholders in it, so that it is compiled once for all of them.
type shape struct {
	origins   []origin
	unreached []string // rows that no sample makes an entry of, or makes another number of for another identity
	err       error
}

// maxShapes bounds what is kept: hostile tags can ask for any number of them.
const maxShapes = 64

// origins compiles a profile's rows twice, for two samples of everything that the credential does not state. Where the two
// differ, a hole stands; what they share is the holder's own, or literal text of a row. unreached lists the rows that the
// samples do not tell enough about: an entry may come from one of them.
func (a *auditor) origins(profile *contract.Profile, stated map[string]string, space string) (list []origin, unreached []string, err error) {
	open, fixed := a.openValues(profile, stated)
	for _, param := range profile.Params {
		if _, ok := open[param.Name]; ok && param.Type.Grammar != nil {
			if err := compile.CheckGrammar(param.Type.Grammar, stated[param.Name]); err != nil {
				return nil, nil, &contract.Problem{What: "parameter " + param.Name + " does not fit its grammar", Want: err.Want, Hint: err.Hint}
			}
		}
	}
	key := fmt.Sprintf("%q %q %q %q", profile.Name, space, slices.Sorted(maps.Keys(open)), fixed)
	s := a.shapes[key]
	if s == nil {
		if len(a.shapes) >= maxShapes {
			clear(a.shapes)
		}
		s = a.shape(profile, open, fixed, space)
		a.shapes[key] = s
	}
	if s.err != nil {
		return nil, nil, s.err
	}
	return s.filled(open), s.unreached, nil
}

// openValues splits the stated values: those that rows only write into one token of a subject can be filled in afterwards, in
// the form that they take there. The others, and those that a condition compares, decide which entries there are.
func (a *auditor) openValues(profile *contract.Profile, stated map[string]string) (open, fixed map[string]string) {
	open, fixed = map[string]string{}, map[string]string{}
	for _, param := range profile.Params {
		value, ok := stated[param.Name]
		if !ok || !isScalar(param.Type) {
			continue
		}
		token := asToken(param, value)
		if param.Type.Kind == contract.TypeScalar && isToken(token) && !a.compared(profile, param.Name) {
			open[param.Name] = token
		} else {
			fixed[param.Name] = value
		}
	}
	return open, fixed
}

// compared reports whether a condition compares the text of a parameter, or of a name that is derived from some.
func (a *auditor) compared(profile *contract.Profile, param string) bool {
	key := [2]string{profile.Name, param}
	known, ok := a.compares[key]
	if !ok {
		known = a.comparing(profile, param)
		a.compares[key] = known
	}
	return known
}

func (a *auditor) comparing(profile *contract.Profile, param string) bool {
	derived := func(name string) bool {
		_, symbol := a.cfg.Contract.Symbols[name]
		return symbol || slices.ContainsFunc(profile.Derive, func(d contract.Derive) bool { return d.Name == name })
	}
	for _, row := range a.cfg.Contract.Rows {
		for _, c := range row.When {
			presence := c.Kind == contract.CondPresent || c.Kind == contract.CondAbsent
			if !presence && (c.Path[0] == param || derived(c.Path[0])) {
				return true
			}
		}
	}
	return false
}

func placeholder(param string) string { return "{" + param + "}" }

// shape compiles the samples of a profile with placeholders for the open values.
func (a *auditor) shape(profile *contract.Profile, open, fixed map[string]string, space string) *shape {
	s := &shape{}
	held := *profile
	held.Params = make([]*contract.Param, len(profile.Params))
	values := maps.Clone(fixed)
	for i, param := range profile.Params {
		own := *param
		if _, ok := open[param.Name]; ok {
			own.Type = &contract.Type{Kind: contract.TypeScalar, Grammar: &contract.Grammar{Token: regexp.MustCompile(`^\{.*\}$`)}}
			values[param.Name] = placeholder(param.Name)
		}
		held.Params[i] = &own
	}
	first, second := compile.SamplesOf(a.cfg.Contract, profile, space, 0, values), compile.SamplesOf(a.cfg.Contract, profile, space, 1, values)
	seen, reached, unsure := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range first {
		for _, account := range compile.Accounts(a.cfg.Contract, a.topology, profile) {
			var grants [2][]compile.Grant
			for n, in := range []compile.Input{first[i].Input, second[i].Input} {
				if grants[n], s.err = a.grants(&held, in, values, account); s.err != nil {
					return s
				}
			}
			widest, err := a.grants(&held, widestOf(profile, first[i].Input), values, account)
			if err != nil {
				widest = nil // what all wildcards together give is not known
			}
			for _, o := range a.paired(profile, grants[0], grants[1], widest, unsure) {
				reached[o.row] = true
				if key := fmt.Sprintf("%s %t %q %q %s", o.dir, o.deny, o.tokens, o.queue, o.row); !seen[key] {
					seen[key] = true
					s.origins = append(s.origins, o)
				}
			}
		}
	}
	maps.DeleteFunc(reached, func(row string, _ bool) bool { return unsure[row] })
	s.unreached = a.unreached(profile, reached)
	return s
}

// grants resolves a sample in an account with the stated values put in, also over what the sample is about.
func (a *auditor) grants(profile *contract.Profile, in compile.Input, stated map[string]string, account string) ([]compile.Grant, error) {
	for name, value := range stated {
		in.Values[name] = value
	}
	scope, err := compile.NewScope(a.cfg.Contract, a.topology, profile, in)
	if err != nil {
		return nil, err
	}
	return compile.Resolve(scope, account)
}

// widestOf is a sample with a wildcard wherever a grammar admits one, and a name of two tokens where it admits several.
func widestOf(profile *contract.Profile, in compile.Input) compile.Input {
	out := compile.Input{Values: maps.Clone(in.Values)}
	widenFields(profile.Params, out.Values)
	return out
}

func widenFields(fields []*contract.Param, values map[string]any) {
	for _, f := range fields {
		if v, ok := values[f.Name]; ok {
			values[f.Name] = widenValue(f.Type, v)
		}
	}
}

func widenValue(t *contract.Type, v any) any {
	switch v := v.(type) {
	case string:
		switch {
		case t.Grammar == nil:
		case t.Grammar.Tail:
			return ">"
		case t.Grammar.Star != contract.StarNone:
			return "*"
		case t.Grammar.Dotted && len(t.Grammar.AsToken) == 0:
			return v + "." + v
		}
	case []any:
		var out []any
		for _, element := range v {
			w := widenValue(t.Elem, element)
			if text, is := w.(string); !is || !slices.Contains(out, any(text)) { // each stands once
				out = append(out, w)
			}
		}
		return out
	case map[string]any:
		out := maps.Clone(v)
		if t.Record.Cases == nil {
			widenFields(t.Record.Fields, out)
		}
		for name := range t.Record.Cases {
			if fields, ok := out[name].(map[string]any); ok {
				fields = maps.Clone(fields)
				widenFields(t.Record.Cases[name], fields)
				out[name] = fields
			}
		}
		return out
	}
	return v
}

// paired makes origins of the grants of two identities, row by row. Rows that give the two different numbers of grants are
// added to unsure: what they share is not known. widest is the first one as [widestOf] makes it.
func (a *auditor) paired(profile *contract.Profile, first, second, widest []compile.Grant, unsure map[string]bool) []origin {
	mine, others, wide := byRow(first), byRow(second), byRow(widest)
	for _, row := range slices.Concat(slices.Collect(maps.Keys(mine)), slices.Collect(maps.Keys(others))) {
		if len(mine[row]) != len(others[row]) {
			unsure[row] = true
		}
	}
	var out []origin
	for _, g := range first {
		o := origin{dir: g.Dir, deny: g.Deny, tokens: g.Entry.Pattern.Tokens(), queue: g.Entry.Queue, served: g.Entry.Queue != "", row: g.Row.ID}
		if !unsure[o.row] {
			unsure[o.row] = !o.differ(others[o.row][0])
			others[o.row] = others[o.row][1:]
		}
		o.settle(wide[o.row], a.wild(profile, o.row))
		out = append(out, o)
		if closing, open := subject.Closing(g.Entry); open && g.Dir == compile.Sub && !g.Deny {
			o.deny, o.tokens = true, append(slices.Clone(o.tokens[:len(o.tokens)-1]), closing.Pattern.Tokens()[len(o.tokens)-1:]...)
			out = append(out, o)
		}
	}
	for i := range out {
		for n, t := range out[i].tokens {
			if strings.Contains(t, "{") {
				out[i].open = append(out[i].open, n)
			}
		}
	}
	return out
}

func byRow(grants []compile.Grant) map[string][]*compile.Grant {
	out := map[string][]*compile.Grant{}
	for i := range grants {
		out[grants[i].Row.ID] = append(out[grants[i].Row.ID], &grants[i])
	}
	return out
}

// wild reports whether a row may write a wildcard of its holder's choice: a list that it goes through, or a parameter that is no list, is of a
// grammar that admits one. Elsewhere what is not stated is a literal, whatever it is.
func (a *auditor) wild(profile *contract.Profile, row string) bool {
	each := a.rows[row].Each
	return slices.ContainsFunc(profile.Params, func(p *contract.Param) bool {
		return admitsWildcard(p.Type) && (p.Type.Kind != contract.TypeList ||
			slices.ContainsFunc(each, func(e contract.Each) bool { return len(e.Path) > 0 && e.Path[0] == p.Name }))
	})
}

// admitsWildcard reports whether some text of a type has one.
func admitsWildcard(t *contract.Type) bool {
	of := func(p *contract.Param) bool { return admitsWildcard(p.Type) }
	switch {
	case t == nil:
		return false
	case t.Kind == contract.TypePattern, t.Grammar != nil && (t.Grammar.Tail || t.Grammar.Star != contract.StarNone), admitsWildcard(t.Elem):
		return true
	case t.Record == nil:
		return false
	}
	return slices.ContainsFunc(t.Record.Fields, of) ||
		slices.ContainsFunc(contract.Sorted(t.Record.Cases), func(fields []*contract.Param) bool { return slices.ContainsFunc(fields, of) })
}

// filled puts a holder's values in the place of the placeholders.
func (s *shape) filled(open map[string]string) []origin {
	pairs := make([]string, 0, 2*len(open))
	for _, name := range contract.SortedKeys(open) {
		pairs = append(pairs, placeholder(name), open[name])
	}
	values, out := strings.NewReplacer(pairs...), slices.Clone(s.origins)
	for i := range out {
		o := &out[i]
		if strings.Contains(o.queue, "{") {
			o.queue = values.Replace(o.queue)
		}
		if len(o.open) == 0 {
			continue
		}
		o.tokens = slices.Clone(o.tokens)
		for _, n := range o.open {
			t := o.tokens[n]
			if v, whole := open[strings.Trim(t, "{}")]; whole && t == placeholder(strings.Trim(t, "{}")) {
				o.tokens[n] = v
			} else {
				o.tokens[n] = values.Replace(t)
			}
		}
	}
	return out
}
