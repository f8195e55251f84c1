package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Lock is what a book had when it was last accepted: each sentence with its digest, and how many of a section may be open.
type Lock struct {
	file    string
	digests map[string]string
	lines   map[string]int
	ids     []string // in order
	open    map[string]int
}

var (
	lockOpen     = regexp.MustCompile(`^([0-9A-Z.]+) open (\d{1,4})$`)
	lockSentence = regexp.MustCompile(`^([0-9A-Z.]+-\d{3}) ([0-9a-f]{12})$`)
)

// ParseLock reads a lock file.
func ParseLock(file string, data []byte) (*Lock, error) {
	l := &Lock{file: file, digests: map[string]string{}, lines: map[string]int{}, open: map[string]int{}}
	var out contract.Problems
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		fail := func(what string) {
			out = append(out, &contract.Problem{Pos: contract.Pos{File: file, Line: n, Col: 1}, What: what})
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if m := lockOpen.FindStringSubmatch(line); m != nil {
			if _, twice := l.open[m[1]]; twice {
				fail(fmt.Sprintf("section %s stands twice", m[1]))
			}
			l.open[m[1]], _ = strconv.Atoi(m[2]) // at most four digits
			l.lines[m[1]] = n
			continue
		}
		m := lockSentence.FindStringSubmatch(line)
		switch {
		case m == nil:
			fail("neither a sentence and its digest nor a section and its open number")
		case l.digests[m[1]] != "":
			fail(fmt.Sprintf("sentence %s stands twice", m[1]))
		default:
			l.digests[m[1]], l.lines[m[1]] = m[2], n
			l.ids = append(l.ids, m[1])
		}
	}
	return l, out.Err()
}

func (l *Lock) at(what string) contract.Pos {
	return contract.Pos{File: l.file, Line: max(1, l.lines[what]), Col: 1}
}

// Lost reports what the book lost against the lock: a sentence that vanished or changed, and a section with more open ones. Only
// an edit of the lock by hand admits that, so that it is seen in the change.
func (l *Lock) Lost(b *Book) contract.Problems {
	var out contract.Problems
	now := map[string]string{}
	for _, s := range b.Sheets {
		for _, e := range s.Entries {
			now[e.ID] = e.Digest
			if was := l.digests[e.ID]; was != "" && was != e.Digest {
				out = append(out, &contract.Problem{Pos: e.Pos, Row: e.ID, What: "the digest is not the lock's", Got: e.Digest, Want: was,
					Hint: "compare with the text: go run ./internal/conformance/gen -text FILE"})
			}
		}
		if most, ok := l.open[s.Section]; ok && s.Open() > most {
			out = append(out, &contract.Problem{Pos: l.at(s.Section), What: fmt.Sprintf("section %s has more open sentences", s.Section),
				Got: strconv.Itoa(s.Open()), Want: fmt.Sprintf("at most %d", most), Hint: "answer one"})
		}
	}
	for _, id := range l.ids {
		if now[id] == "" {
			out = append(out, &contract.Problem{Pos: l.at(id), Row: id, What: "the sentence has vanished from the data"})
		}
	}
	return out
}

// Stale reports what the lock does not say yet: a new sentence, or a smaller number of open ones.
func (l *Lock) Stale(b *Book) contract.Problems {
	const hint = "go run ./internal/conformance/gen -lock"
	var out contract.Problems
	for _, s := range b.Sheets {
		for _, e := range s.Entries {
			if l.digests[e.ID] == "" {
				out = append(out, &contract.Problem{Pos: e.Pos, Row: e.ID, What: "the sentence is not in the lock", Hint: hint})
			}
		}
		if most, ok := l.open[s.Section]; !ok || s.Open() < most {
			out = append(out, &contract.Problem{Pos: l.at(s.Section), What: fmt.Sprintf("section %s: the lock's number of open sentences", s.Section),
				Got: strconv.Itoa(most), Want: strconv.Itoa(s.Open()), Hint: hint})
		}
	}
	return out
}

// FormatLock writes the lock of a book.
func FormatLock(b *Book) []byte {
	var w strings.Builder
	w.WriteString(`# Each normative sentence with the digest of its words, and how many of a section may be open. "go run
# ./internal/conformance/gen -lock" adds sentences and lowers a number. A sentence leaves, and a number grows, by hand alone.
`)
	for _, s := range b.Sheets {
		fmt.Fprintf(&w, "\n%s open %d\n", s.Section, s.Open())
		for _, e := range s.Entries {
			fmt.Fprintf(&w, "%s %s\n", e.ID, e.Digest)
		}
	}
	return []byte(w.String())
}
