package audit

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// A class is all credentials that differ in nothing but opaque values: names of the holder of which the contract says nothing and that
// stand in the entries as whole words. Every check compares words with each other and with the contract's, so that a class is judged once,
// with marks in the place of the values, and each member has what was found with its own values in the place of the marks.

// maxClasses bounds what is kept: hostile credentials can be of any number of them.
const maxClasses = 256

// class is what judging a class has given, or nil findings of one whose members are judged one at a time.
type class struct {
	findings []Finding
	tallies  map[tallyKey]*tallied
	alone    bool // something could not be judged: each member says so itself
}

// opaque is a value with its mark.
type opaque struct{ value, mark, word string } // and the longest of its words

func mark(i int) string { return fmt.Sprintf("{{%d}}", i) }

// The marks that stand for the name and file of a member.
const (
	markName = "{{name}}"
	markFile = "{{file}}"
)

// judgeMember joins and judges a decoded credential as a member of its class; false where it has none and is judged by itself.
func (a *auditor) judgeMember(p *Principal) bool {
	profile := a.profile(p.Profile)
	if a.classes == nil || profile == nil || p.Token == nil || p.Token.Scoped || p.claims == nil || p.File == "" || a.ruling != nil || len(p.doubts)+len(p.Ignored) > 0 || p.at != (spot{}) ||
		!a.isSpace(p.Space) || len(a.spaces(p)) != 1 {
		return false
	}
	values, ok := a.opaques(p, profile)
	if !ok {
		return false
	}
	q, key, ok := p.marked(values)
	if !ok {
		return false
	}
	c := a.classes[key]
	if c == nil {
		if len(a.classes) >= maxClasses {
			clear(a.classes)
		}
		c = a.judgeClass(q)
		a.classes[key] = c
	}
	if c.alone {
		return false
	}
	a.profiles[p.Profile] = true
	a.out.Checked.Entries += p.entryCount()
	a.token(p)
	set := a.rulesOf(p.Space)
	j := &trial{a: a, p: p, set: set, about: set.about(a, p)}
	j.claims()
	a.member(p, c, values)
	return true
}

// judgeClass judges a principal with marks apart from everything else.
func (a *auditor) judgeClass(q *Principal) *class {
	c := &class{}
	findings, tallies, problems := a.out.Findings, a.tallies, len(a.probs)
	seen, noted, forbids := a.seen, a.noted, a.forbids
	a.out.Findings, a.tallies, a.ofClass = nil, map[tallyKey]*tallied{}, true
	a.seen, a.noted, a.forbids = map[string]int{}, map[residualKey]bool{}, map[string]*forbidden{}
	a.join(q)
	a.judgeEntries(q)
	c.findings, c.tallies = slices.Clip(a.out.Findings), a.tallies
	a.out.Findings, a.tallies, a.ofClass = findings, tallies, false
	a.seen, a.noted, a.forbids = seen, noted, forbids
	if len(a.probs) > problems { // members say it with their own names
		a.probs, c.alone = a.probs[:problems], true
	}
	return c
}

// member adds what was found of a class with a member's values.
func (a *auditor) member(p *Principal, c *class, values []opaque) {
	pairs := []string{markName, p.Name, markFile, p.File}
	for _, v := range values {
		pairs = append(pairs, v.mark, v.value)
	}
	own := strings.NewReplacer(pairs...)
	fill := func(text string) string {
		if strings.Contains(text, "{{") {
			return own.Replace(text)
		}
		return text
	}
	var known Finding
	a.lasting(p, &known)
	a.room(len(c.findings))
	for i := range c.findings {
		f := c.findings[i]
		f.Subject, f.File = fill(f.Subject), fill(f.File)
		f.Entry, f.Message, f.Witness = fill(f.Entry), fill(f.Message), fill(f.Witness)
		f.identity, f.nonce, f.profile = known.identity, known.nonce, known.profile
		a.out.Findings = append(a.out.Findings, f)
	}
	for key, t := range c.tallies {
		key.file, key.subject = fill(key.file), fill(key.subject)
		a.tallies[key] = t
	}
}

