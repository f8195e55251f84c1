package audit

import (
	"cmp"
	"errors"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// errUnbalanced stands for a panic of the parser.
var errUnbalanced = errors.New("unbalanced brackets")

const (
	endOfText = "the end of the text"
	hintClose = "close every { [ and quote"
)

var (
	confErrorLine = regexp.MustCompile(`on line (\d+)|:(\d+):\d+\)$`)
	// confReason is what the lexer says, confRune the one character of the text that it may show.
	confReason = regexp.MustCompile(`(?s)^Parse error on line \d+: '(.*?)\.?'$`)
	confRune   = regexp.MustCompile(`(?s)(got|character|separator) '(\\n|.)'`)
	// confVariable is a variable that has no value. A name that is not of an environment's form may be a hash or a password that was not
	// quoted.
	confVariable = regexp.MustCompile(`^variable reference for '([^']*)'`)
	confEnv      = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
)

// unreadable is the problem that an error of the parser stands for, with its reason and place. What the parser says quotes the text,
// passwords among it: of that no more is kept than one character, where that is none of a word.
func (l *confLoader) unreadable(name, text string, err error) error {
	p := &contract.Problem{}
	if errors.As(err, &p) {
		return p
	}
	at, said, want := spot{file: name}, err.Error(), "a server configuration"
	if m := confErrorLine.FindStringSubmatch(said); m != nil {
		at.line, _ = strconv.Atoi(cmp.Or(m[1], m[2]))
		at.col = 1
	}
	const what = "is not readable by the server"
	switch {
	case strings.HasPrefix(said, "variable reference"):
		return unsetVariable(at, text, said)
	case strings.Contains(said, "EOF") && !strings.Contains(said, "comment or EOF"):
		return hinted(confProblem(at, what, endOfText+" within a block, list or quote", want), hintClose)
	}
	reason := ""
	switch m := confReason.FindStringSubmatch(said); {
	case m != nil:
		reason = confRune.ReplaceAllStringFunc(m[1], plainRune)
		reason = strings.ToLower(reason[:1]) + reason[1:]
	case errors.Is(err, errUnbalanced):
		reason = errUnbalanced.Error()
	case strings.HasPrefix(said, "config is invalid"):
		reason = "a key without a value"
	case strings.HasPrefix(said, "integer"), strings.HasPrefix(said, "float"):
		reason, want = "a number is too large", "numbers that fit 64 bits"
	}
	if found := l.locate(name, text, said); found.line > 0 {
		at = found
	}
	if reason == "" {
		return confProblem(at, what, "", want)
	}
	err = confProblem(at, what+": "+reason, "", want)
	if strings.Contains(reason, endOfText) {
		return hinted(err, hintClose)
	}
	return err
}

// plainRune keeps the character that the lexer shows where it is none of a word. The end of the text is NUL to it.
func plainRune(shown string) string {
	word, quoted, _ := strings.Cut(shown, " ")
	r, _ := utf8.DecodeRuneInString(quoted[1:])
	switch {
	case r == 0:
		return word + " " + endOfText
	case unicode.IsPunct(r) || unicode.IsSymbol(r): // a newline is shown as an escape
		return shown
	case word == "character":
		return word
	}
	return word + " another one"
}

// unsetVariable names a variable that nothing sets, where its name is one.
func unsetVariable(at spot, text, said string) error {
	got, hint := "one that is neither set above nor in the environment", "quote what is no variable, such as a bcrypt hash"
	m := confVariable.FindStringSubmatch(said)
	if m == nil {
		return hinted(confProblem(at, "a variable", got, "its value"), hint)
	}
	if lines := strings.Split(text, "\n"); at.line > 0 && at.line <= len(lines) {
		at.col = max(1, 1+strings.Index(lines[at.line-1], "$"+m[1]))
	}
	if confEnv.MatchString(m[1]) {
		got = "$" + m[1] + ", which is neither set above nor in the environment"
		hint = "set " + m[1] + " in the environment of the audit to any value: it is not shown where it is a password"
	}
	return hinted(confProblem(at, "a variable", got, "its value"), hint)
}

// maxLocated bounds the text in which the place of an error is looked for.
const maxLocated = 1 << 20

// locate finds where the parser stops, which it tells by the line at best: at the end of the shortest text of which it says the same.
func (l *confLoader) locate(name, text, said string) spot {
	if len(text) > maxLocated {
		return spot{}
	}
	n := sort.Search(len(text), func(n int) bool {
		_, err := l.parse(name, text[:n])
		return err != nil && err.Error() == said
	})
	if n == 0 {
		return spot{}
	}
	return lineCol(name, text, n-1)
}
