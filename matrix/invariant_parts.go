package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

// trustNames are the trust classes of a profile.
var trustNames = []string{contract.TrustUntrusted, contract.TrustSinglePurpose, contract.TrustProvisioning, contract.TrustSystem, contract.TrustSealed}

// whyNames are the reasons that a read may state.
var whyNames = []string{"cas-pinning", "data", "fencing"}

// resourceFlags are the keys of a resource that are no stream configuration and that a setting invariant may name.
var resourceFlags = []string{"closed", "delete", "update"}

// oneOfList reads a list of words of a closed set.
func oneOfList(n source.Node, words []string) []string {
	if !n.Given() {
		return nil
	}
	out := n.Strings()
	for _, item := range n.Elements() {
		if textOf(item) != "" {
			item.OneOf(words...)
		}
	}
	return out
}

func verbList(n source.Node) []string { return oneOfList(n, contract.VerbNames()) }

// verbsOn checks that verbs of a whole account are not asked of resources.
func (l *loader) verbsOn(names []string, m source.Map) {
	for _, name := range names {
		if m.Get("on").Given() && !slices.ContainsFunc(contract.Verbs(name), func(v contract.Verb) bool { return !v.Account }) && len(contract.Verbs(name)) > 0 {
			m.Get("on").Fail(fmt.Sprintf("verb %s is of a whole account", name), "", "no resources beside it", "")
		}
	}
}

// tokensOf reads which tokens an invariant is about: those of an identity with their parameters, or a list that must be literal.
func (l *loader) tokensOf(inv *contract.Invariant, m source.Map) {
	one, tokens := m.Get("token"), m.Get("tokens")
	inv.Token = int(one.Int(0, maxRuleToken))
	switch {
	case !tokens.Given():
		if one.Given() {
			inv.Pinned = []int{inv.Token}
		}
	case inv.Kind != "pinned-token":
		inv.Tokens = l.tokens(tokens, inv)
	case one.Given():
		tokens.Fail("tokens beside token", "", "one of them", "")
	default:
		for _, item := range tokens.Items() {
			at := int(item.Int(0, maxRuleToken))
			if slices.Contains(inv.Pinned, at) {
				item.Fail(fmt.Sprintf("tokens holds %d twice", at), "", "each index once", "")
			}
			inv.Pinned = append(inv.Pinned, at)
		}
	}
}

// ruleParts reads what only few kinds have.
func (l *loader) ruleParts(inv *contract.Invariant, m source.Map) {
	inv.Why = oneOfList(m.Get("why"), whyNames)
	if n := m.Get("account"); n.Given() {
		l.ruleAccounts(inv, n)
	}
	if n := m.Get("exception"); n.Given() {
		inv.Exception = l.declaredException(n)
	}
	l.within(inv, m.Get("within"))
	if n := m.Get("between"); n.Given() {
		for _, item := range n.Items() {
			inv.Between = append(inv.Between, l.side(item))
		}
		if k := len(inv.Between); k != 2 && n.IsList() {
			n.Fail(fmt.Sprintf("between has %d sides", k), "", "two", "")
		}
	}
	l.ruleSettings(inv, m)
}

// ruleAccounts reads the account of an invariant, or the list of those that a placement admits.
func (l *loader) ruleAccounts(inv *contract.Invariant, n source.Node) {
	in := l.ruleTopologies(inv)
	if inv.Kind != contract.Placement || !n.IsList() {
		inv.Account = l.declaredAccount(n, in)
		return
	}
	n.Strings() // each once
	for _, item := range n.Elements() {
		if item.IsText() {
			inv.Accounts = append(inv.Accounts, l.declaredAccount(item, in))
		}
	}
}

// ruleTopologies are those in which an invariant holds.
func (l *loader) ruleTopologies(inv *contract.Invariant) []*contract.Topology {
	return slices.DeleteFunc(slices.Clone(l.c.Topologies), func(t *contract.Topology) bool { return !inv.In(t.Name) })
}

// declaredException reads the name of an exception that some row states.
func (l *loader) declaredException(n source.Node) string {
	name := n.Text()
	known := map[string]bool{}
	for _, row := range l.c.Rows {
		if row.Exception != "" {
			known[row.Exception] = true
		}
	}
	if name != "" && !known[name] {
		n.Fail(fmt.Sprintf("no row has the exception %q", name), "", "an exception that a row states", source.Suggest(name, contract.SortedKeys(known)))
	}
	return name
}

// within reads the families within which the profiles must stay: templates that may name what the profiles have, each alone or with a
// queue.
func (l *loader) within(inv *contract.Invariant, n source.Node) {
	if !n.Given() {
		return
	}
	for _, item := range n.Elements() { // none: nothing at all
		if item.IsMap() && item.Has("verbs") {
			inv.Within = append(inv.Within, l.withinVerbs(inv, item.Map("verbs", "on")))
			continue
		}
		text, queue, r := item, source.Node{}, &rowReader{l: l, row: &contract.Row{}, envs: l.holderEnvs(inv.Profiles)}
		if item.IsMap() {
			r.m = item.Map("family", "queue", "each", "when")
			text, queue = r.m.Need("family"), r.m.Get("queue")
			someOf(r.m, []string{"queue", "each", "when"})
			if queue.Given() && inv.Direction != contract.DirSubscribe {
				queue.Fail("queue of what is published", "", "direction: subscribe", "")
			}
			r.holdersOfLists()
			r.eaches()
			r.row.When = conditions(r.m.Get("when"), r.envs)
		}
		b := contract.Bound{Each: r.row.Each, When: r.row.When}
		b.Family, _ = profiles.Template(text)
		b.Queue, _ = profiles.Template(queue)
		l.boundSubject(text, b, b.Family, r.envs, len(inv.Profiles) == 0)
		l.boundSubject(queue, b, b.Queue, r.envs, len(inv.Profiles) == 0)
		inv.Within = append(inv.Within, b)
	}
}

