package matrix

import (
	"regexp"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

var (
	rowID   = regexp.MustCompile(`^[A-Z][A-Z0-9]*(-[A-Z0-9]+)*$`)
	rowKeys = slices.Concat([]string{"id", "cite", "profile", "except", "effect", "account", "topologies", "each", "when", "class", "residuals",
		"exception", "unbound", "waivers"}, opKeys)
)

// rows reads the row files in the order of their names.
func (l *loader) rows(files []source.Node) {
	for _, file := range files {
		for _, n := range file.Items() {
			l.row(n)
		}
	}
}

// rowReader reads one row; envs are the scopes of its profiles, in name order.
type rowReader struct {
	l    *loader
	m    source.Map
	row  *contract.Row
	envs []*env
}

func (l *loader) row(n source.Node) {
	n = n.InRow(n.Peek("id"))
	r := &rowReader{l: l, m: n.Map(rowKeys...), row: &contract.Row{Pos: n.Pos(), Overlay: l.overlay}}
	if !n.IsMap() {
		return
	}
	r.identity()
	r.profiles()
	r.place()
	r.eaches()
	r.conditions()
	r.operation()
	l.c.Rows = append(l.c.Rows, r.row)
}

func (r *rowReader) identity() {
	id := r.m.Need("id")
	r.row.ID = matching(id, rowID, "upper-case words joined by '-', such as ORDER-POST")
	if first, twice := r.l.rowAt[r.row.ID]; twice {
		again(id, "row id is used twice", "another id", first)
	} else if r.row.ID != "" {
		r.l.rowAt[r.row.ID] = id.Pos()
	}
	r.row.Cite = profiles.Cite(r.m.Need("cite"))
	r.row.Class = r.m.Need("class").OneOf(contract.ClassMediated, contract.ClassDirect)
	r.row.Deny = r.m.Get("effect").OneOf("deny") != ""
	r.row.Residuals = declaredList(r.m.Get("residuals"), r.l.c.Residuals, "residual")
	r.row.Waivers = r.l.waivers(r.m.Get("waivers"), false)
	r.row.Exception = r.m.Get("exception").Text()
	r.unbound(r.m.Get("unbound"))
}

// unbound reads what an unbound placeholder of a kind's key becomes; it may stand in the row or inside its kv.
func (r *rowReader) unbound(n source.Node) {
	if !n.Given() {
		return
	}
	if r.row.Unbound != "" {
		n.Fail("unbound stands twice", "", "once, in the row or inside kv", "")
	}
	r.row.Unbound = n.OneOf("*")
}

// profiles reads whose row it is and opens a scope for each. A share has none: it belongs to accounts.
func (r *rowReader) profiles() {
	n := r.m.Get("profile")
	if e := r.m.Get("except"); e.Given() && textOf(n) != "*" {
		e.Fail(`except without profile: "*"`, "", `the profiles themselves, or "*" and those that do not have the row`, "")
	}
	switch {
	case r.m.Get("share").Given():
		for _, key := range []string{"profile", "effect", "account"} {
			if v := r.m.Get(key); v.Given() {
				v.Fail(key+" on a share", "", "none, as a share belongs to accounts", "")
			}
		}
		r.envs = []*env{r.l.spaceEnv()}
		return
	case textOf(n) == "*" && r.l.overlay:
		n.Fail(`profile "*" in an overlay`, "", "the profiles by name", "it would change every credential of "+r.l.c.Base.Name)
		return
	case textOf(n) == "*":
		r.row.Profiles = []string{"*"}
		r.row.Except = declaredList(r.m.Get("except"), r.l.c.Profiles, "profile")
		for _, name := range contract.SortedKeys(r.l.envs) {
			if !slices.Contains(r.row.Except, name) {
				r.open(name)
			}
		}
		return
	case n.IsList():
		r.row.Profiles = declaredList(n, r.l.c.Profiles, "profile")
	default:
		if name := declared(r.m.Need("profile"), r.l.c.Profiles, "profile"); name != "" {
			r.row.Profiles = []string{name}
		}
	}
	for _, name := range slices.Sorted(slices.Values(r.row.Profiles)) {
		if name == "*" {
			n.Fail(`"*" beside other profiles`, "", `"*" alone`, "")
		}
		r.open(name)
	}
}

// open adds a copy of a profile's scope, so that the row's conditions do not reach other rows.
func (r *rowReader) open(name string) {
	if e, ok := r.l.envs[name]; ok {
		e = e.given(false)
		e.unbound = r.row.Unbound != "" || r.m.Get("kv").Has("unbound")
		r.envs = append(r.envs, e)
	}
}

// place reads the account and the topologies of the row.
func (r *rowReader) place() {
	r.row.Topologies = r.l.declaredTopologies(r.m.Get("topologies"))
	r.row.Account = r.l.declaredAccount(r.m.Get("account"), nil)
}

// declaredTopologies reads a list of topologies of the contract.
func (l *loader) declaredTopologies(n source.Node) []string {
	known := map[string]*contract.Topology{}
	for _, t := range l.c.Topologies {
		known[t.Name] = t
	}
	return declaredList(n, known, "topology")
}

// applies returns the topologies in which the row stands.
func (r *rowReader) applies() []*contract.Topology {
	if len(r.row.Topologies) == 0 {
		return r.l.c.Topologies
	}
	return slices.DeleteFunc(slices.Clone(r.l.c.Topologies), func(t *contract.Topology) bool {
		return !slices.Contains(r.row.Topologies, t.Name)
	})
}

// subject reads a template that becomes a subject below a prefix.
func (r *rowReader) subject(n source.Node, prefix string) contract.Template {
	t, ok := profiles.Template(n)
	if ok {
		r.l.checkBelow(prefix, n, t, r.envs...)
	}
	return t
}

// name reads a template that becomes one token.
func (r *rowReader) name(n source.Node) contract.Template {
	t, ok := profiles.Template(n)
	if ok {
		r.l.checkName(n, t, r.envs...)
	}
	return t
}
