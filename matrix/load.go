package matrix

import (
	"fmt"

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
	// deferred are checks of early declarations against later ones.
	deferred []func()
}

func (l *loader) later(check func()) { l.deferred = append(l.deferred, check) }

func (b *bundle) load() (*contract.Contract, error) {
	l := &loader{envs: map[string]*env{}, symbolText: map[string][]string{}, c: &contract.Contract{
		Space:   spaceName,
		Symbols: map[string]contract.Template{}, Grammars: map[string]*contract.Grammar{}, Records: map[string]*contract.Record{},
		Variants: map[string]*contract.Variant{}, Kinds: map[string]*contract.Kind{}, Residuals: map[string]*contract.Residual{},
		Resources: map[string]*contract.Resource{}, Consumers: map[string]*contract.Consumer{}, Profiles: map[string]*contract.Profile{},
		Lifecycles: map[string]*contract.Lifecycle{}, Settings: map[string]*contract.Choice{}, Roles: map[string]string{},
	}}
	l.types = &profiles.Scope{Grammars: l.c.Grammars, Records: l.c.Records, Kinds: l.c.Kinds, Resources: l.c.Resources}

	// 1. Declarations that name nothing else: grammars, kinds, symbols, accounts, residuals, settings.
	root := b.contract.Map("contract", "document", "subjects", "broker", "topologies", "grammars", "records", "variants", "kinds",
		"residuals", "settings", "roles", "lifecycles")
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
	// 5. Checks of early declarations against late ones.
	for _, check := range l.deferred {
		check()
	}
	if err := b.r.Err(); err != nil {
		return nil, err
	}
	return l.c, nil
}

func (l *loader) profiles(files []source.Node) {
	for _, file := range files {
		for _, d := range profiles.Parse(file, l.types) {
			if first, twice := l.c.Profiles[d.Name]; twice {
				file.Fail(fmt.Sprintf("profile %q is declared twice, also at %s", d.Name, first.Pos), "", "one declaration", "")
				continue
			}
			l.c.Profiles[d.Name] = d.Profile
			l.decls = append(l.decls, d)
			l.declaredAccount(d.Account, nil)
			l.needs(d.Params)
		}
	}
	for _, d := range l.decls {
		l.envs[d.Name] = l.profileEnv(d)
	}
}

// roles reads which profile the tool takes for its own duties.
func (l *loader) roles(n source.Node) {
	known := []string{contract.RoleProvision, contract.RoleTeardown, contract.RolePushClaims, contract.RoleDoctor}
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
		f.Key.Fail(fmt.Sprintf("%s %q is declared twice", noun, f.Name), "", "another name", "")
		return false
	}
	return true
}

// optionalFields are the entries of a map that may be left out, but not be empty.
func optionalFields(n source.Node) []source.Field {
	if !n.Given() {
		return nil
	}
	return n.Fields()
}
