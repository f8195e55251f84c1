package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// before is what a base holds before its overlay is read.
type before struct {
	names      map[string]bool // all names that its templates can bind, and the bare words of its rows
	derivable  map[string]bool // placeholders of its kinds' keys
	consumers  []string
	lifecycles []string
	rows       []*contract.Row
}

// extend reads an overlay: it adds to the contract that was read before, whose declarations stay as they are. What its rows may
// give is for the compiler to judge, which knows the subjects; here is refused what would change the meaning of the base's own
// templates, and what no overlay has a use for.
func (l *loader) extend(b *bundle) {
	root := b.contract.Map("contract", "extends", "subjects", "topologies", "grammars", "records", "variants", "kinds", "residuals",
		"settings", "lifecycles", "waivers")
	was := l.before()
	l.overlay, l.r, l.taken = true, b.r, was.names
	l.c.Base = &contract.Base{Name: l.c.Name, Symbols: contract.SortedKeys(l.c.Symbols)}
	l.c.Name = matching(root.Need("contract"), contractName, `a name such as "acme-v1"`)
	if slices.Contains(EmbeddedNames(), l.c.Name) {
		root.Get("contract").Fail(fmt.Sprintf("contract %q ships with the tool", l.c.Name), "", "a name of the overlay's own", "")
	}
	l.overlayNames(root, b.resources, was)
	if n := root.Get("grammars"); n.Given() {
		l.grammars(n)
	}
	l.symbols(root.Get("subjects"))
	l.kinds(root.Get("kinds"))
	l.residuals(root.Get("residuals"))
	l.choices(root.Get("settings"))
	l.resources(b.resources)
	l.records(root.Get("records"), root.Get("variants"))
	l.profiles(b.profiles)
	l.rows(b.rows)
	l.lifecycles(root.Get("lifecycles"))
	l.invariants(b.invariants)
	l.c.Waivers = append(l.c.Waivers, l.waivers(root.Get("waivers"), true)...)
	l.overlayPlaces(root.Get("topologies"))
	if b.fixtures.Given() {
		b.fixtures.Fail("an overlay has no fixtures", "", "", "they are fixed with the contract that it extends")
	}
	l.later(l.gates)
	l.later(l.kindsApart)
	l.later(func() {
		l.overlayProfiles(was)
		l.overlayResources(was)
		l.overlayLifecycles(was)
		l.overlayRows()
		l.overlayAccounts()
	})
}

// fail reports what is wrong with something that is already read.
func (l *loader) fail(pos contract.Pos, row, what, got, want, hint string) {
	l.r.Add(source.Error{Pos: pos, Row: row, What: what, Got: got, Want: want, Hint: hint})
}

func (l *loader) before() before {
	was := before{names: l.names(), derivable: map[string]bool{}, consumers: contract.SortedKeys(l.c.Consumers),
		lifecycles: contract.SortedKeys(l.c.Lifecycles), rows: slices.Clone(l.c.Rows)}
	for name := range l.c.Resources {
		was.names[name] = true
	}
	for name := range l.c.Symbols {
		was.names[name] = true
	}
	for name := range l.bound {
		was.names[name] = true
	}
	for _, p := range l.c.Profiles {
		if p.Family != nil {
			was.names[p.Family.Param] = true
		}
	}
	for _, row := range l.c.Rows {
		for _, e := range row.Each {
			was.names[e.As] = true
			for _, lit := range e.Literals {
				was.names[lit.Text.Source] = true
			}
		}
	}
	for _, k := range l.c.Kinds {
		for _, path := range k.Key.Paths() {
			was.derivable[path[0]] = true
		}
	}
	return was
}

// overlayNames refuses the symbols and resources that a template of the base would take for something else: an optional
// parameter that is not given, a word of an each list, a resource.
func (l *loader) overlayNames(root source.Map, resources source.Node, was before) {
	taken := func(f source.Field, noun string, same bool) {
		if was.names[f.Name] && !same { // the same twice is reported as such
			f.Key.Fail(fmt.Sprintf("%s %q has a name that templates of %s use", noun, f.Name, l.c.Base.Name), "", "another name", "")
		}
	}
	for _, f := range root.Get("subjects").Entries() {
		_, same := l.c.Symbols[f.Name]
		taken(f, "symbol", same)
	}
	for _, f := range root.Get("grammars").Entries() {
		if r := l.c.Records[f.Name]; r != nil {
			f.Key.Fail(fmt.Sprintf("grammar %q has the name of a record (%s)", f.Name, r.Pos), "", "another name", "")
		}
	}
	for _, key := range []string{"streams", "buckets"} {
		for _, f := range entriesOf(resources, key) {
			_, same := l.c.Resources[f.Name]
			taken(f, "resource", same)
		}
	}
}

// entriesOf are the entries below a key of a map that is read elsewhere.
func entriesOf(n source.Node, key string) []source.Field {
	if !n.IsMap() {
		return nil
	}
	for _, f := range n.Entries() {
		if f.Name == key && f.Value.IsMap() {
			return f.Value.Entries()
		}
	}
	return nil
}

