package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// confReader takes a configuration apart and keeps what the server would refuse of it.
type confReader struct {
	faults []confFault
}

// confFault is a place for which the server does not start, or does not always do the same.
type confFault struct {
	at      spot
	message string
}

func (r *confReader) fault(at spot, format string, args ...any) {
	r.faults = append(r.faults, confFault{at, fmt.Sprintf(format, args...)})
}

const refused = ": the server does not start"

// fields reads a block by its known keys. Unknown ones are faults, unless they serve as variables; so are two spellings of one,
// of which the server takes either, at random.
func (r *confReader) fields(n *confNode, what string, known confKeys) map[string]*confNode {
	if n == nil {
		return nil
	}
	m, ok := n.value.(map[string]*confNode)
	if !ok {
		r.fault(n.at, "%s is no block%s", what, refused)
		return nil
	}
	out := map[string]*confNode{}
	for _, key := range contract.SortedKeys(m) {
		name, ok := known[strings.ToLower(key)]
		switch {
		case !ok && m[key].used:
		case !ok:
			r.fault(m[key].at, "%s has the unknown key %q%s", what, key, refused)
		case out[name] != nil:
			r.fault(m[key].at, "%s has %q twice in different spellings: the server takes either, at random", what, name)
		default:
			out[name] = m[key]
		}
	}
	return out
}

// text reads a string; the server refuses anything else.
func (r *confReader) text(n *confNode, what string) string {
	if n == nil {
		return ""
	}
	s, ok := n.value.(string)
	if !ok {
		r.fault(n.at, "%s is no string%s", what, refused)
	}
	return s
}

// items reads a list; nil where it is none.
func (r *confReader) items(n *confNode, what string) []*confNode {
	if n == nil {
		return nil
	}
	l, ok := n.value.([]*confNode)
	if !ok {
		r.fault(n.at, "%s is no list%s", what, refused)
	}
	return l
}

// texts reads one string or a list of them.
func (r *confReader) texts(n *confNode, what string) []confText {
	if n == nil {
		return nil
	}
	if s, ok := n.value.(string); ok {
		return []confText{{s, n.at}}
	}
	var out []confText
	for _, e := range r.items(n, what) {
		if s, ok := e.value.(string); ok {
			out = append(out, confText{s, e.at})
		} else {
			r.fault(e.at, "%s holds what is no string%s", what, refused)
		}
	}
	return out
}

// confText is a string with where it stands.
type confText struct {
	text string
	at   spot
}

// plain is nil where nothing is listed: of a JWT, an empty list that is there means something else.
func plain(list []confText) (out []string) {
	for _, t := range list {
		out = append(out, t.text)
	}
	return out
}

// entries of a block whose keys are names, in the order of the file.
func (r *confReader) named(n *confNode, what string) []confNamed {
	if n == nil {
		return nil
	}
	m, ok := n.value.(map[string]*confNode)
	if !ok {
		r.fault(n.at, "%s is no block%s", what, refused)
		return nil
	}
	var out []confNamed
	for _, key := range contract.SortedKeys(m) {
		out = append(out, confNamed{key, m[key]})
	}
	slices.SortStableFunc(out, func(a, b confNamed) int {
		return cmp.Or(strings.Compare(a.node.at.file, b.node.at.file), cmp.Compare(a.node.at.line, b.node.at.line),
			cmp.Compare(a.node.at.col, b.node.at.col))
	})
	return out
}

type confNamed struct {
	name string
	node *confNode
}
