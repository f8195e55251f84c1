package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Node is one value of a strict document. The zero Node is a value that was not given: reading it yields a zero value and no
// error, so an optional key is read as it stands. Reading a given value of the wrong type reports it and yields a zero value.
type Node struct {
	y    *yaml.Node
	file string
	row  string
	name string // of the key under which it stands, for messages
	r    *Report
}

// Given reports whether the value was written.
func (n Node) Given() bool { return n.y != nil }

// Pos is where the value starts.
func (n Node) Pos() contract.Pos {
	if n.y == nil {
		return contract.Pos{}
	}
	return contract.Pos{File: n.file, Line: n.y.Line, Col: n.y.Column}
}

// Name is the key under which the value stands, or "".
func (n Node) Name() string { return n.name }

// InRow returns n with the row id that its errors name.
func (n Node) InRow(id string) Node {
	n.row = id
	return n
}

// Fail reports an error at the value: what is wrong, as found, as required, what to do next; the last three may be empty.
func (n Node) Fail(what, got, want, hint string) {
	if n.r != nil {
		n.r.Add(Error{Pos: n.Pos(), Row: n.row, What: what, Got: got, Want: want, Hint: hint})
	}
}

// IsMap, IsList and IsText report the shape of a value without reading it.
func (n Node) IsMap() bool { return n.y != nil && n.y.Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (n Node) IsList() bool { return n.y != nil && n.y.Kind == yaml.SequenceNode }

// IsText reports whether the value is a string.
func (n Node) IsText() bool {
	return n.y != nil && n.y.Kind == yaml.ScalarNode && n.y.ShortTag() == "!!str" && !looksBoolean(n.y)
}

// IsBool reports whether the value is true or false.
func (n Node) IsBool() bool { return n.scalarOf("!!bool") && strictBool(n.y.Value) }

// IsInt reports whether the value is a decimal integer.
func (n Node) IsInt() bool { return n.scalarOf("!!int") && decimal.MatchString(n.y.Value) }

func (n Node) scalarOf(tag string) bool {
	return n.y != nil && n.y.Kind == yaml.ScalarNode && n.y.ShortTag() == tag
}

// Wrong reports a value of the wrong type; want says which is right. An alias is already reported.
func (n Node) Wrong(want string) {
	if n.y == nil || n.y.Kind == yaml.AliasNode {
		return
	}
	n.Fail(n.label(), describe(n.y), want, "")
}

func (n Node) label() string {
	if n.name == "" {
		return "value"
	}
	return n.name
}

// Text reads a string. Anything that YAML takes for another type, and yes, no, on and off, must be quoted.
func (n Node) Text() string {
	switch {
	case n.y == nil:
		return ""
	case !n.IsText():
		want := "a string"
		if n.y.Kind == yaml.ScalarNode {
			want += ": quote it"
		}
		n.Wrong(want)
		return ""
	case n.y.Value == "":
		n.Fail(n.label(), `""`, "a string that is not empty", "")
	}
	return n.y.Value
}

// Bool reads true or false.
func (n Node) Bool() bool {
	if n.y != nil && !n.IsBool() {
		n.Wrong("true or false")
		return false
	}
	return n.y != nil && strings.EqualFold(n.y.Value, "true")
}

var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})$`)

// Int reads a decimal integer from low to high.
func (n Node) Int(low, high int64) int64 {
	if n.y == nil {
		return 0
	}
	if !n.IsInt() {
		n.Wrong("a decimal integer")
		return 0
	}
	v, err := strconv.ParseInt(n.y.Value, 10, 64)
	if err != nil || v < low || v > high {
		n.Fail(n.label(), n.y.Value, fmt.Sprintf("%d to %d", low, high), "")
		return 0
	}
	return v
}

// Duration reads a duration such as "60s", "24h" or "30d" that is not negative.
func (n Node) Duration() time.Duration {
	if n.y == nil {
		return 0
	}
	if !n.IsText() {
		n.Wrong(`a duration such as "60s", "24h" or "30d"`)
		return 0
	}
	d, ok := parseDuration(n.y.Value)
	if !ok {
		n.Fail(n.label(), quote(n.y.Value), `a duration such as "60s", "24h" or "30d"`, "")
	}
	return d
}

func parseDuration(s string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0 && !strings.HasPrefix(s, "+")
}

// Date reads a day such as 2026-01-31, quoted or not: YAML takes one that is not for a timestamp.
func (n Node) Date() time.Time {
	const want = "a date such as 2026-01-31"
	if n.y == nil {
		return time.Time{}
	}
	if !n.IsText() && !n.scalarOf("!!timestamp") {
		n.Wrong(want)
		return time.Time{}
	}
	day, err := time.Parse(time.DateOnly, n.y.Value)
	if err != nil {
		n.Fail(n.label(), quote(n.y.Value), want, "")
	}
	return day
}

// OneOf reads a string that is one of the given words.
func (n Node) OneOf(words ...string) string {
	s := n.Text()
	if s != "" && !slices.Contains(words, s) {
		n.Fail(n.label(), quote(s), "one of "+strings.Join(words, ", "), Suggest(s, words))
		return ""
	}
	return s
}

// Items reads a list that is not empty.
func (n Node) Items() []Node {
	if n.IsList() && len(n.y.Content) == 0 {
		n.Fail(n.label(), "an empty list", "at least one element", "")
	}
	return n.Elements()
}

// Elements reads a list that may be empty.
func (n Node) Elements() []Node {
	if n.y == nil {
		return nil
	}
	if n.y.Kind != yaml.SequenceNode {
		n.Wrong("a list")
		return nil
	}
	out := make([]Node, len(n.y.Content))
	for i, c := range n.y.Content {
		out[i] = Node{y: c, file: n.file, row: n.row, name: "element of " + n.label(), r: n.r}
	}
	return out
}

// Strings reads a list of strings without repeats that is not empty.
func (n Node) Strings() []string {
	var out []string
	for _, item := range n.Items() {
		s := item.Text()
		switch {
		case s == "":
		case slices.Contains(out, s):
			item.Fail(n.label()+" holds "+quote(s)+" twice", "", "each element once", "")
		default:
			out = append(out, s)
		}
	}
	return out
}
