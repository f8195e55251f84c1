package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// Sentence is one normative sentence of a specification's text.
type Sentence struct {
	ID     string // section and ordinal among the section's normative sentences, such as "13.9-017"
	Must   string // the key word that makes it normative
	Digest string // of its words, so that a changed sentence is seen without storing it
	Text   string // the sentence itself; it is never stored
}

// Section is one section of a specification's text with its normative sentences.
type Section struct {
	Name      string // "13.9", "B"
	Title     string
	Sentences []Sentence
}

var (
	heading  = regexp.MustCompile(`^(?:Appendix ([A-Z]): |(\d+(?:\.\d+)?)\.? )([A-Z].*)$`)
	breaks   = regexp.MustCompile(`[.;!?](?:\*\*|["”)\]])*\s+|\t|\n`)
	keywords = regexp.MustCompile(`\bMUST NOT\b|\bMUST\b|\bREQUIRED\b|\bSHALL(?: NOT)?\b|\b[Oo]nly\b|\bONLY\b|\b[Nn]ever\b|\bNEVER\b`)
	spaces   = regexp.MustCompile(`[\s*_` + "`" + `]+`)
)

// Extract splits the plain text of a specification into sections and those into sentences, at full stops, semicolons, line ends
// and table cells, and keeps the sentences with a key word: MUST, MUST NOT, REQUIRED, SHALL, "only", "never". wanted names the
// sections in the order in which they stand; each must be there, with its heading on a line of its own. The first heading of a
// name counts: a table of contents behind the text repeats them.
func Extract(text string, wanted []string) ([]Section, error) {
	found := map[string]*Section{}
	var current *Section
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := heading.FindStringSubmatch(line); m != nil && len(line) < 100 && found[m[1]+m[2]] == nil {
			current = &Section{Name: m[1] + m[2], Title: m[3]}
			found[current.Name] = current
			continue
		}
		if current != nil {
			current.add(line)
		}
	}
	var out []Section
	for _, name := range wanted {
		s, ok := found[name]
		if !ok {
			return nil, fmt.Errorf("the text has no section %s", name)
		}
		out = append(out, *s)
	}
	return out, nil
}

func (s *Section) add(line string) {
	start := 0
	for _, end := range append(breaks.FindAllStringIndex(line, -1), []int{len(line), len(line)}) {
		s.sentence(strings.TrimSpace(line[start:end[1]]))
		start = end[1]
	}
}

func (s *Section) sentence(text string) {
	must := keywords.FindString(text)
	if must == "" {
		return
	}
	sum := sha256.Sum256([]byte(strings.ToLower(spaces.ReplaceAllString(text, " "))))
	s.Sentences = append(s.Sentences, Sentence{ID: fmt.Sprintf("%s-%03d", s.Name, len(s.Sentences)+1), Must: must,
		Digest: hex.EncodeToString(sum[:6]), Text: text})
}
