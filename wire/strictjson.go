package wire

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth is how deep a strict document may nest: a handle needs five levels.
const maxJSONDepth = 16

// jsonKind is the kind of a JSON value.
type jsonKind string

// The kinds of values, in the words of a message.
const (
	jsonObject jsonKind = "an object"
	jsonArray  jsonKind = "an array"
	jsonString jsonKind = "a string"
	jsonNumber jsonKind = "a number"
	jsonBool   jsonKind = "a boolean"
	jsonNull   jsonKind = "null"
)

// jsonNode is a value with its place. encoding/json keeps the last of two equal names, replaces lone surrogates and forgets where
// a value stood; a signed artifact must have one reading, and its faults a position.
type jsonNode struct {
	kind      jsonKind
	path      string // "grants[0].endpoint"; "" is the document
	line, col int
	text      string // of a string, decoded; of a number or boolean, as written
	members   []jsonMember
	items     []*jsonNode
}

type jsonMember struct {
	name  string
	key   *jsonNode
	value *jsonNode
}

// jsonScanner reads RFC 8259 and nothing beside, and refuses what has no I-JSON form: repeated names and lone surrogates.
type jsonScanner struct {
	data      string
	at        int
	line, col int
	fault     *Fault // the first one ends the walk
}

// parseJSON reads one document.
func parseJSON(data []byte) (*jsonNode, *Fault) {
	if !utf8.Valid(data) || strings.HasPrefix(string(data), "\uFEFF") {
		return nil, &Fault{Line: 1, Col: 1, What: "not plain UTF-8", Want: "UTF-8 without a byte order mark"}
	}
	s := &jsonScanner{data: string(data), line: 1, col: 1}
	root := s.value("", 1)
	s.space()
	if s.fault == nil && s.at < len(s.data) {
		s.fail("not valid JSON", s.found(), "nothing behind the document")
	}
	return root, s.fault
}

func (s *jsonScanner) fail(what, got, want string) {
	if s.fault == nil {
		s.fault = &Fault{Line: s.line, Col: s.col, What: what, Got: got, Want: want}
	}
}

func (s *jsonScanner) peek() byte {
	if s.fault != nil || s.at >= len(s.data) {
		return 0
	}
	return s.data[s.at]
}

// step moves behind the next rune.
func (s *jsonScanner) step() rune {
	r, n := utf8.DecodeRuneInString(s.data[s.at:])
	s.at += n
	s.col++
	if r == '\n' {
		s.line, s.col = s.line+1, 1
	}
	return r
}

func (s *jsonScanner) space() {
	for s.at < len(s.data) && strings.IndexByte(" \t\r\n", s.data[s.at]) >= 0 {
		s.step()
	}
}

// found says what stands at the scanner's place.
func (s *jsonScanner) found() string {
	if s.at >= len(s.data) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRuneInString(s.data[s.at:])
	return strconv.QuoteRune(r)
}

// eat moves over one expected character.
func (s *jsonScanner) eat(c byte, want string) bool {
	if s.peek() != c {
		s.fail("not valid JSON", s.found(), want)
		return false
	}
	s.step()
	return true
}

func (s *jsonScanner) value(path string, depth int) *jsonNode {
	s.space()
	n := &jsonNode{path: path, line: s.line, col: s.col}
	if depth > maxJSONDepth {
		s.fail("nested too deep", fmt.Sprintf("more than %d levels", maxJSONDepth), "the levels of a handle")
		return n
	}
	switch c := s.peek(); {
	case c == '{':
		n.kind = jsonObject
		s.object(n, depth)
	case c == '[':
		n.kind = jsonArray
		s.array(n, depth)
	case c == '"':
		n.kind, n.text = jsonString, s.str()
	case c == '-' || c >= '0' && c <= '9':
		n.kind, n.text = jsonNumber, s.number()
	case s.word("true"), s.word("false"):
		n.kind, n.text = jsonBool, strconv.FormatBool(c == 't')
	case s.word("null"):
		n.kind = jsonNull
	default:
		s.fail("not valid JSON", s.found(), "a value")
	}
	return n
}

func (s *jsonScanner) word(w string) bool {
	if s.fault != nil || !strings.HasPrefix(s.data[s.at:], w) {
		return false
	}
	s.at, s.col = s.at+len(w), s.col+len(w)
	return true
}

func (s *jsonScanner) object(n *jsonNode, depth int) {
	s.step()
	seen := map[string]int{}
	for s.space(); s.peek() != '}'; s.space() {
		if len(n.members) > 0 && !s.eat(',', "',' or '}'") {
			return
		}
		s.space()
		key := &jsonNode{kind: jsonString, line: s.line, col: s.col}
		if s.peek() != '"' {
			s.fail("not valid JSON", s.found(), "a name in quotes")
			return
		}
		key.text = s.str()
		key.path = joinPath(n.path, key.text)
		if line, dup := seen[key.text]; dup && s.fault == nil {
			s.fault = &Fault{Path: key.path, Line: key.line, Col: key.col, What: fmt.Sprintf("duplicate key, first given in line %d", line),
				Hint: "leave one of them: two readers would take different ones"}
		}
		seen[key.text] = key.line
		s.space()
		if !s.eat(':', "':'") {
			return
		}
		n.members = append(n.members, jsonMember{key.text, key, s.value(key.path, depth+1)})
		if s.fault != nil {
			return
		}
	}
	s.eat('}', "'}'")
}

func (s *jsonScanner) array(n *jsonNode, depth int) {
	s.step()
	for s.space(); s.peek() != ']'; s.space() {
		if len(n.items) > 0 && !s.eat(',', "',' or ']'") {
			return
		}
		n.items = append(n.items, s.value(fmt.Sprintf("%s[%d]", n.path, len(n.items)), depth+1))
		if s.fault != nil {
			return
		}
	}
	s.eat(']', "']'")
}

func joinPath(path, name string) string {
	if !plainKey(name) {
		name = strconv.Quote(short(name))
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func plainKey(name string) bool {
	for i := range len(name) {
		if !isWord(name[i]) && name[i] != '-' {
			return false
		}
	}
	return name != "" && len(name) <= maxToken
}

// number moves over a number; what it may be is for its reader to say.
func (s *jsonScanner) number() string {
	from := s.at
	if s.peek() == '-' {
		s.step()
	}
	if s.peek() == '0' {
		s.step()
	} else {
		s.digits()
	}
	if s.peek() == '.' {
		s.step()
		s.digits()
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.step()
		if c := s.peek(); c == '+' || c == '-' {
			s.step()
		}
		s.digits()
	}
	return s.data[from:s.at]
}

func (s *jsonScanner) digits() {
	if c := s.peek(); c < '0' || c > '9' {
		s.fail("not valid JSON", s.found(), "a digit")
	}
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.step()
	}
}
