package profiles

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// Grammar reads a token or dotted-name grammar. Its expression may match only characters that are safe inside a subject token:
// printable ASCII without space, ".", "*" and ">". The extra keys are those that may stand beside a grammar written in place.
func Grammar(name string, n source.Node, extra ...string) *contract.Grammar {
	keys := append([]string{"token", "dotted", "max", "wildcards", "as-token", "hint"}, extra...)
	return grammar(name, n.Map(keys...))
}

func grammar(name string, m source.Map) *contract.Grammar {
	g := &contract.Grammar{Name: name, Pos: m.Pos(), Max: int(m.Get("max").Int(1, 1024)), Hint: m.Get("hint").Text()}
	token, dotted := m.Get("token"), m.Get("dotted")
	switch {
	case token.Given() && dotted.Given():
		dotted.Fail("token and dotted exclude each other", "", "one of them", "")
	case dotted.Given():
		g.Dotted = true
		g.Source, g.Token = expression(dotted)
		wildcards(g, m.Get("wildcards"))
		g.AsToken = asToken(m.Get("as-token"))
		if g.AsToken != nil && (g.Star != contract.StarNone || g.Tail) {
			m.Get("wildcards").Fail("wildcards and as-token exclude each other", "", "one of them", "a wildcard inside one token is a literal character")
		}
	case token.Given():
		g.Source, g.Token = expression(token)
		for _, key := range []string{"wildcards", "as-token"} {
			if v := m.Get(key); v.Given() {
				v.Fail(key+" belongs to a dotted grammar", "", "dotted instead of token", "")
			}
		}
	case m.IsMap():
		m.Fail("grammar without an expression", "", "token or dotted", "")
	}
	return g
}

func expression(n source.Node) (string, *regexp.Regexp) {
	text := n.Text()
	if text == "" {
		return "", nil
	}
	// Both the text alone and the anchored whole must parse: "a)|(b" is no expression, and "\\Qb" swallows the anchor.
	whole := "^(?:" + text + ")$"
	_, err := syntax.Parse(text, syntax.Perl)
	var parsed *syntax.Regexp
	var re *regexp.Regexp
	if err == nil {
		parsed, err = syntax.Parse(whole, syntax.Perl)
	}
	if err == nil {
		re, err = regexp.Compile(whole)
	}
	if err != nil {
		n.Fail("regular expression is not valid: "+err.Error(), "", "", "")
		return "", nil
	}
	if r, bad := unsafe(parsed); bad {
		n.Fail("grammar admits "+describeRune(r), fmt.Sprintf("%q", text), "only characters of one token: printable ASCII without space, '.', '*' and '>'",
			"write a character class such as [a-z0-9-]{1,32}")
		return text, re
	}
	if re.MatchString("") {
		n.Fail("grammar admits the empty token", fmt.Sprintf("%q", text), "at least one character", "")
	}
	return text, re
}

func describeRune(r rune) string {
	if r < 0 {
		return "any character"
	}
	return fmt.Sprintf("the character %q", r)
}

// unsafe returns a character that the expression can match and a token must not hold; -1 stands for any character.
func unsafe(re *syntax.Regexp) (rune, bool) {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return -1, true
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if bad, ok := unsafeLiteral(r, re.Flags&syntax.FoldCase != 0); ok {
				return bad, true
			}
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if bad, ok := unsafeRange(re.Rune[i], re.Rune[i+1]); ok {
				return bad, true
			}
		}
	}
	for _, sub := range re.Sub {
		if bad, ok := unsafe(sub); ok {
			return bad, true
		}
	}
	return 0, false
}

func unsafeLiteral(r rune, fold bool) (rune, bool) {
	if bad, ok := unsafeRange(r, r); ok {
		return bad, true
	}
	if fold {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if bad, ok := unsafeRange(f, f); ok {
				return bad, true
			}
		}
	}
	return 0, false
}

func unsafeRange(low, high rune) (rune, bool) {
	if low <= ' ' {
		return low, true
	}
	for _, r := range ".*>" {
		if low <= r && r <= high {
			return r, true
		}
	}
	if high > '~' {
		return high, true
	}
	return 0, false
}

func wildcards(g *contract.Grammar, n source.Node) {
	m := n.Map("star", "tail")
	if m.Get("star").OneOf(string(contract.StarInner), "none") == string(contract.StarInner) {
		g.Star = contract.StarInner
	}
	g.Tail = m.Get("tail").Bool()
}

func asToken(n source.Node) map[string]string {
	if !n.Given() {
		return nil
	}
	out := map[string]string{}
	for _, f := range n.Fields() {
		to := f.Value.Text()
		if strings.ContainsAny(to, ".*> \t\r\n") {
			f.Value.Fail("as-token replacement is not safe in a token", fmt.Sprintf("%q", to), "no '.', '*', '>' or space", "")
		}
		out[f.Name] = to
	}
	if _, ok := out["."]; n.IsMap() && !ok {
		n.Fail("as-token leaves the dots", fmt.Sprintf("keys %s", strings.Join(slices.Sorted(keysOf(out)), ", ")), `a replacement for "."`, "")
	}
	return out
}
