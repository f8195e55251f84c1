package matrix

import (
	"fmt"
	"path"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

// loader turns the files of one contract into values, in the order in which they name each other.
type loader struct {
	c     *contract.Contract
	types *profiles.Scope
	decls []profiles.Decl
	envs  map[string]*env // of a profile, by name
	// symbolText are samples of what each symbol becomes.
	symbolText map[string][]string
	overlay    bool // the files read now extend the contract that was read before
	rowAt      map[string]contract.Pos
	ruleAt     map[string]contract.Pos // of an invariant, by code
	symbolAt   map[string]contract.Pos
	bound      map[string]string // names that settings bind, and which
	kindAt     map[string]source.Node
	taken      map[string]bool // names that templates of the base use; nil but in an overlay
	r          *source.Report  // of the files that are read now
	// deferred are checks of early declarations against later ones.
	deferred []func()
}

func (l *loader) later(check func()) { l.deferred = append(l.deferred, check) }

func newLoader() *loader {
	l := &loader{envs: map[string]*env{}, symbolText: map[string][]string{}, rowAt: map[string]contract.Pos{}, ruleAt: map[string]contract.Pos{},
		symbolAt: map[string]contract.Pos{}, bound: map[string]string{}, kindAt: map[string]source.Node{}}
	l.c = &contract.Contract{
		Space:   spaceName,
		Symbols: map[string]contract.Template{}, Grammars: map[string]*contract.Grammar{}, Records: map[string]*contract.Record{},
		Variants: map[string]*contract.Variant{}, Kinds: map[string]*contract.Kind{}, Residuals: map[string]*contract.Residual{},
		Resources: map[string]*contract.Resource{}, Consumers: map[string]*contract.Consumer{}, Profiles: map[string]*contract.Profile{},
		Lifecycles: map[string]*contract.Lifecycle{}, Settings: map[string]*contract.Choice{}, Roles: map[string]string{},
	}
	l.types = &profiles.Scope{Grammars: l.c.Grammars, Records: l.c.Records, Kinds: l.c.Kinds, Resources: l.c.Resources}
	return l
}

// load reads one contract, or an overlay on top of the contract that it extends.
func (b *bundle) load() (*contract.Contract, error) {
	l := newLoader()
	if b.base == nil {
		l.own(b)
		return l.done(b.r)
	}
	l.own(b.base)
	if _, err := l.done(b.base.r); err != nil {
		return nil, fmt.Errorf("contract %s, which %s extends: %w", b.base.label, b.label, err)
	}
	l.extend(b)
	c, err := l.done(b.r)
	if err == nil {
		err = b.base.r.Err() // an overlay with which the base is wrong
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// done runs the checks of early declarations against late ones and hands out the contract, or what is wrong.
func (l *loader) done(r *source.Report) (*contract.Contract, error) {
	for _, check := range l.deferred {
		check()
	}
	l.deferred = nil
	if err := r.Err(); err != nil {
		return nil, err
	}
	return l.c, nil
}

// own reads a contract that stands alone.
func (l *loader) own(b *bundle) {
	// 1. Declarations that name nothing else: grammars, kinds, symbols, accounts, residuals, settings.
	root := b.contract.Map("contract", "document", "subjects", "broker", "topologies", "grammars", "records", "variants", "kinds",
		"residuals", "settings", "roles", "lifecycles", "third-party", "waivers")
	l.header(root)
	// 2. Resources and consumers, whose templates name symbols.
	l.resources(b.resources)
	// 3. Records, whose fields name grammars, each other and resources; then profiles.
	l.records(root.Get("records"), root.Get("variants"))
	l.profiles(b.profiles)
	// 4. What names all of these.
	l.rows(b.rows)
	l.roles(root.Get("roles"))
	l.lifecycles(root.Get("lifecycles"))
	l.invariants(b.invariants)
	l.c.Waivers = l.waivers(root.Get("waivers"), true)
	l.r = b.r
	l.fixtures(b.fixtures)
	l.later(l.gates)
	l.later(l.kindsApart)
}

func (l *loader) profiles(files []source.Node) {
	for _, file := range files {
		for _, d := range profiles.Parse(file, l.types) {
			if first, twice := l.c.Profiles[d.Name]; twice {
				at := file
				for _, f := range file.Entries() {
					if f.Name == d.Name {
						at = f.Key
					}
				}
				again(at, fmt.Sprintf("profile %q is declared twice", d.Name), "one declaration", first.Pos)
				continue
			}
			d.Profile.Overlay = l.overlay
			l.c.Profiles[d.Name] = d.Profile
			l.decls = append(l.decls, d)
			l.declaredAccount(d.Account, nil)
			l.needs(d.Params)
		}
	}
	for _, d := range l.decls { // those of a base again: what an overlay declares is in their scope too
		l.envs[d.Name] = l.profileEnv(d)
	}
}

// roles reads which profile the tool takes for its own duties.
func (l *loader) roles(n source.Node) {
	known := []string{contract.RoleProvision, contract.RoleTeardown, contract.RolePushClaims, contract.RoleDoctor, contract.RoleInspect,
		contract.RoleConnect, contract.RoleSchedules}
	m := n.Map(known...)
	for _, role := range known {
		if v := m.Get(role); v.Given() {
			l.c.Roles[role] = declared(v, l.c.Profiles, "profile")
		}
	}
}

// declared reads the name of something in known; noun is what it is ("profile").
func declared[V any](n source.Node, known map[string]V, noun string) string {
	name := n.Text()
	if _, ok := known[name]; name != "" && !ok {
		n.Fail(fmt.Sprintf("%s %q is not declared", noun, name), "", "", source.Suggest(name, contract.SortedKeys(known)))
		return ""
	}
	return name
}

// declaredList reads a list of such names.
func declaredList[V any](n source.Node, known map[string]V, noun string) []string {
	if !n.Given() {
		return nil
	}
	names := n.Strings()
	for _, item := range n.Elements() {
		if item.IsText() {
			declared(item, known, noun)
		}
	}
	return names
}

// id checks the name of a declaration and that it is not taken.
func id[V any](f source.Field, known map[string]V, noun string) bool {
	switch _, twice := known[f.Name]; {
	case !contract.IsName(f.Name):
		f.Key.Fail(fmt.Sprintf("%s name %q is not valid", noun, f.Name), "", "a letter, then letters, digits, '-' or '_'", "")
		return false
	case twice:
		again(f.Key, fmt.Sprintf("%s %q is declared twice", noun, f.Name), "another name", declaredAt(known[f.Name]))
		return false
	}
	return true
}

// again reports a second declaration; first is where the one before stands, or the zero position.
func again(n source.Node, what, want string, first contract.Pos) {
	hint := ""
	if first != (contract.Pos{}) {
		what += ", also at " + first.String()
		if own := n.Pos().File; rootOf(first.File) != rootOf(own) {
			hint = "an overlay adds to its base and redefines nothing"
		}
	}
	n.Fail(what, "", want, hint)
}

// rootOf is the directory of a contract that a file of it stands in.
func rootOf(file string) string { return strings.TrimSuffix(path.Dir(file), "/profiles") }

// declaredAt is where a declaration stands, where that is kept.
func declaredAt(v any) contract.Pos {
	switch v := v.(type) {
	case *contract.Grammar:
		return v.Pos
	case *contract.Record:
		return v.Pos
	case *contract.Kind:
		return v.Pos
	case *contract.Residual:
		return v.Pos
	case *contract.Resource:
		return v.Pos
	case *contract.Consumer:
		return v.Pos
	case *contract.Lifecycle:
		return v.Pos
	case *contract.Choice:
		return v.Pos
	case contract.Pos:
		return v
	}
	return contract.Pos{}
}

// optionalFields are the entries of a map that may be left out, but not be empty.
func optionalFields(n source.Node) []source.Field {
	if !n.Given() {
		return nil
	}
	return n.Fields()
}
