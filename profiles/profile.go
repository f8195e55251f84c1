package profiles

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// Decl is a declared profile with the nodes of what can only be checked once the whole contract is read.
type Decl struct {
	*contract.Profile
	Account source.Node
	Derives []source.Node // of Profile.Derive, by index
}

// Parse reads one profile file: a map of profile names to declarations. A broken declaration is reported and still returned, so
// that rows which name it are not reported too.
func Parse(root source.Node, scope *Scope) []Decl {
	var out []Decl
	for _, f := range root.Fields() {
		if !contract.IsName(f.Name) {
			f.Key.Fail(fmt.Sprintf("profile name %q is not valid", f.Name), "", "a letter, then letters, digits, '-' or '_'", "")
			continue
		}
		out = append(out, profile(f, scope))
	}
	return out
}

func profile(f source.Field, scope *Scope) Decl {
	m := f.Value.Map("account", "trust", "lifetime", "gate", "subs", "params", "derive", "tags", "family", "cite")
	p := &contract.Profile{Name: f.Name, Pos: f.Key.Pos()}
	d := Decl{Profile: p, Account: m.Need("account")}
	p.Home = d.Account.Text()
	p.Trust = m.Need("trust").OneOf(contract.TrustUntrusted, contract.TrustSinglePurpose, contract.TrustProvisioning, contract.TrustSystem, contract.TrustSealed)
	p.Lifetime = lifetime(m.Need("lifetime"))
	p.Gate = int(m.Get("gate").Int(1, math.MaxInt32))
	p.Subs = m.Get("subs").Int(1, math.MaxInt32)
	p.Cite = Cite(m.Get("cite"))
	p.Family = family(m.Get("family"))
	names := map[string]bool{"space": true}
	if p.Family != nil {
		names[p.Family.Param] = true
	}
	for _, e := range m.Get("params").Fields() {
		if claim(names, e) {
			p.Params = append(p.Params, scope.Param(e.Name, e.Value))
		}
	}
	Siblings(m.Get("params"), p.Params)
	for _, e := range m.Get("derive").Fields() {
		if t, ok := Template(e.Value); claim(names, e) && ok {
			p.Derive, d.Derives = append(p.Derive, contract.Derive{Name: e.Name, Text: t}), append(d.Derives, e.Value)
		}
	}
	also(m.Get("params"), p.Params, names)
	p.Tags = tags(m.Get("tags"), names)
	return d
}

// also checks the second keys of parameters: each is a name of its own, so that a file says one thing once.
func also(params source.Node, list []*contract.Param, names map[string]bool) {
	taken := maps.Clone(names)
	for _, p := range list {
		switch {
		case p.Also == "":
			continue
		case !contract.IsName(p.Also):
			params.Fail(fmt.Sprintf("parameter %s: also names no key", p.Name), fmt.Sprintf("%q", p.Also), "a letter, then letters, digits, '-' or '_'", "")
		case taken[p.Also]:
			params.Fail(fmt.Sprintf("parameter %s: also is already taken in this profile", p.Name), fmt.Sprintf("%q", p.Also), "another name", "")
		}
		taken[p.Also] = true
	}
}

// Siblings checks what parameters, or fields of a record, say of those beside them: a scalar takes another's value, a list another
// list's of scalars, where it is not given; a list lies within one, or within a scalar field of a list of records
// ("commands.name"); a list of records is unique in a scalar field of theirs.
func Siblings(n source.Node, params []*contract.Param) {
	for _, p := range params {
		switch {
		case p.From == "":
		case p.Type.Kind != contract.TypeList:
			if !slices.ContainsFunc(params, func(q *contract.Param) bool {
				return q.Name == p.From && q != p && q.From == "" && q.Type.Kind == contract.TypeScalar
			}) {
				n.Fail(fmt.Sprintf("%s refers to %q", p.Name, p.From), "", "another scalar beside it, which has no from itself", "")
			}
		case p.From == p.Name || !coveredBy(params, p.From, false):
			n.Fail(fmt.Sprintf("%s refers to %q", p.Name, p.From), "", "another list of scalars beside it", "")
		}
		if field := p.Type.Unique; field != "" && !hasScalar(p.Type.Elem, field) {
			n.Fail(fmt.Sprintf("%s is unique in %q", p.Name, field), "", "a required scalar field of the records that it lists", "")
		}
		if p.Within != "" && (p.Within == p.Name || !coveredBy(params, p.Within, true)) {
			n.Fail(fmt.Sprintf("%s refers to %q", p.Name, p.Within), "", `another list of scalars beside it, or "LIST.FIELD" of a list of records`, "")
		}
	}
}

