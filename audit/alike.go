package audit

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// A fleet is thousands of credentials that differ in nothing but the names that they state of their holders. Where a name is none that
// anything else speaks of, no check can tell one from another of the same make: what the entries of one come to, the entries of the
// other come to as well. Such names are masked, the masked credential is judged once, and each member of the class is told the verdict
// with its own names put back. What a JWT says beside its entries (times, size, connection types, signer) is judged for each.
//
// The argument is that masking renames. It is one-to-one on everything that the credential holds, because every text is the same
// again when it is undone; it leaves every word of the contract and of this code in place, because no such word is masked or masks; and it
// keeps every length, and what fits a grammar, so that no bound can tell.

// verdict is what the entries of a masked credential come to.
type verdict struct {
	apart  bool      // there is something wrong with them: each is judged for itself, so that no finding is one of a masked credential alone
	found  []Finding // notes
	powers []powerLine
	borne  []borneRow
}

// powerLine is a line of the table of deputies.
type powerLine struct {
	account, class string
	*tallied
}

// borneRow is a row with residuals and the first entry that it gives.
type borneRow struct {
	entry Entry
	row   *contract.Row
}

// maxVerdicts bounds what is kept.
const maxVerdicts = 1024

// maskedName and maskedFile stand for the name and the file of a masked credential.
const (
	maskedName = "\x00name"
	maskedFile = "\x00file"
)

// judgeAlike judges a user's entries by the verdict on its class; false where it is of none.
func (a *auditor) judgeAlike(p *Principal) bool {
	if a.alone {
		return false
	}
	m := a.maskOf(p)
	if m == nil {
		return false
	}
	class, ok := m.class(p)
	if !ok {
		return false
	}
	v := a.verdicts[class]
	if v == nil {
		if len(a.verdicts) >= maxVerdicts {
			clear(a.verdicts)
		}
		v = a.verdictOn(m.hide(p))
		a.verdicts[class] = v
	}
	if v.apart {
		return false
	}
	a.alike++
	a.counted(p)
	a.terms(p)
	a.told(p, m, v)
	a.trim()
	return true
}

// verdictOn judges a masked credential and takes what was found out of the report.
func (a *auditor) verdictOn(q *Principal) *verdict {
	before, problems := len(a.out.Findings), len(a.probs)
	a.nextFile()
	a.join(q)
	a.admitted(q)
	v := &verdict{found: slices.Clone(a.out.Findings[before:]), borne: a.bearing(q)}
	v.apart = len(a.probs) > problems || slices.ContainsFunc(v.found, func(f Finding) bool { return f.Severity != Note })
	a.nextFile()
	a.out.Findings, a.probs = a.out.Findings[:before], a.probs[:problems]
	for key, t := range a.tallies {
		if key.file == maskedFile {
			v.powers = append(v.powers, powerLine{key.account, key.class, t})
			delete(a.tallies, key)
		}
	}
	return v
}

// told gives a credential the verdict on its class, in its own names.
func (a *auditor) told(p *Principal, m *mask, v *verdict) {
	for _, f := range v.found {
		f.File, f.Subject = p.File, p.Name
		if a.saidBefore(p, &f) {
			continue
		}
		for _, text := range []*string{&f.Entry, &f.Witness, &f.Message, &f.Hint} {
			*text = m.shown(*text)
		}
		a.lasting(p, &f)
		a.out.Findings = append(a.out.Findings, f)
	}
	for _, l := range v.powers {
		a.tallies[tallyKey{p.File, p.Name, l.account, l.class}] = m.shownLine(l.tallied)
	}
	for _, b := range v.borne {
		a.bear(p, b, m.shown)
	}
}

// mask renames words of the names that one credential states, each to a stand-in.
type mask struct{ to, from map[string]string }

// maskOf masks what a credential states of its holder, as far as nothing else speaks of it; nil where it is judged for itself.
func (a *auditor) maskOf(p *Principal) *mask {
	profile := a.profile(p.Profile)
	if profile == nil || a.ruling != nil || p.claims == nil || p.conf != nil || p.Token.Scoped || !a.isSpace(p.Space) || len(p.doubts)+len(p.Ignored) > 0 {
		return nil
	}
	m := &mask{map[string]string{}, map[string]string{}}
	for _, param := range profile.Params {
		value := p.tags[param.Name]
		if value == "" && param.Default == contract.DefaultUserKey {
			value = strings.TrimPrefix(p.inboxPrefix(), inboxPrefix+"_")
		}
		if param.Type.Kind == contract.TypeScalar && isToken(value) && asToken(param, value) == value && !a.compared(profile, param.Name) {
			a.masks(m, value, param.Type.Grammar)
		}
	}
	return m
}

