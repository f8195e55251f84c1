package matrix

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

// maxRuleToken is the last index that a token may have: an API prefix and a subject behind it.
const maxRuleToken = 2*maxSubjectTokens - 1

var (
	checkCode = regexp.MustCompile(`^A[0-9]{3}$`) // of the generic checks: no invariant may take one
	ruleCode  = regexp.MustCompile(`^[A-Z][0-9]{3}$`)
)

// ruleKind is what one kind of invariant needs and admits beside code, kind, title, severity, cite and topologies.
type ruleKind struct {
	need, may []string
	family    famUse
	oneOf     []string // at least one of these, which may also lists
}

// famUse says whether a kind is about families.
type famUse int

const (
	noFamily famUse = iota
	mayFamily
	needFamily
)

// ruleKinds are the closed set of invariant kinds.
var ruleKinds = map[string]ruleKind{
	contract.Confined:       {family: mayFamily, need: []string{"within"}, may: []string{"profiles", "direction", "exception"}},
	"deny-present":          {family: needFamily, need: []string{"profiles"}, may: []string{"direction", "account"}},
	"disjoint":              {need: []string{"between"}, may: []string{"by", "profiles"}},
	contract.ExclusiveRead:  {family: needFamily, need: []string{"by"}, may: []string{"queue", "exception"}},
	contract.ExclusiveWrite: {family: needFamily, need: []string{"by"}, may: []string{"exception"}},
	"identity-token":        {family: needFamily, need: []string{"tokens"}, may: []string{"by", "profiles", "direction", "exception"}},
	"lifetime":              {need: []string{"class"}, may: []string{"only", "max", "trust", "profiles"}, oneOf: []string{"only", "max", "trust"}},
	"never":                 {family: needFamily, may: []string{"profiles", "direction", "exception"}},
	"no-deputy":             {need: []string{"on"}, may: []string{"by", "profiles", "classes"}},
	"pinned-token":          {family: needFamily, may: []string{"token", "tokens", "by", "profiles", "direction", "exception"}, oneOf: []string{"token", "tokens"}},
	contract.Placement:      {family: mayFamily, need: []string{"account"}, may: []string{"on", "profiles", "direction"}, oneOf: []string{"on", "profiles", "family", "families"}},
	"queue-only":            {family: needFamily, need: []string{"queue"}, may: []string{"by", "profiles", "exception"}},
	"setting":               {need: []string{"on"}, may: []string{"settings", "protect"}, oneOf: []string{"settings", "protect"}},
	"size":                  {need: []string{"bytes"}, may: []string{"profiles"}},
	"verb-holders":          {need: []string{"by"}, may: []string{"verb", "verbs", "on", "profiles", "why", "exception"}, oneOf: []string{"verb", "verbs"}},
}

// ruleKeys are the keys that a kind admits; of an unknown kind those of all, so that only the kind is reported.
func ruleKeys(kind string) []string {
	keys := []string{"code", "kind", "title", "severity", "cite", "topologies"}
	add := func(k ruleKind) {
		for _, key := range slices.Concat(k.need, k.may) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		if k.family != noFamily && !slices.Contains(keys, "family") {
			keys = append(keys, "family", "families")
		}
	}
	if k, known := ruleKinds[kind]; known {
		add(k)
		return keys
	}
	for _, name := range contract.SortedKeys(ruleKinds) {
		add(ruleKinds[name])
	}
	return keys
}

// invariants reads the audit rules of the contract, file by file.
func (l *loader) invariants(files []source.Node) {
	for _, file := range files {
		for _, item := range file.Items() {
			kind := item.Peek("kind")
			k := ruleKinds[kind]
			m := item.Map(ruleKeys(kind)...)
			inv := &contract.Invariant{Pos: item.Pos(), Overlay: l.overlay, Kind: m.Need("kind").OneOf(contract.SortedKeys(ruleKinds)...),
				Severity: m.Need("severity").OneOf("error", "warning", "note"), Cite: profiles.Cite(m.Need("cite"))}
			inv.Code = matching(m.Need("code"), ruleCode, `a letter and three digits, such as "C101"`)
			if checkCode.MatchString(inv.Code) {
				m.Get("code").Fail("code "+inv.Code+": A and digits are the generic checks'", "", "another letter", "take one such as C101")
			}
			if first, twice := l.ruleAt[inv.Code]; twice && inv.Code != "" {
				again(m.Get("code"), fmt.Sprintf("invariant code %s is used twice", inv.Code), "another code", first)
			}
			l.ruleAt[inv.Code] = m.Get("code").Pos()
			for _, key := range k.need {
				m.Need(key)
			}
			someOf(m, k.oneOf)
			l.invariant(inv, m, k)
			l.c.Invariants = append(l.c.Invariants, inv)
		}
	}
}

// someOf reports a map that has none of the keys.
func someOf(m source.Map, keys []string) {
	if len(keys) > 0 && m.IsMap() && !slices.ContainsFunc(keys, func(key string) bool { return m.Get(key).Given() }) {
		m.Fail(fmt.Sprintf("missing key %q", keys[0]), "", strings.Join(keys, " or "), "")
	}
}

func (l *loader) invariant(inv *contract.Invariant, m source.Map, k ruleKind) {
	inv.Title, inv.Topologies = m.Get("title").Text(), l.declaredTopologies(m.Get("topologies"))
	inv.Families = l.families(m, k.family)
	inv.By = slices.Concat(declaredList(m.Get("by"), l.c.Profiles, "profile"), declaredList(m.Get("only"), l.c.Profiles, "profile"))
	inv.Profiles = declaredList(m.Get("profiles"), l.c.Profiles, "profile")
	inv.Direction = m.Get("direction").OneOf(contract.DirPublish, contract.DirSubscribe, contract.DirBoth)
	inv.Verb, inv.Verbs = m.Get("verb").OneOf(contract.VerbNames()...), verbList(m.Get("verbs"))
	inv.On = declaredList(m.Get("on"), l.c.Resources, "resource")
	l.verbsOn(inv.AllVerbs(), m)
	inv.Class = m.Get("class").OneOf(contract.LifetimeOneShot, contract.LifetimeStanding, contract.LifetimeNone)
	inv.Classes = deputyClasses(m.Get("classes"))
	inv.Max, inv.Trust = m.Get("max").Duration(), m.Get("trust").OneOf(trustNames...)
	if inv.Class == contract.LifetimeNone && m.Get("max").Given() {
		m.Get("max").Fail("max of the lifetime class none", "", "a class that expires", "")
	}
	if n := m.Get("bytes"); n.Given() {
		inv.Bytes = int(size(n))
	}
	l.tokensOf(inv, m)
	l.queue(inv, m.Get("queue"))
	l.ruleParts(inv, m)
}

func (l *loader) families(m source.Map, use famUse) []contract.Template {
	one, many := m.Get("family"), m.Get("families")
	items := many.Items()
	switch {
	case use == noFamily:
		return nil
	case one.Given() && many.Given():
		many.Fail("families beside family", "", "one of them", "")
	case one.Given():
		items = []source.Node{one}
	case !many.Given() && use == needFamily:
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
	inv.Queued = n.Given()
	switch {
	case !n.Given():
		return
	case n.IsMap():
		inv.Token = int(n.Map("token").Need("token").Int(0, maxRuleToken))
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
		if err != nil || i < 0 || i > maxRuleToken || strconv.Itoa(i) != f.Name {
			f.Key.Fail("token index", fmt.Sprintf("%q", f.Name), fmt.Sprintf("0 to %d", maxRuleToken), "")
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
