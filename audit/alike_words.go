package audit

import (
	"bytes"
	_ "embed"
	"iter"
	"reflect"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// runs are where the words of a text begin and end: runs of letters and digits, and of bytes beyond ASCII.
func runs[T string | []byte](text T) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for at := 0; at < len(text); at++ {
			if !isLetter(text[at]) {
				continue
			}
			start := at
			for at++; at < len(text) && isLetter(text[at]); at++ {
			}
			if !yield(start, at) {
				return
			}
		}
	}
}

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80
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
	for start, end := range runs(text) {
		l[text[start:end]] = true
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
