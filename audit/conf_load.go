package audit

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/conf"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// What one server configuration may cost, its includes counted each time that they are read. A server has no such bounds, so a
// file beyond them is a problem and not a clean audit.
const (
	maxConfig   = 16 << 20  // bytes of one file
	maxParsed   = 128 << 20 // bytes given to the parser in all
	maxIncludes = 64        // files included in all
	maxValues   = 1 << 20   // values once variables are in their places
	maxNesting  = 64
)

// spot is where something stands. A line of 0 is the file as a whole.
type spot struct {
	file string
	line int
	col  int
}

func (p spot) pos() contract.Pos { return contract.Pos{File: p.file, Line: p.line, Col: p.col} }

// confNode is one value of a configuration: a string, number, boolean, time, []*confNode, or map[string]*confNode.
type confNode struct {
	value any
	at    spot
	used  bool // another value refers to it as a variable: the server does not complain about its key
}

// confToken is what the parser makes of every value when it is asked to be pedantic.
type confToken interface {
	Value() any
	Line() int
	Position() int
	IsUsedVariable() bool
	SourceFile() string
}

// confTree is a parsed configuration with its includes.
type confTree struct {
	root    *confNode
	secrets []string // passwords and tokens, longest first: nothing that is reported may hold one
	hider   *strings.Replacer
	real    map[string]bool // real paths of what it includes
	files   []string        // these as findings name them
}

// parseConf parses a configuration as nats-server does. dir is where its includes are looked up, "" where it may have none.
func parseConf(name, dir string, data []byte) (*confTree, error) {
	l := confLoader{tree: &confTree{real: map[string]bool{}}, names: map[string]string{}, top: name, left: maxParsed, files: maxIncludes,
		values: maxValues}
	m, err := l.file(name, dir, string(data), nil)
	if err != nil {
		return nil, err
	}
	if l.tree.root, err = l.convert(m, "", spot{file: name}, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(l.tree.secrets, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	l.tree.secrets = slices.Compact(l.tree.secrets)
	return l.tree, nil
}

type confLoader struct {
	tree   *confTree
	names  map[string]string // absolute path of an included file → as it is called
	top    string
	here   string // the working directory, once it is asked for
	left   int    // bytes that may still be parsed
	files  int    // files that may still be included
	values int
}

// parse runs the parser, which reads the includes of the text: they must have been looked at before.
func (l *confLoader) parse(name, text string) (m map[string]any, err error) {
	if l.left -= len(text) + 1; l.left < 0 {
		return nil, confProblem(spot{file: name}, "takes too much reading, with its includes", fmt.Sprintf("more than %d bytes", maxParsed), "less")
	}
	defer func() { // the parser panics on some unbalanced brackets
		if recover() != nil {
			m, err = nil, errUnbalanced
		}
	}()
	return conf.ParseWithChecks(text)
}

// hinted is a problem with what to do next.
func hinted(err error, hint string) error {
	p := &contract.Problem{}
	if errors.As(err, &p) {
		p.Hint = hint
	}
	return err
}

func confProblem(at spot, what, got, want string) error {
	return &contract.Problem{Pos: at.pos(), What: "server configuration: " + what, Got: got, Want: want}
}

// secretKeys hold what must never be shown, wherever they stand.
var secretKeys = []string{"pass", "password", "token", "key", "seed", "nkey_seed"}

var urlSecret = regexp.MustCompile(`://(?:[^\s/@:]*:)?([^\s/@]+)@`)

// convert takes a value out of its tokens. A variable's value is converted wherever it stands, so the count is what bounds it.
func (l *confLoader) convert(v any, key string, at spot, depth int) (*confNode, error) {
	if l.values--; l.values < 0 || depth > maxNesting {
		return nil, confProblem(at, "too much", fmt.Sprintf("more than %d values or %d levels", maxValues, maxNesting), "less")
	}
	n := &confNode{value: v, at: at}
	if t, ok := v.(confToken); ok {
		n.used, n.value = t.IsUsedVariable(), t.Value()
		n.at = spot{file: l.called(t.SourceFile(), at), line: t.Line(), col: t.Position() + 1}
		if inner, nested := n.value.(confToken); nested {
			n.value = inner.Value()
		}
	}
	switch v := n.value.(type) {
	case map[string]any:
		out := make(map[string]*confNode, len(v))
		for _, k := range contract.SortedKeys(v) {
			child, err := l.convert(v[k], k, n.at, depth+1)
			if err != nil {
				return nil, err
			}
			out[k] = child
		}
		n.value = out
	case []any:
		out := make([]*confNode, len(v))
		for i, e := range v {
			child, err := l.convert(e, key, n.at, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = child
		}
		n.value = out
	case string:
		l.secret(key, v)
	}
	return n, nil
}

// called is the name of the file that a value stands in.
func (l *confLoader) called(source string, at spot) string {
	if source == "" {
		return cmp.Or(l.top, at.file)
	}
	return cmp.Or(l.names[filepath.Join(l.here, source)], source)
}

func (l *confLoader) secret(key, text string) {
	if slices.Contains(secretKeys, strings.ToLower(key)) {
		l.tree.secrets = append(l.tree.secrets, text)
	}
	for _, m := range urlSecret.FindAllStringSubmatch(text, -1) {
		l.tree.secrets = append(l.tree.secrets, m[1])
	}
}

// hide removes the configuration's secrets from a text. A short one, or one of lower case letters alone, may be any word: as a
// subject it tells nobody that it is one.
func (t *confTree) hide(text string) string {
	if t.hider == nil {
		var pairs []string
		for _, s := range t.secrets {
			if len(s) >= 6 && strings.ContainsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }) {
				pairs = append(pairs, s, "[secret]")
			}
		}
		t.hider = strings.NewReplacer(pairs...)
	}
	return contract.Redact(t.hider.Replace(text))
}
