package audit

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// mask renames words of the names that one credential states, each to a stand-in of the same length.
type mask []renaming

type renaming struct{ own, other string }

// maskOf masks what a credential states of its holder, as far as nothing else speaks of it; nil where it is judged for itself.
func (a *auditor) maskOf(p *Principal) mask {
	profile := a.profile(p.Profile)
	if profile == nil || a.ruling != nil || p.claims == nil || p.conf != nil || p.Token.Scoped || !a.isSpace(p.Space) || len(p.doubts)+len(p.Ignored) > 0 {
		return nil
	}
	if len(a.spaces(p)) > 1 {
		return nil // what it names besides its own, which is never masked, may be a space by its name alone
	}
	m, stated := make(mask, 0, len(standIns)), a.stated(p, profile)
	for _, param := range profile.Params {
		value := stated[param.Name]
		if param.Type.Kind == contract.TypeScalar && isToken(value) && asToken(param, value) == value && !a.compared(profile, param.Name) {
			m = a.masked(m, p.Space, value, param.Type.Grammar)
		}
	}
	for _, param := range profile.Params { // a word of one name may stand in another, which its own grammar is asked of
		if value := stated[param.Name]; fits(param.Type.Grammar, value) != fits(param.Type.Grammar, m.hidden(value)) {
			return nil
		}
	}
	return m
}

func fits(g *contract.Grammar, text string) bool {
	return g == nil || compile.CheckGrammar(g, text) == nil
}

// masked adds the words of a value that mean nothing but the holder, where the grammar takes the value with and without the mask. What the
// space is called by stays, as the masked credential is judged in that space.
func (a *auditor) masked(m mask, space, value string, g *contract.Grammar) mask {
	if a.meanings == nil {
		a.meanings = meaningsOf(a.cfg.Contract)
	}
	if !fits(g, value) {
		return m
	}
	for _, first := range []bool{false, true} {
		wider := m
		for start, end := range runs(value) {
			word := value[start:end]
			if len(wider) == len(standIns) || a.meanings.has(word) || wider.knows(word) || strings.Contains(space, word) {
				continue
			}
			if other := alike(word, standIns[len(wider)], first); !a.meanings.has(other) && !wider.knows(other) {
				wider = append(wider, renaming{word, other})
			}
		}
		if fits(g, wider.hidden(value)) {
			return wider
		}
	}
	return m
}

func (m mask) knows(word string) bool {
	return slices.ContainsFunc(m, func(r renaming) bool { return r.own == word || r.other == word })
}

// hide puts the stand-ins into a text, in place.
func (m mask) hide(text []byte) {
	for start, end := range runs(text) {
		word := text[start:end]
		for i := range m {
			if string(word) == m[i].own {
				copy(word, m[i].other)
				break
			}
		}
	}
}

func (m mask) hidden(text string) string {
	out := []byte(text)
	m.hide(out)
	return string(out)
}

// shown puts the holder's own names back into what was said of the masked credential.
func (m mask) shown(text string) string {
	back := make(mask, len(m))
	for i, r := range m {
		back[i] = renaming{r.other, r.own}
	}
	return back.hidden(text)
}

// maxClass bounds the text of a class: what is larger is no credential of a fleet, and is not kept.
const maxClass = 64 << 10

// class is the text of everything that [mask.principal] gives to the masked credential, masked, so that two of one class are the same
// masked credential: each list has its count and each text its length. False where a stand-in stands there already, be it within a word,
// and could not be told from what it stands for.
func (m mask) class(p *Principal) ([]byte, bool) {
	text, lengths := make([]byte, 0, 8<<10), make([]byte, 0, 512)
	put := func(t string) {
		text = append(append(text, t...), '\n')
		lengths = binary.AppendUvarint(lengths, uint64(len(t)))
	}
	for _, t := range []string{p.Profile, p.Space, p.Account, p.Trust, p.Inbox} {
		put(t)
	}
	lengths = binary.AppendUvarint(lengths, uint64(len(p.tags)))
	for _, name := range contract.SortedKeys(p.tags) { // those of the identity are the same names
		put(name)
		put(p.tags[name])
		put(p.Identity[name])
	}
	lengths = append(lengths, bit(p.System))
	for _, d := range p.directions() {
		for _, list := range [...][]Entry{d.Allow, d.Deny} {
			lengths = binary.AppendUvarint(append(lengths, 0, bit(d.Open)), uint64(len(list)))
			for i := range list {
				put(string(list[i].Pattern))
				put(list[i].Queue)
			}
		}
	}
	if len(text) > maxClass {
		return nil, false
	}
	for i := range m {
		if bytes.Contains(text, []byte(m[i].other)) {
			return nil, false
		}
	}
	m.hide(text)
	return binary.BigEndian.AppendUint64(append(text, lengths...), uint64(len(text))), true
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// principal is the masked credential, of which nothing is left but what its class says.
func (m mask) principal(p *Principal) *Principal {
	q := &Principal{Name: maskedName, File: maskedFile, Profile: p.Profile, Trust: p.Trust, System: p.System, Space: p.Space, Account: p.Account,
		Inbox: m.hidden(p.Inbox), Token: &Token{}, Identity: m.values(p.Identity), tags: m.values(p.tags), in: p.in}
	q.Pub, q.Sub = m.direction(&p.Pub), m.direction(&p.Sub)
	return q
}

func (m mask) values(own map[string]string) map[string]string {
	out := make(map[string]string, len(own))
	for name, value := range own {
		out[name] = m.hidden(value)
	}
	return out
}

func (m mask) direction(d *Direction) Direction {
	hidden := func(list []Entry) []Entry {
		out := make([]Entry, len(list))
		for i, e := range list {
			out[i] = Entry{Entry: subject.Entry{Pattern: subject.Pattern(m.hidden(string(e.Pattern))), Queue: m.hidden(e.Queue)}, dir: e.dir}
		}
		return out
	}
	return Direction{Open: d.Open, Allow: hidden(d.Allow), Deny: hidden(d.Deny), dir: d.dir}
}

// line is a line of the table of deputies in the holder's own names.
func (m mask) line(t *tallied) *tallied {
	own := &tallied{profile: t.profile, rows: t.rows, targets: map[string]bool{}, stores: t.stores}
	for target := range t.targets {
		own.targets[m.shown(target)] = true
	}
	for _, text := range t.except {
		own.except = append(own.except, m.shown(text))
	}
	return own
}
