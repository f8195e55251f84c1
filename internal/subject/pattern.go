package subject

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pattern is a NATS subject that may hold the wildcards "*" (one token) and a final ">" (one or more tokens). Values come from
// [Parse] or [ParseStrict]; the functions of this package assume that.
type Pattern string

// spaces are the bytes that nats-server's IsValidSubject refuses inside a subject.
const spaces = "\t\n\f\r "

// Parse accepts exactly what nats-server's IsValidSubject accepts: no empty token, none of tab, newline, form feed, carriage
// return and space, ">" as a token only in the last place. A "*" or ">" inside a longer token is a literal character.
func Parse(s string) (Pattern, error) {
	if s == "" {
		return "", fmt.Errorf("empty subject, want at least one token")
	}
	n, full := 0, false
	for token := range strings.SplitSeq(s, ".") {
		n++
		switch {
		case token == "":
			return "", fmt.Errorf("subject %q: token %d is empty, want no leading, trailing or double dot", s, n)
		case full:
			return "", fmt.Errorf("subject %q: got %q in token %d, want it in the last place only", s, ">", n-1)
		case strings.ContainsAny(token, spaces):
			return "", fmt.Errorf("subject %q: token %d holds white space, want none", s, n)
		}
		full = token == ">"
	}
	return Pattern(s), nil
}

// ParseStrict is Parse for subjects that a person wrote: it also refuses "*" or ">" inside a longer token, which the broker
// takes literally, and every other space, control character and invalid UTF-8, which the broker carries but which splits a
// permission entry in two or cannot be read.
func ParseStrict(s string) (Pattern, error) {
	if plain(s) {
		return Pattern(s), nil
	}
	return parseStrict(s)
}

// plain reports whether s is a valid subject of ASCII graphic characters, which almost all are, in one pass.
func plain(s string) bool {
	start, wild := 0, false
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '.' {
			if s[i] <= ' ' || s[i] > '~' {
				return false
			}
			wild = wild || s[i] == '*' || s[i] == '>'
			continue
		}
		if i == start || wild && i > start+1 || wild && s[start] == '>' && i < len(s) {
			return false
		}
		start, wild = i+1, false
	}
	return true
}

func parseStrict(s string) (Pattern, error) {
	p, err := Parse(s)
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("subject %q: got invalid UTF-8, want text", s)
	}
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return "", fmt.Errorf("subject %q: got character %U, want no space and no control character", s, r)
		}
	}
	for token := range strings.SplitSeq(s, ".") {
		if len(token) > 1 && strings.ContainsAny(token, "*>") {
			return "", fmt.Errorf("subject %q: got a wildcard inside token %q, want it to be the whole token (the broker reads it as a literal character)", s, token)
		}
	}
	return p, nil
}

// IsLiteral reports whether the pattern has no wildcard token.
func (p Pattern) IsLiteral() bool {
	for rest, more := string(p), true; more; {
		var token string
		token, rest, more = cut(rest)
		if token == "*" || token == ">" {
			return false
		}
	}
	return true
}

// Tokens returns the tokens in order.
func (p Pattern) Tokens() []string { return strings.Split(string(p), ".") }

// NumTokens returns the number of tokens.
func (p Pattern) NumTokens() int { return strings.Count(string(p), ".") + 1 }

// Matches reports whether the pattern matches the text of a subject as the broker's subject tree does: "*" and ">" in the
// subject are ordinary tokens there, and a subject with an empty token matches nothing.
func (p Pattern) Matches(subject string) bool {
	if hasEmptyToken(subject) {
		return false
	}
	test, text := string(p), subject
	for {
		t, testRest, testMore := cut(test)
		if t == ">" {
			return true
		}
		s, textRest, textMore := cut(text)
		if t != "*" && t != s {
			return false
		}
		if !testMore || !textMore {
			return testMore == textMore
		}
		test, text = testRest, textRest
	}
}

func hasEmptyToken(s string) bool {
	return s == "" || s[0] == '.' || s[len(s)-1] == '.' || strings.Contains(s, "..")
}

// cut returns the first token, what follows its dot, and whether there was a dot.
func cut(s string) (token, rest string, more bool) {
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
