package shape

import (
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// most bounds the names and filters that are looked at: longer ones fit nothing. It is the broker's bound of a name (JSMaxNameLen),
// and the format's of a subject.
const (
	mostName   = 255
	mostFilter = 1024
)

// form is what a template can become for one holder: text with places in it.
type form []seg

// seg is text, or the place of a value.
type seg struct {
	text  string
	path  string         // of a place: its name in the contract, "r.endpoint"
	typ   *contract.Type // of a place; nil: anything
	empty bool           // a splice of no tokens at the beginning
	open  string         // what stands there for a value that is absent, or ""
	holds bool           // the path is a parameter of the holder, to which the holder's own subtrees are held
}

func (g seg) place() bool { return g.path != "" }

// equal reports whether two forms read the same texts the same way.
func (f form) equal(other form) bool {
	return slices.EqualFunc(f, other, func(a, b seg) bool {
		same := a.typ == b.typ || a.typ != nil && b.typ != nil && sameScalar(a.typ, b.typ)
		a.typ, b.typ = nil, nil
		return same && a == b
	})
}

// reading is one reading of a text by a form: values by path.
type reading struct {
	c       *contract.Contract
	profile *contract.Profile
	bound   map[string]string // values, not tokens: an endpoint with its dots
	holder  map[string]string // those of the holder's own parameters
}

// read calls found with every reading of a text by a form that agrees with what is bound already.
func (r reading) read(f form, text string, found func(reading)) {
	if len(f) == 0 {
		if text == "" {
			found(r)
		}
		return
	}
	g := f[0]
	switch {
	case !g.place():
		if rest, ok := strings.CutPrefix(text, g.text); ok {
			r.read(f[1:], rest, found)
		}
		return
	}
	for end := 1; end <= len(text); end++ {
		if len(f) == 1 && end < len(text) || len(f) > 1 && !f[1].place() && !strings.HasPrefix(text[end:], f[1].text) {
			continue
		}
		if next, ok := r.with(g, text[:end]); ok {
			next.read(f[1:], text[end:], found)
		}
	}
}

// with is the reading in which a place holds a token or tokens.
func (r reading) with(g seg, token string) (reading, bool) {
	have, known := r.bound[g.path]
	switch {
	case g.open != "" && token == g.open:
		return r, true
	case known:
		return r, g.token(r.c, have) == token
	case g.typ == nil:
		return r, true
	}
	v, ok := g.value(r.c, token)
	if !ok || !compile.Fits(r.c, r.profile, g.typ, v, r.holder) {
		return r, false
	}
	next := r
	next.bound = maps.Clone(r.bound)
	next.bound[g.path] = v
	if g.holds {
		next.holder = maps.Clone(r.holder)
		next.holder[g.path] = v
	}
	return next, true
}

// value is the value that stands as a token: the inverse of the as-token transform, where there is one.
func (g seg) value(c *contract.Contract, token string) (string, bool) {
	switch {
	case g.typ.Kind == contract.TypeMember:
		for _, k := range contract.Sorted(c.Kinds) {
			if k.Token() == token {
				return k.Name, true
			}
		}
		return "", false
	case g.typ.Kind != contract.TypeScalar || len(g.typ.Grammar.AsToken) == 0:
		return token, true
	}
	back := &contract.Grammar{AsToken: map[string]string{}}
	for from, to := range g.typ.Grammar.AsToken {
		back.AsToken[to] = from
	}
	v := back.OneToken(token)
	return v, g.typ.Grammar.OneToken(v) == token
}

// token is how a value stands in text.
func (g seg) token(c *contract.Contract, v string) string {
	switch {
	case g.typ == nil:
	case g.typ.Kind == contract.TypeMember && c.Kinds[v] != nil:
		return c.Kinds[v].Token()
	case g.typ.Kind == contract.TypeScalar:
		return g.typ.Grammar.OneToken(v)
	}
	return v
}

// write is a form with what is bound in its places, and their names in those that are open.
func (r reading) write(f form) (text string, closed bool) {
	var b strings.Builder
	closed = true
	for _, g := range f {
		v, known := r.bound[g.path]
		switch {
		case !g.place():
			b.WriteString(g.text)
		case known && g.open == "":
			b.WriteString(g.token(r.c, v))
		default:
			closed = false
			b.WriteString("{" + g.path + "}")
		}
	}
	return b.String(), closed
}
