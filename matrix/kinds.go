package matrix

import (
	"fmt"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

func (l *loader) kinds(n source.Node) {
	if !n.Given() {
		return
	}
	for _, f := range n.Fields() {
		if !id(f, l.c.Kinds, "kind") {
			continue
		}
		m := f.Value.Map("key", "split", "never-deleted", "readable", "cite")
		k := &contract.Kind{Name: f.Name, Pos: f.Key.Pos(), Split: m.Get("split").Bool(), NeverDeleted: m.Get("never-deleted").Bool(),
			Readable: m.Get("readable").Bool(), Cite: profiles.Cite(m.Get("cite"))}
		k.Key, _ = profiles.Template(m.Need("key"))
		l.c.Kinds[f.Name] = k
		l.later(func() { l.kindKey(m.Get("key"), k.Key) })
	}
}

// kindKey checks a key grammar. Where a row leaves a placeholder of it unbound it becomes "*", so a misspelt one would widen the
// row: each must be the name of a grammar, or of a parameter, derived name or record field somewhere in the contract.
func (l *loader) kindKey(n source.Node, key contract.Template) {
	for _, path := range key.Paths() {
		if name := strings.Join(path, "."); !l.names()[name] {
			n.Fail(fmt.Sprintf("placeholder {%s} is not declared", name), "", "a grammar, parameter, derived name or record field",
				source.Suggest(name, contract.SortedKeys(l.names())))
		}
	}
	malformed(n, samplesOf(key)...)
}

// names are all names that some template of the contract can bind.
func (l *loader) names() map[string]bool {
	out := map[string]bool{spaceName: true}
	add := func(params []*contract.Param) {
		for _, p := range params {
			out[p.Name] = true
		}
	}
	for name := range l.c.Grammars {
		out[name] = true
	}
	for _, r := range l.c.Records {
		add(r.Fields)
		for _, fields := range r.Cases {
			add(fields)
		}
	}
	for _, p := range l.c.Profiles {
		add(p.Params)
		for _, d := range p.Derive {
			out[d.Name] = true
		}
	}
	return out
}
