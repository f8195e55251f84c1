package matrix

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

const spaceName = "space"

var (
	contractName = regexp.MustCompile(`^[a-z][a-z0-9.-]{0,63}$`)
	versionText  = regexp.MustCompile(`^[0-9]+\.[0-9]+(\.[0-9]+)?$`)
	dateText     = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
)

// matching reads a string of a given shape.
func matching(n source.Node, shape *regexp.Regexp, want string) string {
	text := n.Text()
	if text != "" && !shape.MatchString(text) {
		n.Fail(n.Name(), fmt.Sprintf("%q", text), want, "")
	}
	return text
}

// header reads all of contract.yaml but records, variants and lifecycles.
func (l *loader) header(m source.Map) {
	l.c.Name = matching(m.Need("contract"), contractName, `a name such as "orders-v1"`)
	doc := m.Need("document").Map("title", "version", "date")
	l.c.Document = contract.Document{Title: doc.Need("title").Text(), Version: doc.Need("version").Text(),
		Date: matching(doc.Need("date"), dateText, `a date such as "2026-01-31"`)}
	broker := m.Need("broker").Map("floor", "hardened", "max_control_line", "max_payload", "margin")
	l.c.Broker = contract.Broker{Floor: matching(broker.Need("floor"), versionText, `a version such as "2.12"`),
		Hardened:       matching(broker.Need("hardened"), versionText, `a version such as "2.15.3"`),
		MaxControlLine: int(broker.Need("max_control_line").Int(512, math.MaxInt32)), Margin: contract.DefaultMargin}
	if n := broker.Get("margin"); n.Given() {
		l.c.Broker.Margin = int(n.Int(0, math.MaxInt32))
	}
	if n := broker.Get("max_control_line"); l.c.Broker.MaxControlLine > 0 && l.c.Broker.MostGate() <= 0 {
		n.Fail("max_control_line leaves no room for a credential", fmt.Sprint(l.c.Broker.MaxControlLine),
			fmt.Sprintf("more than the margin of %d and the %d bytes of a client", l.c.Broker.Margin, contract.ConnectOverhead), "")
	}
	if n := broker.Get("max_payload"); n.Given() {
		l.c.Broker.MaxPayload = int(n.Int(512, math.MaxInt32))
	}
	l.grammars(m.Need("grammars"))
	if _, ok := l.c.Grammars[spaceName]; !ok && m.Get("grammars").IsMap() {
		m.Get("grammars").Fail(fmt.Sprintf("grammar %q is missing", spaceName), "", "the grammar of a space's name", "")
	}
	l.symbols(m.Get("subjects"))
	l.topologies(m.Need("topologies"))
	l.thirdParty(m.Get("third-party"))
	l.kinds(m.Get("kinds"))
	l.residuals(m.Get("residuals"))
	l.choices(m.Get("settings"))
}

// gates refuses a policy gate that the transport would refuse first (§13.9: "the policy gate MUST be the tighter of the two"): what
// mint writes must be able to connect.
func (l *loader) gates() {
	most := l.c.Broker.MostGate()
	for _, p := range contract.Sorted(l.c.Profiles) {
		if p.Gate > most && most > 0 && p.Overlay == l.overlay {
			l.fail(p.Pos, "", fmt.Sprintf("gate of profile %s is not tighter than the transport", p.Name), fmt.Sprint(p.Gate),
				fmt.Sprintf("at most %d: max_control_line %d less the margin of %d and the %d bytes of a client", most, l.c.Broker.MaxControlLine,
					l.c.Broker.Margin, contract.ConnectOverhead), "lower the gate, or raise max_control_line in the contract and on every server")
		}
	}
}

func (l *loader) grammars(n source.Node) {
	for _, f := range n.Fields() {
		if id(f, l.c.Grammars, "grammar") {
			g := profiles.Grammar(f.Name, f.Value)
			g.Pos, l.c.Grammars[f.Name] = f.Key.Pos(), g
		}
	}
}