// room makes room for findings of all files at once, since a list of very many that grows is held twice.
func (a *auditor) room(n int) {
	have := len(a.out.Findings)
	if have+n <= cap(a.out.Findings) {
		return
	}
	left := max(0, a.files-a.out.Checked.Files)
	a.out.Findings = slices.Grow(a.out.Findings, n+max(n*left, have/4))
}

// marked is the credential with marks in the place of values, and what names its class; false where a value is also a part of a longer
// word, or the entries hold what looks like a mark.
func (p *Principal) marked(values []opaque) (q *Principal, key [sha256.Size]byte, ok bool) {
	m := marker{values: values, ok: true}
	q = &Principal{Name: markName, File: markFile, Profile: p.Profile, Trust: p.Trust, System: p.System, Space: p.Space, Account: p.Account,
		Identity: m.all(p.Identity), Inbox: m.mark(p.Inbox), Token: &Token{}, tags: m.all(p.tags), in: p.in}
	q.Pub, q.Sub = m.direction(&p.Pub), m.direction(&p.Sub)
	var b []byte
	b = fmt.Appendf(b, "%q %q %t %q %q %q %q %q %t %t", p.Profile, p.Trust, p.System, p.Space, p.Account, q.Inbox, q.Identity, q.tags, p.Pub.Open, p.Sub.Open)
	for _, d := range q.directions() {
		for _, list := range [][]Entry{d.Allow, d.Deny} {
			b = append(b, '\n')
			for i := range list {
				b = append(append(append(append(b, list[i].Pattern...), ' '), list[i].Queue...), '\n')
			}
		}
	}
	return q, sha256.Sum256(b), m.ok
}

// marker puts marks in the place of values.
type marker struct {
	values []opaque
	ok     bool
}

func (m *marker) all(from map[string]string) map[string]string {
	out := make(map[string]string, len(from))
	for k, v := range from {
		out[k] = m.mark(v)
	}
	return out
}

func (m *marker) direction(d *Direction) Direction {
	list := func(from []Entry) []Entry {
		out := make([]Entry, len(from))
		for i, e := range from {
			out[i] = Entry{Entry: subject.Entry{Pattern: subject.Pattern(m.mark(string(e.Pattern))), Queue: m.mark(e.Queue)}}
			m.ok = m.ok && e.at == (spot{}) && len(e.Rows) == 0
		}
		return out
	}
	return Direction{Open: d.Open, Allow: list(d.Allow), Deny: list(d.Deny)}
}

// mark replaces each value that stands as a whole word, or as whole words in a row.
func (m *marker) mark(text string) string {
	m.ok = m.ok && !strings.Contains(text, "{{")
	for _, v := range m.values {
		from := 0
		for {
			at := strings.Index(text[from:], v.value)
			if at < 0 {
				break
			}
			at += from
			end := at + len(v.value)
			if at > 0 && isWord(rune(text[at-1])) || end < len(text) && isWord(rune(text[end])) {
				m.ok = false
				break
			}
			text = text[:at] + v.mark + text[end:]
			from = at + len(v.mark)
		}
		m.ok = m.ok && !strings.Contains(text, v.word)
	}
	return text
}

