package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Bounds of one file.
const (
	MaxBytes = 1 << 20
	MaxDepth = 64 // nested maps and lists
)

// Parse reads data as one strict YAML document and returns its root. What is wrong goes to r; a file that cannot be walked at
// all gives the zero Node. Positions carry file as it is given.
func Parse(r *Report, file string, data []byte) Node { return parse(r, file, data, false) }

func parse(r *Report, file string, data []byte, tabs bool) Node {
	at := contract.Pos{File: file, Line: 1, Col: 1}
	switch {
	case len(data) > MaxBytes:
		r.Add(Error{Pos: at, What: "file is too large", Got: fmt.Sprintf("%d bytes", len(data)), Want: fmt.Sprintf("at most %d", MaxBytes)})
		return Node{}
	case !utf8.Valid(data) || bytes.HasPrefix(data, []byte("\uFEFF")):
		r.Add(Error{Pos: at, What: "file is not plain UTF-8", Want: "UTF-8 without a byte order mark"})
		return Node{}
	}
	if !tabs {
		refuseTabs(r, file, data)
	}
	doc, err := decode(data)
	if err != nil {
		r.Add(syntaxError(file, err))
		return Node{}
	}
	if doc == nil {
		r.Add(Error{Pos: at, What: "file is empty", Want: "one YAML document"})
		return Node{}
	}
	c := checker{r: r, file: file}
	if !c.tree(doc, 0) {
		return Node{}
	}
	return Node{y: doc, file: file, r: r}
}

// decode returns the content of the only document, or nil where there is none. A parser fault on hostile input is an error.
func decode(data []byte) (root *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("yaml: cannot be parsed: %v", p)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	switch err := dec.Decode(&next); {
	case err == nil:
		return nil, fmt.Errorf("yaml: line %d: several documents in one file, want one", next.Line)
	case !errors.Is(err, io.EOF):
		return nil, err
	case len(doc.Content) == 0:
		return nil, nil
	}
	return doc.Content[0], nil
}

var yamlError = regexp.MustCompile(`^yaml: line (\d+): (.*)`)

func syntaxError(file string, err error) Error {
	e := Error{Pos: contract.Pos{File: file, Line: 1, Col: 1}, What: "not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlError.FindStringSubmatch(err.Error()); m != nil {
		e.Pos.Line, _ = strconv.Atoi(m[1]) // the pattern admits digits only
		e.What = "not valid YAML: " + m[2]
	}
	return e
}

func refuseTabs(r *Report, file string, data []byte) {
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if i := bytes.IndexByte(text, '\t'); i >= 0 {
			r.Add(Error{Pos: contract.Pos{File: file, Line: line, Col: utf8.RuneCount(text[:i]) + 1}, What: "tab character", Want: "spaces"})
		}
	}
}

// checker refuses what YAML adds beyond plain data.
type checker struct {
	r    *Report
	file string
}

func (c *checker) fail(n *yaml.Node, what, got, want string) {
	c.r.Add(Error{Pos: contract.Pos{File: c.file, Line: n.Line, Col: n.Column}, What: what, Got: got, Want: want})
}

// tree reports whether n can be walked: false only where it nests too deep.
func (c *checker) tree(n *yaml.Node, depth int) bool {
	if depth > MaxDepth {
		c.fail(n, "nested too deep", fmt.Sprintf("more than %d levels", MaxDepth), "a flatter file")
		return false
	}
	switch {
	case n.Kind == yaml.AliasNode:
		c.fail(n, "alias", "*"+n.Value, "the value written out")
		return true
	case n.Anchor != "":
		c.fail(n, "anchor", "&"+n.Anchor, "no anchors")
	case n.Style&yaml.TaggedStyle != 0:
		c.fail(n, "tag", n.Tag, "no tags")
	}
	if n.Kind == yaml.MappingNode {
		c.keys(n)
	}
	for _, child := range n.Content {
		if !c.tree(child, depth+1) {
			return false
		}
	}
	return true
}

func (c *checker) keys(n *yaml.Node) {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind == yaml.AliasNode:
			continue // reported by tree
		case k.Kind != yaml.ScalarNode:
			c.fail(k, "map key is not a word", describe(k), "a string")
			continue
		case k.ShortTag() == "!!merge":
			c.fail(k, "merge key", "<<", "the keys written out")
			continue
		}
		if line, dup := seen[k.Value]; dup {
			c.fail(k, fmt.Sprintf("duplicate key %q, first given in line %d", k.Value, line), "", "")
			continue
		}
		seen[k.Value] = k.Line
	}
}
