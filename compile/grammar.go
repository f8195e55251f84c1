package compile

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// GrammarError says how a value misses its grammar.
type GrammarError struct {
	Want string
	Hint string
}

func (e *GrammarError) Error() string { return "want " + e.Want }

// CheckGrammar reports whether text fits g; nil means it does.
func CheckGrammar(g *contract.Grammar, text string) *GrammarError {
	if isSeed(text) {
		return &GrammarError{Want: "no secret key: it would stand in every subject, and be printed"}
	}
	if g.Max > 0 && len(text) > g.Max {
		return &GrammarError{Want: fmt.Sprintf("at most %d bytes", g.Max)}
	}
	if !g.Dotted {
		if !g.Token.MatchString(text) || !literalToken(text) {
			return &GrammarError{Want: g.Source}
		}
		return nil
	}
	segments := strings.Split(text, ".")
	for i, seg := range segments {
		last := i == len(segments)-1
		switch {
		case seg == ">" && last && g.Tail:
		case seg == "*" && g.Star == contract.StarInner && !last:
		case seg == "*" && g.Star == contract.StarInner:
			// D3: a final "*" also admits deeper subjects, and its history filter cannot be closed.
			return &GrammarError{Want: "no final *", Hint: "list the names one by one, or use > for the whole subtree"}
		case !g.Token.MatchString(seg) || !literalToken(seg):
			return &GrammarError{Want: "dot-separated segments of " + g.Source}
		}
	}
	return nil
}

// isSeed reports whether text has the form of an nkey seed.
func isSeed(text string) bool {
	if len(text) != 58 || text[0] != 'S' || !strings.Contains("OACNUX", text[1:2]) {
		return false
	}
	return strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// literalToken reports whether text is one token of a subject without wildcards, whatever an expression says: no grammar admits
// what the broker would read as more, or what splits a permission entry.
func literalToken(text string) bool {
	p, err := subject.ParseStrict(text)
	return err == nil && p.IsLiteral() && !strings.Contains(text, ".")
}

func grammarName(g *contract.Grammar) string { return "grammar " + cmp.Or(g.Name, "in place") }

func describe(t *contract.Type) string {
	switch t.Kind {
	case contract.TypeList:
		return "a list of " + describe(t.Elem)
	case contract.TypeRecord:
		return "a record " + t.Record.Name
	case contract.TypeEnum:
		return "one of " + strings.Join(t.Enum, ", ")
	case contract.TypeBool:
		return "true or false"
	case contract.TypeMember:
		return "a member of " + t.Of
	case contract.TypePattern:
		return "a subtree of " + t.Of
	}
	return cmp.Or(t.Grammar.Name, t.Grammar.Source)
}

func show(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return "a record"
	case nil:
		return "nothing"
	}
	return fmt.Sprint(v)
}

// quote shows a value in a message, cut so that a hostile one cannot flood it.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
	}
	return fmt.Sprintf("%q", s)
}