// masks adds the words of a value that mean nothing but the holder, as long as the grammar takes the value as before. As long as the same grammar
// speaks of the value, no other is asked of it.
func (a *auditor) masks(m *mask, value string, g *contract.Grammar) {
	if a.meanings == nil {
		a.meanings = meaningsOf(a.cfg.Contract)
	}
	fits := func(text string) bool { return g == nil || compile.CheckGrammar(g, text) == nil }
	if !fits(value) {
		return
	}
	for _, first := range []bool{false, true} {
		var added []string
		for word := range words(value) {
			if m.to[word] != "" || len(m.to) == len(standIns) || a.meanings.has(word) {
				continue
			}
			if other := alike(word, standIns[len(m.to)], first); m.from[other] == "" && !a.meanings.has(other) {
				m.to[word], m.from[other] = other, word
				added = append(added, word)
			}
		}
		if fits(m.hidden(value)) {
			return
		}
		for _, word := range added {
			delete(m.from, m.to[word])
			delete(m.to, word)
		}
	}
}

// class is the text of everything that verdicts on a credential depend on, masked; false where masking it loses something.
func (m *mask) class(p *Principal) (string, bool) {
	text, lengths := make([]byte, 0, 8<<10), make([]byte, 0, 512)
	put := func(texts ...string) {
		for _, t := range texts {
			text = append(append(text, t...), '\n')
			lengths = binary.AppendUvarint(lengths, uint64(len(t)))
		}
	}
	put(p.Profile, p.Space, p.Account, p.Trust, p.Inbox)
	for _, name := range contract.SortedKeys(p.tags) {
		put(name, p.tags[name])
	}
	for _, d := range p.directions() {
		put(fmt.Sprint(p.System, d.Open, len(d.Allow), len(d.Deny)))
		for _, list := range [...][]Entry{d.Allow, d.Deny} {
			for i := range list {
				put(string(list[i].Pattern), list[i].Queue)
			}
		}
	}
	hidden := m.hidden(string(text))
	return hidden + string(lengths), m.shown(hidden) == string(text)
}

// hide is the masked credential, of which nothing is left but what its class says.
func (m *mask) hide(p *Principal) *Principal {
	q := &Principal{Name: maskedName, File: maskedFile, Profile: p.Profile, Trust: p.Trust, System: p.System, Space: p.Space, Account: p.Account,
		Inbox: m.hidden(p.Inbox), Token: &Token{}, tags: map[string]string{}}
	for name, value := range p.tags {
		q.tags[name] = m.hidden(value)
	}
	q.Pub, q.Sub = m.direction(&p.Pub), m.direction(&p.Sub)
	return q
}

func (m *mask) direction(d *Direction) Direction {
	masked := func(list []Entry) []Entry {
		out := make([]Entry, len(list))
		for i, e := range list {
			out[i] = Entry{Entry: subject.Entry{Pattern: subject.Pattern(m.hidden(string(e.Pattern))), Queue: m.hidden(e.Queue)}, dir: e.dir}
		}
		return out
	}
	return Direction{Open: d.Open, Allow: masked(d.Allow), Deny: masked(d.Deny), dir: d.dir}
}

func (m *mask) hidden(text string) string { return renamed(text, m.to) }

// shown puts the holder's own names back into what was said of the masked credential.
func (m *mask) shown(text string) string { return renamed(text, m.from) }

// shownLine is a line of the table of deputies in the holder's own names, which most do not hold.
func (m *mask) shownLine(t *tallied) *tallied {
	own := &tallied{profile: t.profile, rows: t.rows, targets: map[string]bool{}, stores: t.stores}
	for target := range t.targets {
		own.targets[m.shown(target)] = true
	}
	for _, text := range t.except {
		own.except = append(own.except, m.shown(text))
	}
	return own
}