// overlayProfiles checks that an overlay's profiles leave the base's templates their meaning, and can hold the rows of everybody.
func (l *loader) overlayProfiles(was before) {
	for _, p := range contract.Sorted(l.c.Profiles) {
		if !p.Overlay {
			continue
		}
		for _, q := range p.Params {
			_, symbol := l.symbolAt[q.Name]
			if r := l.c.Resources[q.Name]; symbol || r != nil {
				l.fail(q.Pos, "", fmt.Sprintf("parameter %q has the name of a symbol or resource", q.Name), "", "another name", "")
			}
		}
		for _, d := range p.Derive {
			_, symbol := l.symbolAt[d.Name]
			if symbol || l.c.Resources[d.Name] != nil || was.derivable[d.Name] {
				l.fail(p.Pos, "", fmt.Sprintf("profile %q derives %q, a name that templates of %s use", p.Name, d.Name, l.c.Base.Name), "", "another name", "")
			}
		}
		for _, row := range was.rows {
			if !slices.Contains(row.Profiles, "*") || !row.Holds(p.Name) || l.envs[p.Name] == nil {
				continue
			}
			for _, problem := range l.envs[p.Name].text(row.Op.Subject) {
				l.fail(p.Pos, "", fmt.Sprintf("profile %q cannot hold row %s of every profile (%s): %s", p.Name, row.ID, row.Pos, problem.what), "",
					"the parameters that it names", "declare them as the profiles of "+l.c.Base.Name+" do")
			}
		}
	}
}

// overlayResources checks that what an overlay stores is neither the base's nor anybody's replies, and that it adds no consumer to
// a store of the base: consumer names are one namespace per stream, and a create reaches whoever has the name (broker-facts J4).
func (l *loader) overlayResources(was before) {
	for _, r := range contract.Sorted(l.c.Resources) {
		if !r.Overlay {
			continue
		}
		for _, t := range r.Subjects {
			l.overlaySubject(r, t)
		}
	}
	for _, c := range contract.Sorted(l.c.Consumers) {
		r := l.c.Resources[c.Resource]
		if r != nil && !r.Overlay && !slices.Contains(was.consumers, c.ID) {
			l.fail(c.Pos, "", fmt.Sprintf("consumer %q is on %s, which is of %s (%s)", c.ID, r.ID, l.c.Base.Name, r.Pos), "", "a stream or bucket of the overlay", "")
		}
	}
}

func (l *loader) overlaySubject(r *contract.Resource, t contract.Template) {
	text := l.spaceText(t)
	if first, _, _ := strings.Cut(text, "."); first == "*" || first == ">" || strings.HasPrefix(first, "$") || strings.HasPrefix(first, "_") {
		l.fail(r.Pos, "", fmt.Sprintf("resource %q stores the subjects of the broker or of everybody's replies", r.ID), fmt.Sprintf("%q", t.Source),
			"a literal first token without a leading '$' or '_'", "")
		return
	}
	for _, name := range l.c.Base.Symbols {
		root := l.spaceText(l.c.Symbols[name])
		for _, own := range patterns(text) {
			for _, theirs := range slices.Concat(patterns(root), patterns(root+".>")) {
				if hit, ok := subject.Intersect(own, theirs); ok {
					l.fail(r.Pos, "", fmt.Sprintf("resource %q stores subjects of %s, such as %q", r.ID, l.c.Base.Name, hit.Witness()),
						fmt.Sprintf("%q", t.Source), fmt.Sprintf("subjects outside {%s} (%s)", name, l.symbolAt[name]), "choose a root of your own, such as com_acme.{space}")
					return
				}
			}
		}
	}
}

// spaceText is a template of a space with "*" in place of whatever its name is.
func (l *loader) spaceText(t contract.Template) string {
	var b strings.Builder
	for _, part := range t.Parts {
		switch symbol, ok := l.c.Symbols[strings.Join(part.Path, ".")]; {
		case part.Path == nil:
			b.WriteString(part.Lit)
		case ok:
			b.WriteString(l.spaceText(symbol))
		default:
			b.WriteString("*")
		}
	}
	return b.String()
}

// overlayLifecycles checks that what provisioning makes for a holder is the overlay's own: it works with a credential of the base,
// whose rows reach further than an overlay's.
func (l *loader) overlayLifecycles(was before) {
	for _, c := range contract.Sorted(l.c.Lifecycles) {
		if slices.Contains(was.lifecycles, c.Name) {
			continue
		}
		var used []string
		for _, d := range c.Durables {
			if consumer := l.c.Consumers[d.Consumer]; consumer != nil {
				used = append(used, consumer.Resource)
			}
		}
		for _, rec := range c.Records {
			used = append(used, rec.Bucket)
		}
		for _, id := range used {
			if r := l.c.Resources[id]; r != nil && !r.Overlay {
				l.fail(c.Pos, "", fmt.Sprintf("lifecycle %q makes something in %s, which is of %s (%s)", c.Name, id, l.c.Base.Name, r.Pos), "", "resources of the overlay", "")
			}
		}
	}
}

// overlayRows refuses the operations that reach past the accounts of the space.
func (l *loader) overlayRows() {
	for _, row := range l.c.Rows {
		if row.Overlay && row.Exception != "" {
			l.fail(row.Pos, row.ID, "exception in an overlay", fmt.Sprintf("%q", row.Exception), "none", "which rules have exceptions is for the base to say")
		}
		if row.Overlay && (row.Op.Kind == contract.OpShare || row.Op.Kind == contract.OpSystem) {
			l.fail(row.Pos, row.ID, fmt.Sprintf("operation %s in an overlay", row.Op.Kind), "", "an operation within one account of the space", "what crosses accounts is for the base to say")
		}
	}
}