// symbols reads the subject prefixes; each may name the space and the ones before it.
func (l *loader) symbols(n source.Node) {
	if !n.Given() {
		return
	}
	for _, f := range n.Fields() {
		if f.Name == spaceName {
			f.Key.Fail(`symbol "space" would hide the space's name`, "", "another name", "")
			continue
		}
		t, ok := profiles.Template(f.Value)
		if !id(f, l.symbolAt, "symbol") || !ok {
			continue
		}
		l.symbolAt[f.Name] = f.Key.Pos()
		e := l.spaceEnv()
		l.checkSubject(f.Value, t, e)
		l.c.Symbols[f.Name], l.symbolText[f.Name] = t, e.samples(t)
	}
}

func (l *loader) residuals(n source.Node) {
	if !n.Given() {
		return
	}
	for _, f := range n.Fields() {
		if !id(f, l.c.Residuals, "residual") {
			continue
		}
		m := f.Value.Map("who", "can", "bound", "covers", "warn", "reaches", "deputy", "cite")
		r := &contract.Residual{ID: f.Name, Pos: f.Key.Pos(), Who: m.Need("who").Text(), Can: m.Need("can").Text(),
			Bound: m.Need("bound").Text(), Covers: checkCodes(m.Get("covers")), Warn: l.declaredTopologies(m.Get("warn")),
			Deputy: deputyClasses(m.Get("deputy")), Cite: profiles.Cite(m.Get("cite"))}
		l.c.Residuals[f.Name] = r
		for _, item := range m.Get("reaches").Items() {
			if t, ok := profiles.Template(item); ok {
				r.Reaches = append(r.Reaches, t)
				l.later(func() { l.checkSubject(item, t, l.spaceEnv()) })
			}
		}
	}
}

// checkCodes reads codes of generic audit checks. Which of them exist is for the audit to say, which a loader cannot import.
func checkCodes(n source.Node) []string {
	var out []string
	for _, item := range n.Items() {
		out = append(out, matching(item, checkCode, `a code of a generic check, such as "A014"`))
	}
	return out
}

// deputyClasses reads classes of bytes that a holder can have the server place.
func deputyClasses(n source.Node) []string {
	known := map[string]bool{}
	for _, class := range contract.DeputyClasses() {
		known[class] = true
	}
	return declaredList(n, known, "deputy class")
}

// choices reads the settings that a space makes when it is provisioned.
func (l *loader) choices(n source.Node) {
	if !n.Given() {
		return
	}
	for _, f := range n.Fields() {
		if !id(f, l.c.Settings, "setting") {
			continue
		}
		m := f.Value.Map("default", "values", "cite")
		c := &contract.Choice{Name: f.Name, Pos: f.Key.Pos(), Values: map[string]map[string]string{}, Cite: profiles.Cite(m.Get("cite"))}
		var first []string
		for i, v := range m.Need("values").Fields() {
			names := l.choiceValues(v, f.Name)
			keys := contract.SortedKeys(names)
			if i == 0 {
				first = keys
			} else if !slices.Equal(first, keys) {
				v.Value.Fail(fmt.Sprintf("choice %q binds other names than the first", v.Name), strings.Join(keys, ", "), strings.Join(first, ", "), "")
			}
			c.Values[v.Name] = names
		}
		c.Default = declared(m.Need("default"), c.Values, "choice")
		l.c.Settings[f.Name] = c
	}
}

func (l *loader) choiceValues(v source.Field, setting string) map[string]string {
	names := map[string]string{}
	for _, e := range v.Value.Fields() {
		if !contract.IsName(e.Name) {
			e.Key.Fail(fmt.Sprintf("name %q is not valid", e.Name), "", "a letter, then letters, digits, '-' or '_'", "")
			continue
		}
		if owner, taken := l.bound[e.Name]; taken && owner != setting {
			e.Key.Fail(fmt.Sprintf("name %q is bound by setting %q already", e.Name, owner), "", "another name", "")
		} else if l.taken[e.Name] {
			e.Key.Fail(fmt.Sprintf("name %q is one that templates of %s use", e.Name, l.c.Base.Name), "", "another name", "")
		}
		l.bound[e.Name] = setting
		names[e.Name] = e.Value.Text()
	}
	return names
}
