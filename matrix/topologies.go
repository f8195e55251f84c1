package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

func (l *loader) topologies(n source.Node) {
	var def string
	names := map[string]bool{}
	for _, f := range n.Fields() {
		if !id(f, names, "topology") {
			continue
		}
		names[f.Name] = true
		m := f.Value.Map("default", "accounts", "closed", "place")
		t := &contract.Topology{Name: f.Name, Pos: f.Key.Pos(), Default: m.Get("default").Bool(), Accounts: accounts(m.Need("accounts")), Place: map[string]string{}}
		t.Closed = accountsOf(m.Get("closed"), t)
		if t.Default && def != "" {
			m.Get("default").Fail(fmt.Sprintf("topology %q is the default already", def), "", "one default", "")
		} else if t.Default {
			def = f.Name
		}
		l.c.Topologies = append(l.c.Topologies, t)
		l.later(func() { l.places(t, m) })
	}
}

func accounts(n source.Node) []string {
	names := n.Strings()
	for _, item := range n.Elements() {
		name := textOf(item)
		if name == contract.SystemAccount {
			item.Fail(fmt.Sprintf("account %q stands in every topology", name), "", "the accounts of the space", "")
		} else if name != "" && !contract.IsName(name) {
			item.Fail(fmt.Sprintf("account name %q is not valid", name), "", "a letter, then letters, digits, '-' or '_'", "")
		}
	}
	return names
}

// accountsOf reads a list of accounts of the topology.
func accountsOf(n source.Node, t *contract.Topology) []string {
	if !n.Given() {
		return nil
	}
	for _, item := range n.Elements() {
		if name := textOf(item); name != "" && !slices.Contains(t.Accounts, name) {
			item.Fail(fmt.Sprintf("account %q is not in topology %s", name, t.Name), "", "one of "+strings.Join(t.Accounts, ", "), source.Suggest(name, t.Accounts))
		}
	}
	return n.Strings()
}

// places puts known resources and profiles into accounts of the topology.
func (l *loader) places(t *contract.Topology, m source.Map) {
	place := m.Need("place")
	for _, f := range place.Fields() {
		_, resource := l.c.Resources[f.Name]
		_, profile := l.c.Profiles[f.Name]
		if f.Name != "*" && !resource && !profile {
			known := slices.Concat(contract.SortedKeys(l.c.Resources), contract.SortedKeys(l.c.Profiles))
			f.Key.Fail(fmt.Sprintf("resource or profile %q is not declared", f.Name), "", "", source.Suggest(f.Name, known))
		}
		account := f.Value.Text()
		if account != "" && !slices.Contains(t.Accounts, account) {
			f.Value.Fail(fmt.Sprintf("account %q is not in topology %s", account, t.Name), "", "one of "+strings.Join(t.Accounts, ", "), source.Suggest(account, t.Accounts))
		}
		t.Place[f.Name] = account
	}
	if _, rest := t.Place["*"]; place.IsMap() && !rest {
		place.Fail(`place without "*"`, "", "an account for all that is not named", "")
	}
}

// declaredAccount reads an account name that some topology has or, where in is given, that each of those topologies has.
func (l *loader) declaredAccount(n source.Node, in []*contract.Topology) string {
	name := n.Text()
	if name == "" || name == contract.SystemAccount {
		return name
	}
	has := func(t *contract.Topology) bool { return slices.Contains(t.Accounts, name) }
	if !slices.ContainsFunc(l.c.Topologies, has) {
		var known []string
		for _, t := range l.c.Topologies {
			known = append(known, t.Accounts...)
		}
		n.Fail(fmt.Sprintf("account %q is not declared", name), "", "an account of a topology", source.Suggest(name, known))
		return name
	}
	for _, t := range in {
		if !has(t) {
			n.Fail(fmt.Sprintf("account %q is not in topology %s", name, t.Name), "", "one of "+strings.Join(t.Accounts, ", "),
				"name the topologies that have it: topologies: […]")
		}
	}
	return name
}
