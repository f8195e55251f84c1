package wire

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string in quotes.
func (s *jsonScanner) str() string {
	s.step()
	var out strings.Builder
	for s.fault == nil {
		switch c := s.peek(); {
		case c == '"':
			s.step()
			return out.String()
		case s.at >= len(s.data) || c < ' ':
			s.fail("not valid JSON", s.found(), "the end of the string")
		case c == '\\':
			out.WriteRune(s.escape())
		default:
			out.WriteRune(s.step())
		}
	}
	return ""
}

var jsonEscapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (s *jsonScanner) escape() rune {
	s.step()
	c := s.peek()
	if r, ok := jsonEscapes[c]; ok {
		s.step()
		return r
	}
	if c != 'u' {
		s.fail("not valid JSON", s.found(), "an escape")
		return 0
	}
	r := s.hex()
	if !utf16.IsSurrogate(r) || s.fault != nil {
		return r
	}
	if strings.HasPrefix(s.data[s.at:], `\u`) {
		s.step()
		if pair := utf16.DecodeRune(r, s.hex()); pair != utf8.RuneError {
			return pair
		}
	}
	s.fail("not I-JSON", "a lone surrogate", "a pair")
	return 0
}

// hex reads "uXXXX".
func (s *jsonScanner) hex() rune {
	s.step()
	if s.at+4 > len(s.data) {
		s.fail("not valid JSON", "a short escape", "4 hex digits")
		return 0
	}
	var v rune
	for range 4 {
		d := strings.IndexByte("0123456789abcdefABCDEF", s.data[s.at])
		if d < 0 {
			s.fail("not valid JSON", s.found(), "4 hex digits")
			return 0
		}
		if d >= 16 {
			d -= 6
		}
		v = v<<4 | rune(d)
		s.step()
	}
	return v
}
