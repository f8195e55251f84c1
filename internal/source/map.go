package source

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Map is a mapping whose keys are known. The zero Map has none.
type Map struct {
	Node
	fields map[string]Node
}

// Field is one entry of a mapping whose keys are names of the contract's own.
type Field struct {
	Key   Node
	Name  string
	Value Node
}

// Map reads a closed mapping: every key must be one of keys.
func (n Node) Map(keys ...string) Map { return n.MapRefusing(nil, keys...) }

// MapRefusing is Map for a mapping of which some keys are known and refused: why says for each what takes its place.
func (n Node) MapRefusing(why map[string]string, keys ...string) Map {
	m := Map{Node: n, fields: map[string]Node{}}
	for _, f := range n.entries() {
		switch reason, refused := why[f.Name]; {
		case slices.Contains(keys, f.Name):
			m.fields[f.Name] = f.Value
		case refused:
			f.Key.Fail(fmt.Sprintf("key %q may not be set", f.Name), "", "", reason)
		default:
			f.Key.Fail(fmt.Sprintf("unknown key %q", f.Name), "", Known(keys), Suggest(f.Name, keys))
		}
	}
	return m
}

// Known lists what could have been written, for the want part of a message; a list too long to read gives "".
func Known(words []string) string {
	const most = 12
	if len(words) > most || len(words) == 0 {
		return ""
	}
	return "one of " + strings.Join(words, ", ")
}

// Fields reads an open mapping in the order written. It must not be empty.
func (n Node) Fields() []Field {
	if n.IsMap() && len(n.y.Content) == 0 {
		n.Fail(n.label(), "an empty map", "at least one entry", "")
	}
	return n.entries()
}

// Entries is Fields for a mapping that may be empty.
func (n Node) Entries() []Field { return n.entries() }

// Has reports whether a mapping has a key, without reading anything.
func (n Node) Has(key string) bool {
	if !n.IsMap() {
		return false
	}
	for i := 0; i < len(n.y.Content); i += 2 {
		if n.y.Content[i].Value == key {
			return true
		}
	}
	return false
}

// Peek returns the text of a key without reporting anything, or "".
func (n Node) Peek(key string) string {
	if !n.IsMap() {
		return ""
	}
	for i := 0; i+1 < len(n.y.Content); i += 2 {
		if v := (Node{y: n.y.Content[i+1]}); n.y.Content[i].Value == key && v.IsText() {
			return v.y.Value
		}
	}
	return ""
}

// Len is the number of entries of a mapping or elements of a list.
func (n Node) Len() int {
	switch {
	case n.IsMap():
		return len(n.y.Content) / 2
	case n.IsList():
		return len(n.y.Content)
	}
	return 0
}

func (n Node) entries() []Field {
	if n.y == nil {
		return nil
	}
	if n.y.Kind != yaml.MappingNode {
		n.Wrong("a map")
		return nil
	}
	out := make([]Field, 0, len(n.y.Content)/2)
	seen := make(map[string]bool, len(n.y.Content)/2)
	for i := 0; i+1 < len(n.y.Content); i += 2 {
		k, v := n.y.Content[i], n.y.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" || seen[k.Value] {
			continue // reported when the file was parsed
		}
		seen[k.Value] = true
		key := Node{y: k, file: n.file, row: n.row, name: "key", r: n.r}
		if k.ShortTag() != "!!str" && k.ShortTag() != "!!int" {
			key.Wrong("a string: quote it")
			continue
		}
		out = append(out, Field{Key: key, Name: k.Value, Value: Node{y: v, file: n.file, row: n.row, name: k.Value, r: n.r}})
	}
	return out
}

// Get returns the value of a key; the zero Node where it was not given.
func (m Map) Get(key string) Node { return m.fields[key] }

// Need returns the value of a required key and reports where it is missing.
func (m Map) Need(key string) Node {
	v, ok := m.fields[key]
	if !ok && m.IsMap() {
		m.Fail(fmt.Sprintf("missing key %q", key), "", "", "")
	}
	return v
}

// Suggest returns a hint that names the word nearest to a misspelt one, or "".
func Suggest(got string, words []string) string {
	best, at := "", 3
	for _, w := range words {
		if d := distance(got, w); d < at && d < len(w) {
			best, at = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// distance is the number of single-character edits between two words, and "many" for long ones.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, diag+1)
		}
	}
	return row[len(b)]
}