// coveredBy reports whether a path names a list of scalars, or with fields a scalar field of a list of records.
func coveredBy(params []*contract.Param, path string, fields bool) bool {
	name, field, dotted := strings.Cut(path, ".")
	at := slices.IndexFunc(params, func(p *contract.Param) bool { return p.Name == name && p.Type.Kind == contract.TypeList })
	if at < 0 || dotted && !fields {
		return false
	}
	elem := params[at].Type.Elem
	if !dotted {
		return elem.Kind == contract.TypeScalar
	}
	return hasField(elem, field, func(f *contract.Param) bool { return f.Type.Kind == contract.TypeScalar })
}

// hasScalar reports whether a record always has a field of text.
func hasScalar(t *contract.Type, field string) bool {
	return hasField(t, field, func(f *contract.Param) bool { return f.Type.Kind == contract.TypeScalar && !f.Optional })
}

func hasField(t *contract.Type, name string, is func(*contract.Param) bool) bool {
	return t.Kind == contract.TypeRecord && slices.ContainsFunc(t.Record.Fields, func(f *contract.Param) bool { return f.Name == name && is(f) })
}

// claim takes a name in the profile's own scope; a second parameter or derived name of the same name would shadow the first.
func claim(names map[string]bool, e source.Field) bool {
	switch {
	case !contract.IsName(e.Name):
		e.Key.Fail(fmt.Sprintf("name %q is not valid", e.Name), "", "a letter, then letters, digits, '-' or '_'", "")
		return false
	case names[e.Name]:
		e.Key.Fail(fmt.Sprintf("name %q is already taken in this profile", e.Name), "", "another name", "")
		return false
	}
	names[e.Name] = true
	return true
}

func tags(n source.Node, names map[string]bool) []string {
	if !n.Given() {
		return nil
	}
	out := n.Strings()
	for _, item := range n.Elements() {
		if name := item.Text(); name != "" && !names[name] {
			item.Fail(fmt.Sprintf("tag %q is not declared", name), "", "a parameter or derived name of the profile", source.Suggest(name, contract.SortedKeys(names)))
		}
	}
	return out
}

func lifetime(n source.Node) contract.Lifetime {
	m := n.Map("class", "default", "max")
	l := contract.Lifetime{Class: m.Need("class").OneOf(contract.LifetimeOneShot, contract.LifetimeStanding, contract.LifetimeNone)}
	def, most := m.Get("default"), m.Get("max")
	l.Default, l.Max = def.Duration(), most.Duration()
	switch {
	case l.Class == contract.LifetimeNone && (def.Given() || most.Given()):
		n.Fail("lifetime none with a duration", "", "neither default nor max", "")
	case l.Class != "" && l.Class != contract.LifetimeNone && !def.Given():
		n.Fail(`missing key "default"`, "", "a duration, as the class is "+l.Class, "")
	case l.Class != contract.LifetimeNone && def.IsText() && l.Default == 0:
		def.Fail("default lifetime", "zero", "more than zero", "")
	case most.Given() && l.Max < l.Default:
		most.Fail("max lifetime is below the default", most.Text(), "at least "+def.Text(), "")
	}
	return l
}

func family(n source.Node) *contract.Family {
	if !n.Given() {
		return nil
	}
	fields := n.Fields()
	if len(fields) > 1 {
		n.Fail("family", fmt.Sprintf("%d parameters", len(fields)), "exactly one", "")
	}
	if len(fields) == 0 {
		return nil
	}
	m := fields[0].Value.Map("of", "where")
	f := &contract.Family{Param: fields[0].Name, Of: m.Need("of").OneOf("kinds")}
	if w := where(m.Get("where")); w != nil {
		f.Where = w.Where
	}
	return f
}

// Template reads a template; false where it was not given or is not valid.
func Template(n source.Node) (contract.Template, bool) {
	text := n.Text()
	if text == "" {
		return contract.Template{}, false
	}
	t, err := contract.ParseTemplate(text)
	if err != nil {
		n.Fail(err.Error(), "", "", "")
		return contract.Template{}, false
	}
	return t, true
}

var clause = regexp.MustCompile(`§ ?[0-9A-Z]|App(endix|\.) [0-9A-Z]|[A-Za-z] ?[0-9]+`)

// Cite reads a citation: one line that names a clause, such as "§9 item 4", "App. B Agent pub.allow" or "D15".
func Cite(n source.Node) string {
	text := n.Text()
	bad := len(text) > 300 || strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' })
	if text != "" && (bad || !clause.MatchString(text)) {
		n.Fail("cite names no clause", fmt.Sprintf("%q", text), `one line such as "§9 item 4", "App. B" or "D15"`, "")
	}
	return text
}

// Kinds returns the record kinds that a filter selects, by name; a nil filter selects all.
func Kinds(all map[string]*contract.Kind, where map[string]bool) []*contract.Kind {
	return slices.DeleteFunc(contract.Sorted(all), func(k *contract.Kind) bool { return !k.Has(where) })
}
