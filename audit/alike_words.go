package audit

import (
	"bytes"
	_ "embed"
	"iter"
	"reflect"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// words are the runs of letters and digits of a text. What no check tells apart is a letter too.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for start, at := -1, 0; at <= len(text); at++ {
			switch in := at < len(text) && isLetter(text[at]); {
			case in && start < 0:
				start = at
			case !in && start >= 0:
				if !yield(text[start:at]) {
					return
				}
				start = -1
			}
		}
	}
}

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80
}

// renamed replaces whole words of a text.
func renamed(text string, to map[string]string) string {
	var out strings.Builder
	done := 0
	for start, at := -1, 0; at <= len(text); at++ {
		switch in := at < len(text) && isLetter(text[at]); {
		case in && start < 0:
			start = at
		case !in && start >= 0:
			if other, ok := to[text[start:at]]; ok {
				if done == 0 {
					out.Grow(len(text)) // no word becomes longer
				}
				out.WriteString(text[done:start])
				out.WriteString(other)
				done = at
			}
			start = -1
		}
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// standIns are the letters that masked words are made of, one for each word of a credential.
const standIns = "qxjzvkwpm"

// alike is a word of one letter as long as another one, in upper case where that has some. Where first is set, it begins as the other does.
func alike(word string, letter byte, first bool) string {
	if strings.ToLower(word) != word {
		letter ^= 'a' ^ 'A'
	}
	out := bytes.Repeat([]byte{letter}, len(word))
	if first {
		out[0] = word[0]
	}
	return string(out)
}

// codeWords are the words of every string in the code that judges: subjects of the broker, verbs, and prose.
//
//go:embed words.txt
var codeWords string

// meanings are words that mean something of themselves.
type meanings map[string]bool

// shortest is the length below which any word may mean something.
const shortest = 3

// has reports whether a word may stand for more than the name of a holder.
func (l meanings) has(word string) bool { return len(word) < shortest || l[word] }

// meaningsOf are the words of the code and of a contract.
func meaningsOf(c *contract.Contract) meanings {
	l := meanings{}
	l.add(codeWords)
	l.collect(reflect.ValueOf(c), map[uintptr]bool{})
	return l
}

func (l meanings) add(text string) {
	for word := range words(text) {
		l[word] = true
	}
}

// collect adds the words of every text that a value holds, wherever it stands.
func (l meanings) collect(v reflect.Value, met map[uintptr]bool) {
	switch v.Kind() {
	case reflect.String:
		l.add(v.String())
	case reflect.Pointer:
		if v.IsNil() || met[v.Pointer()] {
			return
		}
		met[v.Pointer()] = true
		l.collect(v.Elem(), met)
	case reflect.Interface:
		l.collect(v.Elem(), met)
	case reflect.Struct:
		for i := range v.NumField() {
			l.collect(v.Field(i), met)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			l.collect(v.Index(i), met)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			l.collect(entries.Key(), met)
			l.collect(entries.Value(), met)
		}
	}
}
