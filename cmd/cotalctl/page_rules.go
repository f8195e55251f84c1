package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// residuals says in words what compromised holders can still do, and whose rows it is true of.
func (p *page) residuals() {
	p.section("Residuals")
	p.line("What a compromised holder of a row can do beyond it, and what bounds that.")
	rows, holders := map[string][]string{}, map[string][]string{}
	for _, row := range p.c.Rows {
		for _, id := range row.Residuals {
			rows[id] = append(rows[id], row.ID)
			for _, profile := range row.Profiles {
				if profile != "*" && !slices.Contains(holders[id], profile) {
					holders[id] = append(holders[id], profile)
				}
			}
			if slices.Contains(row.Profiles, "*") {
				holders[id] = append(holders[id], "*")
			}
		}
	}
	for _, r := range contract.Sorted(p.c.Residuals) {
		p.line("")
		p.line("### Residual %s", r.ID)
		p.line("")
		p.line("- Who: %s.", mdText(r.Who))
		p.line("- Can: %s.", mdText(r.Can))
		p.line("- Bound: %s; %s.", mdText(r.Bound), mdText(r.Cite))
		if len(r.Reaches) > 0 {
			families := make([]string, len(r.Reaches))
			for n, f := range r.Reaches {
				families[n] = f.String()
			}
			p.line("- Of entries that reach %s.", mdCodes(families))
		}
		if len(r.Deputy) > 0 {
			p.line("- Declares what the server can be made to place: %s ([classes](contract-format.md#residuals)).", mdCodes(r.Deputy))
		}
		if len(rows[r.ID]) == 0 {
			p.line("- No row has it.")
			continue
		}
		slices.Sort(holders[r.ID])
		p.line("- Holders: %s.", p.holders(holders[r.ID]))
		p.line("- Rows (%d): %s.", len(rows[r.ID]), strings.Join(rows[r.ID], ", "))
	}
}

func (p *page) holders(names []string) string {
	if slices.Contains(names, "*") {
		return "every profile"
	}
	return mdLinks("Profile", names)
}

func (p *page) invariants() {
	p.section("Invariants")
	p.line("What the audit holds every compiled set of this contract against; the kinds are in [audit.md](audit.md).")
	p.line("")
	var rows [][]string
	for _, i := range p.c.Invariants {
		rows = append(rows, []string{i.Code, mdCode(i.Kind), i.Severity, strings.Join(p.subjectOf(i), "; "), mdText(i.Cite)})
	}
	p.table([]string{"code", "kind", "severity", "about", "clause"}, rows)
}

// subjectOf says what an invariant is about, and of whom, in the order of its fields.
func (p *page) subjectOf(i *contract.Invariant) []string {
	out := p.aboutOf(i)
	for _, who := range []struct {
		word  string
		names []string
	}{{"by", i.By}, {"of", i.Profiles}} {
		if len(who.names) > 0 {
			out = append(out, who.word+" "+p.names("Profile", who.names))
		}
	}
	return out
}

// names lists what has a heading on the page of the whole contract.
func (p *page) names(kind string, names []string) string {
	if p.elsewhere {
		return strings.Join(names, ", ")
	}
	return mdLinks(kind, names)
}

// aboutOf says what an invariant is about, whoever holds it.
func (p *page) aboutOf(i *contract.Invariant) []string {
	var out []string
	say := func(given bool, format string, args ...any) {
		if given {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	families := make([]string, len(i.Families))
	for n, f := range i.Families {
		families[n] = f.String()
	}
	say(len(families) > 0, "%s", mdCodes(families))
	say(len(i.AllVerbs()) > 0, "verb %s", mdCodes(i.AllVerbs()))
	say(len(i.On) > 0, "on %s", p.names("Resource", i.On))
	for _, at := range slices.Sorted(maps.Keys(i.Tokens)) {
		say(true, "token %d is %s", at, mdCode(i.Tokens[at]))
	}
	say(i.Token > 0 && len(i.Pinned) == 0, "token %d", i.Token)
	for _, at := range i.Pinned {
		say(true, "token %d", at)
	}
	say(!i.Queue.IsZero(), "queue %s", mdCode(i.Queue.String()))
	say(i.Class != "", "class %s", mdCode(i.Class))
	return append(out, p.boundsOf(i)...)
}

// boundsOf says what an invariant holds its subject to, where that is neither a token nor a holder.
func (p *page) boundsOf(i *contract.Invariant) []string {
	var out []string
	say := func(given bool, format string, args ...any) {
		if given {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	say(i.Direction != "", "%s", i.Direction)
	for _, b := range i.Within {
		if len(b.Verbs) > 0 {
			say(true, "within verb %s", mdCodes(b.Verbs))
			say(len(b.On) > 0, "on %s", p.names("Resource", b.On))
			continue
		}
		out = append(out, boundWords(b))
	}
	say(i.Kind == contract.Confined && len(i.Within) == 0, "nothing")
	for n, side := range i.Between {
		say(n == 1, "apart from")
		for _, t := range side.Publish {
			say(true, "publish %s", mdCode(t.String()))
		}
		for _, t := range side.Subscribe {
			say(true, "subscribe %s", mdCode(t.String()))
		}
		say(len(side.Verbs) > 0, "verb %s", mdCodes(side.Verbs))
		say(len(side.On) > 0, "on %s", p.names("Resource", side.On))
	}
	for _, key := range contract.SortedKeys(i.Settings) {
		value := i.Settings[key]
		if value == nil {
			value = "none"
		}
		say(true, "%s", mdCode(fmt.Sprintf("%s: %v", key, value)))
	}
	say(len(i.Classes) > 0, "bytes of %s", mdCodes(i.Classes))
	say(len(i.Protect) > 0, "protects %s", mdCodes(i.Protect))
	say(i.Max > 0, "at most %s", i.Max)
	say(i.Trust != "", "trust %s", mdCode(i.Trust))
	say(i.Bytes > 0, "at most %d bytes", i.Bytes)
	say(len(i.Places()) > 0, "account %s", mdCodes(i.Places()))
	say(len(i.Why) > 0, "for %s", mdCodes(i.Why))
	say(i.Exception != "", "but the exception %s", mdCode(i.Exception))
	say(len(i.Topologies) > 0, "topology %s", mdCodes(i.Topologies))
	return out
}

// boundWords says within what something lies, for what, and when.
func boundWords(b contract.Bound) string {
	text := "within " + mdCode(b.Family.String())
	if !b.Queue.IsZero() {
		text += " in queue " + mdCode(b.Queue.String())
	}
	if each := eachWords(b.Each); len(each) > 0 {
		text += " for " + strings.Join(each, ", ")
	}
	if when := condWords(b.When); when != "" {
		text += " if " + when
	}
	return text
}