// opaques are the values of a credential that stand for nothing but themselves: parameters that rows write into subjects and no
// condition compares, whose words are in no other value that it states and nowhere in what the contract resolves to.
func (a *auditor) opaques(p *Principal, profile *contract.Profile) (out []opaque, ok bool) {
	stated := a.stated(p, profile)
	open, fixed := a.openValues(profile, stated)
	if fits(profile, open, stated) != nil {
		return nil, false
	}
	known, ok := a.wordsKnown(profile, stated, p.Space)
	if !ok {
		return nil, false
	}
	all := maps.Clone(fixed)
	for name, value := range open {
		all[name] = value
	}
	count := map[string]int{}
	for _, value := range all {
		for _, w := range wordsOf(value) {
			count[w]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		value := open[name]
		if value != stated[name] || !opaqueValue(value) || strings.Contains(known, value) || slices.ContainsFunc(wordsOf(value), func(w string) bool { return count[w] != 1 }) {
			continue
		}
		out = append(out, opaque{value, mark(len(out)), slices.MaxFunc(wordsOf(value), func(a, b string) int { return len(a) - len(b) })})
	}
	return out, true
}

// opaqueValue reports whether a value is of words alone and cannot be taken for what a witness is made of, or for a number.
func opaqueValue(value string) bool {
	for _, made := range []string{usualFresh, subject.Pattern("*").Witness(), subject.Pattern(">").Witness()} {
		if strings.HasPrefix(value, made) || strings.Contains(value, usualFresh) {
			return false
		}
	}
	letter := false
	for i := range len(value) {
		switch c := value[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letter = true
		case c >= '0' && c <= '9', c == '_' && i > 0 && i < len(value)-1:
		default:
			return false
		}
	}
	return letter
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !isWord(r) })
}

func isWord(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }

// wordsKnown is every text that the contract resolves to for a profile in a space, and what this package looks for.
func (a *auditor) wordsKnown(profile *contract.Profile, stated map[string]string, space string) (string, bool) {
	key := profile.Name + "\x00" + space
	if known, ok := a.literals[key]; ok {
		return known, known != ""
	}
	a.literals[key] = ""
	origins, _, err := a.origins(profile, stated, space)
	if err != nil || len(origins) == 0 {
		return "", false
	}
	var b strings.Builder
	add := func(list ...string) {
		for _, text := range list {
			b.WriteString(text)
			b.WriteByte('\n')
		}
	}
	add(compile.APIVerbs()...)
	add(usualFresh, apiRoot, ackRoot, inboxPrefix, "$KV", "$O", "$SYS", "$MQTT", "KV_", "OBJ_", profile.Name, space)
	set := a.rulesOf(space)
	for i := range set.rules {
		r := &set.rules[i]
		for _, list := range r.families {
			for _, f := range list {
				add(string(f))
			}
		}
		add(r.queue)
		for _, bound := range r.within {
			add(string(bound.family), bound.queue)
		}
		for _, bound := range r.Within {
			for _, t := range []contract.Template{bound.Family, bound.Queue} {
				add(t.Source)
			}
			for _, e := range bound.Each {
				for _, l := range e.Literals {
					add(l.Resource, l.Text.Source)
				}
			}
		}
	}
	if w := a.world(space); w != nil {
		for _, s := range w.streams {
			add(s.id, s.stream)
			for _, p := range s.subjects {
				add(string(p))
			}
		}
	}
	for _, r := range a.cfg.Contract.Rows {
		add(r.Op.Subject.Source, r.Op.Queue.Source, r.Op.Name.Source)
		for _, t := range []*contract.Template{r.Op.Filter, r.Op.Key} {
			if t != nil {
				add(t.Source)
			}
		}
		for _, e := range r.Each {
			for _, l := range e.Literals {
				add(l.Resource, l.Text.Source)
			}
		}
	}
	for _, s := range a.shapes { // with marks of their own for what is stated
		for _, o := range s.origins {
			add(o.queue)
			add(o.tokens...)
		}
	}
	for _, t := range a.cfg.Contract.Symbols {
		add(t.Source)
	}
	for _, v := range a.cfg.Contract.Variants {
		for _, tokens := range v.Cases {
			for _, t := range tokens {
				add(t.Source)
			}
		}
	}
	for _, d := range profile.Derive {
		add(d.Text.Source)
	}
	known := b.String()
	a.literals[key] = known
	return known, true
}
