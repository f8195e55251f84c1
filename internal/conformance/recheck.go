package conformance

import (
	"fmt"
	"strings"
)

// Difference is one sentence in which a text and a book differ.
type Difference struct {
	What string // "changed", "new", "vanished", "moved"
	ID   string // in the text where it is there, else in the book
	Was  string // of a moved sentence: its id in the book
}

func (d Difference) String() string {
	if d.Was != "" {
		return fmt.Sprintf("%s %s, was %s", d.What, d.ID, d.Was)
	}
	return d.What + " " + d.ID
}

// Recheck compares a book with the text that it accounts for: sentences whose words changed, that are new, that vanished, or that
// stand at another ordinal.
func (b *Book) Recheck(text string) ([]Difference, error) {
	var wanted []string
	for _, s := range b.Sheets {
		wanted = append(wanted, s.Section)
	}
	sections, err := Extract(text, wanted)
	if err != nil {
		return nil, err
	}
	var out []Difference
	for i, s := range b.Sheets {
		out = append(out, recheck(s.Entries, sections[i].Sentences)...)
	}
	return out, nil
}

func recheck(had []Entry, has []Sentence) []Difference {
	places := map[string][]string{} // digest → ids in the book that no sentence of the text has taken yet
	for _, e := range had {
		places[e.Digest] = append(places[e.Digest], e.ID)
	}
	var out []Difference
	at := map[string]int{} // sentences of the text that the book does not have
	for _, s := range has {
		if was := places[s.Digest]; len(was) > 0 {
			places[s.Digest] = was[1:]
			if was[0] != s.ID {
				out = append(out, Difference{What: "moved", ID: s.ID, Was: was[0]})
			}
			continue
		}
		at[s.ID] = len(out)
		out = append(out, Difference{What: "new", ID: s.ID})
	}
	for _, e := range had {
		left := places[e.Digest]
		if len(left) == 0 || left[0] != e.ID {
			continue
		}
		places[e.Digest] = left[1:]
		if i, ok := at[e.ID]; ok { // other words at the same place
			out[i].What = "changed"
			continue
		}
		out = append(out, Difference{What: "vanished", ID: e.ID})
	}
	return out
}

// Quotes returns the entries whose own words repeat more than most words of the text in sequence, with what they repeat.
func (b *Book) Quotes(text string, most int) map[string]string {
	have := map[string]bool{}
	words := plainWords(text)
	for i := 0; i+most < len(words); i++ {
		have[strings.Join(words[i:i+most+1], " ")] = true
	}
	out := map[string]string{}
	for _, s := range b.Sheets {
		for _, e := range s.Entries {
			own := []string{e.Words}
			for _, a := range e.Answers {
				own = append(own, a.Ref)
			}
			for _, o := range own {
				w := plainWords(o)
				for i := 0; i+most < len(w); i++ {
					if run := strings.Join(w[i:i+most+1], " "); have[run] {
						out[e.ID] = run
					}
				}
			}
		}
	}
	return out
}

// plainWords are the words of a text without case and punctuation around them.
func plainWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" \t\r\n*_`\"“”()[],;:.!?—", r) })
	return words
}