// withinVerbs reads the subjects of verbs as a bound of what is published.
func (l *loader) withinVerbs(inv *contract.Invariant, m source.Map) contract.Bound {
	b := contract.Bound{Verbs: verbList(m.Need("verbs")), On: declaredList(m.Get("on"), l.c.Resources, "resource")}
	l.verbsOn(b.Verbs, m)
	if inv.Direction == contract.DirSubscribe {
		m.Get("verbs").Fail("verbs of what is subscribed", "", "families", "verbs are published")
	}
	return b
}

// holderEnvs are the scopes of profiles for templates that only hold where all of their names are bound.
func (l *loader) holderEnvs(holders []string) []*env {
	var envs []*env
	if len(holders) == 0 {
		holders = contract.SortedKeys(l.c.Profiles)
	}
	for _, name := range holders {
		if e := l.envs[name]; e != nil {
			envs = append(envs, e.given(true))
		}
	}
	return envs
}

// holdersOfLists leaves the profiles that have the lists which the family iterates over, if any has: for the others it is no family.
func (r *rowReader) holdersOfLists() {
	some := slices.DeleteFunc(slices.Clone(r.envs), func(e *env) bool {
		for _, item := range r.m.Get("each").Elements() {
			over, as, err := splitEach(textOf(item))
			if err != "" || strings.HasPrefix(over, "[") {
				continue
			}
			b, p := e.element(strings.Split(over, "."))
			if p.found() {
				return true
			}
			e = e.with(as, b)
		}
		return false
	})
	if len(some) > 0 {
		r.envs = some
	}
}

// boundSubject checks a template against every profile that binds all of its names; some profile must. One that binds none of them never
// has the subject. A template about all profiles may be about the space alone.
func (l *loader) boundSubject(n source.Node, b contract.Bound, t contract.Template, envs []*env, all bool) {
	var some []*env
	for _, e := range envs {
		if len(e.text(t)) == 0 {
			some = append(some, e)
		}
	}
	switch {
	case len(some) > 0:
	case all:
		some = []*env{l.spaceEnv()}
	default:
		some = envs
	}
	if len(some) > 0 {
		l.checkSubject(n, t, some...)
		l.wholeTokens(n, b, t, some)
	}
}

// wholeTokens refuses what no credential states: the fields of records, but those of elements.
func (l *loader) wholeTokens(n source.Node, b contract.Bound, t contract.Template, envs []*env) {
	for _, path := range t.Paths() {
		known := len(path) == 1 || slices.ContainsFunc(b.Each, func(e contract.Each) bool { return e.As == path[0] })
		for _, e := range envs {
			if b, p := e.resolve(path[:1]); !p.found() && len(b.resources) > 0 {
				known = true
			}
		}
		if !known {
			n.Fail(fmt.Sprintf("placeholder {%s} is of no use in an invariant", strings.Join(path, ".")), "", "a parameter or derived name: a credential states no more of itself", "")
		}
	}
}

// side reads one of the two authorities of a disjoint invariant.
func (l *loader) side(n source.Node) contract.Side {
	m := n.Map("publish", "subscribe", "verbs", "on")
	someOf(m, []string{"publish", "subscribe", "verbs"})
	s := contract.Side{Publish: l.familyList(m.Get("publish")), Subscribe: l.familyList(m.Get("subscribe")), Verbs: verbList(m.Get("verbs")),
		On: declaredList(m.Get("on"), l.c.Resources, "resource")}
	if m.Get("on").Given() && !m.Get("verbs").Given() {
		m.Get("on").Fail("on without verbs", "", "verbs on these resources", "")
	}
	l.verbsOn(s.Verbs, m)
	return s
}

func (l *loader) familyList(n source.Node) []contract.Template {
	if !n.Given() {
		return nil
	}
	var out []contract.Template
	for _, item := range n.Items() {
		if t, ok := profiles.Template(item); ok {
			l.checkSubject(item, t, l.spaceEnv())
			out = append(out, t)
		}
	}
	return out
}

// ruleSettings reads what a resource must be configured with, in the words of resources.yaml, and must protect.
func (l *loader) ruleSettings(inv *contract.Invariant, m source.Map) {
	if n := m.Get("protect"); n.Given() {
		inv.Protect = protect(n)
	}
	n := m.Get("settings")
	if !n.Given() {
		return
	}
	n.Fields() // not empty
	fixed := append(slices.Clone(contract.AbsentKeys), "subjects")
	given := n.MapRefusing(refused(streamKeys, fixed), slices.Concat(resourceFlags, fixed, contract.SortedKeys(bucketAliases), writable(streamKeys))...)
	inv.Settings = settings(given, streamKeys, bucketAliases)
	for _, flag := range resourceFlags {
		if v := given.Get(flag); v.Given() {
			inv.Settings[flag] = v.Bool()
		}
	}
	for _, key := range fixed {
		switch v := given.Get(key); {
		case v.Given() && key == "subjects" && v.IsList():
			inv.Settings[key] = contract.SubjectList(l.familyList(v))
		case v.Given():
			v.OneOf("none")
			inv.Settings[key] = nil
		}
	}
}
