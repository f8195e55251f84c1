package matrix

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

var (
	checkCode = regexp.MustCompile(`^A[0-9]{3}$`)
	ruleCode  = regexp.MustCompile(`^[A-Z][0-9]{3}$`)
	verbName  = []string{"stream.create", "stream.info", "stream.update", "stream.purge", "stream.delete", "stream.msg-get", "stream.msg-delete",
		"stream.direct-get", "consumer.create", "consumer.info", "consumer.next", "consumer.ack", "consumer.delete"}
)

// ruleKind is what one kind of invariant needs and admits beside code, kind, severity and cite.
type ruleKind struct {
	need, may []string
	family    bool
}

// ruleKinds are the closed set of invariant kinds.
var ruleKinds = map[string]ruleKind{
	contract.ExclusiveWrite: {family: true, need: []string{"by"}},
	"identity-token":        {family: true, need: []string{"tokens"}, may: []string{"by", "profiles"}},
	"lifetime":              {need: []string{"class", "only"}},
	"never":                 {family: true, may: []string{"profiles"}},
	"no-deputy":             {need: []string{"on"}, may: []string{"by", "profiles", "classes"}},
	"pinned-token":          {family: true, need: []string{"token"}, may: []string{"by", "profiles"}},
	"queue-only":            {family: true, need: []string{"queue"}, may: []string{"by", "profiles"}},
	"verb-holders":          {need: []string{"verb", "by"}, may: []string{"on", "profiles"}},
}

// invariants reads the audit rules of the contract.
func (l *loader) invariants(n source.Node) {
	for _, item := range n.Items() {
		kind := item.Peek("kind")
		k, known := ruleKinds[kind]
		keys := slices.Concat([]string{"code", "kind", "title", "severity", "cite", "topologies"}, k.need, k.may)
		if k.family {
			keys = append(keys, "family", "families")
		}
		if !known {
			keys = append(keys, "family", "families", "by", "profiles", "tokens", "token", "verb", "on", "queue", "class", "classes", "only")
		}
		m := item.Map(keys...)
		inv := &contract.Invariant{Pos: item.Pos(), Overlay: l.overlay, Kind: m.Need("kind").OneOf(contract.SortedKeys(ruleKinds)...),
			Severity: m.Need("severity").OneOf("error", "warning", "note"), Cite: profiles.Cite(m.Need("cite"))}
		inv.Code = matching(m.Need("code"), ruleCode, `a letter and three digits, such as "C101"`)
		if first, twice := l.ruleAt[inv.Code]; twice && inv.Code != "" {
			again(m.Get("code"), fmt.Sprintf("invariant code %s is used twice", inv.Code), "another code", first)
		}
		l.ruleAt[inv.Code] = m.Get("code").Pos()
		for _, key := range k.need {
			m.Need(key)
		}
		l.invariant(inv, m, k)
		l.c.Invariants = append(l.c.Invariants, inv)
	}
}

func (l *loader) invariant(inv *contract.Invariant, m source.Map, k ruleKind) {
	inv.Title, inv.Topologies = m.Get("title").Text(), l.declaredTopologies(m.Get("topologies"))
	inv.Families = l.families(m, k.family)
	inv.By = slices.Concat(declaredList(m.Get("by"), l.c.Profiles, "profile"), declaredList(m.Get("only"), l.c.Profiles, "profile"))
	inv.Profiles = declaredList(m.Get("profiles"), l.c.Profiles, "profile")
	inv.Token = int(m.Get("token").Int(0, maxSubjectTokens-1))
	inv.Verb = m.Get("verb").OneOf(verbName...)
	inv.On = declaredList(m.Get("on"), l.c.Resources, "resource")
	inv.Class = m.Get("class").OneOf(contract.LifetimeOneShot, contract.LifetimeStanding, contract.LifetimeNone)
	inv.Classes = deputyClasses(m.Get("classes"))
	l.queue(inv, m.Get("queue"))
	if tokens := m.Get("tokens"); tokens.Given() {
		inv.Tokens = l.tokens(tokens, inv)
	}
}

func (l *loader) families(m source.Map, wanted bool) []contract.Template {
	one, many := m.Get("family"), m.Get("families")
	items := many.Items()
	switch {
	case !wanted:
		return nil
	case one.Given() && many.Given():
		many.Fail("families beside family", "", "one of them", "")
	case one.Given():
		items = []source.Node{one}
	case !many.Given():
		m.Fail(`missing key "family"`, "", "family or families", "")
	}
	var out []contract.Template
	for _, n := range items {
		if t, ok := profiles.Template(n); ok {
			l.checkSubject(n, t, l.spaceEnv())
			out = append(out, t)
		}
	}
	return out
}

// queue reads the queue group that is due: a token of the subject by index, or a template.
func (l *loader) queue(inv *contract.Invariant, n source.Node) {
	switch {
	case !n.Given():
	case n.IsMap():
		inv.Token = int(n.Map("token").Need("token").Int(0, maxSubjectTokens-1))
	default:
		t, ok := profiles.Template(n)
		if !ok {
			return
		}
		inv.Queue = t
		for _, path := range t.Paths() {
			if name := path[0]; !l.names()[name] {
				n.Fail(fmt.Sprintf("placeholder {%s} is not declared", name), "", "", source.Suggest(name, contract.SortedKeys(l.names())))
			}
		}
	}
}

// tokens reads token index → parameter; the parameter must be one of the profiles that the rule is about.
func (l *loader) tokens(n source.Node, inv *contract.Invariant) map[int]string {
	out := map[int]string{}
	for _, f := range n.Fields() {
		i, err := strconv.Atoi(f.Name)
		if err != nil || i < 0 || i >= maxSubjectTokens || strconv.Itoa(i) != f.Name {
			f.Key.Fail("token index", fmt.Sprintf("%q", f.Name), fmt.Sprintf("0 to %d", maxSubjectTokens-1), "")
			continue
		}
		name := f.Value.Text()
		if name != "" && !l.someProfileBinds(name, inv.Profiles) {
			f.Value.Fail(fmt.Sprintf("parameter %q is not declared", name), "", "a parameter of a profile that the rule is about"+inProfiles(slices.Clone(inv.Profiles)), "")
		}
		out[i] = name
	}
	return out
}

func (l *loader) someProfileBinds(name string, in []string) bool {
	for _, p := range l.c.Profiles {
		if len(in) > 0 && !slices.Contains(in, p.Name) {
			continue
		}
		if slices.ContainsFunc(p.Params, func(q *contract.Param) bool { return q.Name == name }) ||
			slices.ContainsFunc(p.Derive, func(d contract.Derive) bool { return d.Name == name }) {
			return true
		}
	}
	return name == spaceName
}
