package audit

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// shapeNode is what jwt/v2 reads of a JSON object: its fields, any field (a map), or nothing below (nil).
type shapeNode struct {
	fields map[string]*shapeNode // by lower-case name
	any    *shapeNode
	open   bool // whatever stands here is read
}

// claimShapes are the shapes of the claim types, by type.
var claimShapes sync.Map

func shapeOf(claims jwt.Claims) *shapeNode {
	t := reflect.TypeOf(claims).Elem()
	if s, ok := claimShapes.Load(t); ok {
		return s.(*shapeNode)
	}
	s := shapeOfType(t)
	claimShapes.Store(t, s)
	return s
}

func shapeOfType(t reflect.Type) *shapeNode {
	switch {
	case t == reflect.TypeFor[jwt.SigningKeys]():
		return shapeOfType(reflect.TypeFor[jwt.UserScope]())
	case t == reflect.TypeFor[jwt.SamplingRate](), t == reflect.TypeFor[jwt.ExportType](), t == reflect.TypeFor[jwt.ScopeType]():
		return &shapeNode{}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return shapeOfType(t.Elem())
	case reflect.Map:
		return &shapeNode{any: shapeOfType(t.Elem())}
	case reflect.Interface:
		return &shapeNode{open: true}
	case reflect.Struct:
		s := &shapeNode{fields: map[string]*shapeNode{}}
		s.add(t)
		return s
	}
	return &shapeNode{}
}

func (s *shapeNode) add(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			s.add(f.Type)
		case name == "" || name == "-":
		default:
			child := shapeOfType(f.Type)
			if old := s.fields[strings.ToLower(name)]; old != nil { // nats, of two embedded structs
				for k, v := range child.fields {
					if old.fields == nil {
						old.fields = map[string]*shapeNode{}
					}
					old.fields[k] = v
				}
				continue
			}
			s.fields[strings.ToLower(name)] = child
		}
	}
}

// unknownFields notes the fields of claims that jwt/v2 drops (A055): a newer tool may have written there what they admit.
func (a *auditor) unknownFields(p *Principal, token string, claims jwt.Claims) {
	s := scanner{text: payload(token)}
	s.value(shapeOf(claims), "")
	if len(s.unknown) == 0 {
		return
	}
	slices.Sort(s.unknown)
	a.report(p, codeUnknown, Entry{}, "", "not known, and left out of this judgement: "+contract.Redact(strings.Join(slices.Compact(s.unknown), ", ")))
}

// scanner walks JSON that was decoded before, and so is well formed, for its keys. encoding/json would cost more than all checks.
type scanner struct {
	text    []byte
	at      int
	unknown []string
}

// maxUnknown bounds how many fields are named.
const maxUnknown = 16

func (s *scanner) value(shape *shapeNode, path string) {
	first := s.peek()
	start := s.at
	switch first {
	case '{':
		s.object(shape, path)
	case '[':
		for s.at++; s.peek() != ']' && s.peek() != 0; {
			s.value(shape, path)
			if s.peek() == ',' {
				s.at++
			}
		}
		s.at++
	case '"':
		s.str()
	default:
		for s.at < len(s.text) && !strings.ContainsRune(",]} \t\r\n", rune(s.text[s.at])) {
			s.at++
		}
		if s.at == start {
			s.at++
		}
	}
}

func (s *scanner) object(shape *shapeNode, path string) {
	for s.at++; s.peek() == '"'; {
		key := s.key()
		if s.peek() == ':' {
			s.at++
		}
		below := path + "." + key
		child := &shapeNode{open: true}
		switch {
		case shape.open:
		case shape.any != nil:
			child = shape.any
		case shape.fields[strings.ToLower(key)] != nil:
			child = shape.fields[strings.ToLower(key)]
		case len(s.unknown) < maxUnknown:
			s.unknown = append(s.unknown, strings.TrimPrefix(below, "."))
		}
		s.value(child, below)
		if s.peek() == ',' {
			s.at++
		}
	}
	s.at++
}

// peek is the next byte that is no white space, 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// str steps over a string and returns it with its quotes.
func (s *scanner) str() []byte {
	start := s.at
	for s.at++; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at = min(s.at+1, len(s.text))
	return s.text[start:s.at]
}

func (s *scanner) key() string {
	text := s.str()
	if !strings.Contains(string(text), `\`) && len(text) >= 2 {
		return string(text[1 : len(text)-1])
	}
	var key string
	_ = json.Unmarshal(text, &key) // well formed
	return key
}
