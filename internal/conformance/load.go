package conformance

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// outlineFile and LockFile are the files of a book beside its sheets.
const (
	outlineFile = "sections.yaml"
	LockFile    = "sentences.lock"
)

const maxWords = 120 // bytes of an entry's words: enough to find a sentence, too little to be a copy of the text

var (
	digestForm = regexp.MustCompile(`^[0-9a-f]{12}$`)
	wholeMust  = regexp.MustCompile(`^(?:` + keywords.String() + `)$`)
)

// Load reads a book: sections.yaml and one sheet per section that it marks as accounted for. It reports everything that is wrong
// at once.
func Load(fsys fs.FS, dir string) (*Book, error) {
	r := &source.Report{}
	data, err := fs.ReadFile(fsys, path.Join(dir, outlineFile))
	if err != nil {
		return nil, err
	}
	b := &Book{Name: path.Base(dir), Outline: parseOutline(r, path.Join(dir, outlineFile), data)}
	files, err := fs.Glob(fsys, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if path.Base(file) == outlineFile {
			continue
		}
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, err
		}
		b.Sheets = append(b.Sheets, b.parseSheet(r, file, data))
	}
	b.order(r, dir)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return b, nil
}

// order sorts the sheets as the outline has them and reports sections without a sheet.
func (b *Book) order(r *source.Report, dir string) {
	at := func(name string) int {
		return slices.IndexFunc(b.Outline.Sections, func(h Heading) bool { return h.ID == name })
	}
	slices.SortStableFunc(b.Sheets, func(x, y *Sheet) int { return at(x.Section) - at(y.Section) })
	for _, h := range b.Outline.Sections {
		if h.Accounted && !slices.ContainsFunc(b.Sheets, func(s *Sheet) bool { return s.Section == h.ID }) {
			r.Add(source.Error{Pos: contract.Pos{File: path.Join(dir, outlineFile), Line: 1, Col: 1},
				What: fmt.Sprintf("section %s is accounted for, but there is no %s.yaml", h.ID, h.ID)})
		}
	}
}

func (b *Book) parseSheet(r *source.Report, file string, data []byte) *Sheet {
	m := source.Parse(r, file, data).Map("section", "title", "sentences")
	s := &Sheet{Section: m.Need("section").Text(), Title: m.Need("title").Text(), Pos: m.Pos()}
	h := b.Outline.heading(s.Section)
	switch {
	case s.Section != strings.TrimSuffix(path.Base(file), ".yaml"):
		m.Get("section").Fail(fmt.Sprintf("section %q stands in %s", s.Section, path.Base(file)), "", s.Section+".yaml", "")
	case h == nil || !h.Accounted:
		m.Get("section").Fail(fmt.Sprintf("section %q is not accounted for", s.Section), "", "", "mark it in "+outlineFile+": accounted: true")
	case s.Title != h.Title:
		m.Get("title").Fail("title", fmt.Sprintf("%q", s.Title), fmt.Sprintf("%q", h.Title), "")
	}
	for _, n := range m.Need("sentences").Items() {
		s.Entries = append(s.Entries, parseEntry(n, s.Section, len(s.Entries)+1))
	}
	return s
}

func parseEntry(n source.Node, section string, ordinal int) Entry {
	want := fmt.Sprintf("%s-%03d", section, ordinal)
	m := n.InRow(want).Map("id", "digest", "must", "words", "answers")
	e := Entry{ID: m.Need("id").Text(), Digest: m.Need("digest").Text(), Must: m.Need("must").Text(), Words: m.Need("words").Text(), Pos: m.Pos()}
	if e.ID != want {
		m.Get("id").Fail("id", e.ID, want, "ids count the section's normative sentences without a gap")
	}
	if !digestForm.MatchString(e.Digest) {
		m.Get("digest").Fail("digest", e.Digest, "12 of 0-9 a-f: quote it", "")
	}
	if !wholeMust.MatchString(e.Must) {
		m.Get("must").Fail("must", e.Must, "the key word of the sentence", "")
	}
	if len(e.Words) > maxWords || strings.ContainsAny(e.Words, "\n\r") {
		m.Get("words").Fail("words", fmt.Sprintf("%d bytes", len(e.Words)), fmt.Sprintf("one line of at most %d", maxWords), "")
	}
	for _, a := range m.Need("answers").Items() {
		if got, ok := parseAnswer(a.InRow(want)); ok {
			if slices.ContainsFunc(e.Answers, func(o Answer) bool { return o.same(got) }) {
				a.Fail(fmt.Sprintf("answer %s %s is given twice", got.Kind, got.Ref), "", "", "")
			}
			e.Answers = append(e.Answers, got)
		}
	}
	if e.has(groupStates) && len(e.Answers) > 1 {
		m.Get("answers").Fail("states beside another answer", "", "one of them", "a sentence that asserts nothing needs no answer")
	}
	return e
}

func (a Answer) same(b Answer) bool { a.Pos, b.Pos = contract.Pos{}, contract.Pos{}; return a == b }

func parseAnswer(n source.Node) (Answer, bool) {
	names := contract.SortedKeys(kinds)
	m := n.Map(append([]string{"setting", "issue"}, names...)...)
	a := Answer{Pos: n.Pos()}
	for _, name := range names {
		if !m.Get(name).Given() {
			continue
		}
		if a.Kind != "" {
			n.Fail(fmt.Sprintf("one answer is both %s and %s", a.Kind, name), "", "one answer each", "")
			return a, false
		}
		a.Kind, a.Ref = name, m.Get(name).Text()
	}
	k, ok := kinds[a.Kind]
	if !ok {
		if n.IsMap() {
			n.Fail("answer of no kind", "", "one of "+strings.Join(names, ", "), "")
		}
		return a, false
	}
	if v := m.Get("setting"); v.Given() {
		if a.Setting = v.Text(); !k.setting {
			v.Fail(fmt.Sprintf("%s has no setting", a.Kind), "", "", "")
		}
	}
	if v := m.Get("issue"); v.Given() {
		if a.Issue = int(v.Int(1, 99999)); !k.issue {
			v.Fail(fmt.Sprintf("%s has no issue", a.Kind), "", "", "")
		}
	}
	if n := len(strings.Fields(a.Ref)); k.words > 0 && n > k.words {
		m.Get(a.Kind).Fail(a.Kind, fmt.Sprintf("%d words", n), fmt.Sprintf("at most %d", k.words), "")
	}
	return a, true
}
