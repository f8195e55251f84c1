package audit

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// What stands in an origin for what a parameter that the credential does not state would give: one or more literal tokens, just one of
// them where no name of several can stand there, or any tokens where the grammar of what the row writes there admits wildcards.
const (
	hole      = ""
	tokenHole = "\x00"
	wildHole  = "\x01"
)

func isHole(token string) bool { return token == hole || token == tokenHole || token == wildHole }

// origin is an entry that a row of a profile can compile to for the holder of a credential.
type origin struct {
	dir    compile.Dir
	deny   bool
	tokens []string // a hole where the value is not known
	queue  string
	served bool // in a queue, whether it is known or not
	row    string
	open   []int // indexes of tokens that hold a placeholder of a stated value
}

// differ puts holes where another identity gives another token; false where the two are not of one length.
func (o *origin) differ(second *compile.Grant) bool {
	other := second.Entry.Pattern.Tokens()
	if len(other) != len(o.tokens) {
		return false
	}
	for i, t := range other {
		if t != o.tokens[i] {
			o.tokens[i] = hole
		}
	}
	if o.queue != second.Entry.Queue {
		o.queue = hole
	}
	return true
}

// pattern is the origin as a pattern, each hole as one token of any text.
func (o *origin) pattern() subject.Pattern {
	tokens := slices.Clone(o.tokens)
	for i, t := range tokens {
		if isHole(t) {
			tokens[i] = "*"
		}
	}
	return subject.Pattern(strings.Join(tokens, "."))
}

// settle says what each hole takes, by what the row gives to a sample that has a wildcard wherever a grammar admits it, and a name of two
// tokens wherever one of several is. Where no grant of that sample is comparable, all holes take wildcards if the row may write any.
func (o *origin) settle(widest []*compile.Grant, may bool) {
	wild, known := make([]bool, len(o.tokens)), false
	for _, g := range widest {
		tokens := g.Entry.Pattern.Tokens()
		if len(tokens) != len(o.tokens) || g.Dir != o.dir {
			continue
		}
		same := true
		for i, t := range o.tokens {
			same = same && (t == hole || t == tokens[i])
		}
		if !same {
			continue
		}
		known = true
		for i := range wild {
			wild[i] = wild[i] || !isToken(tokens[i])
		}
	}
	for i, t := range o.tokens {
		switch {
		case t != hole:
		case wild[i] || !known && may:
			o.tokens[i] = wildHole
		case known:
			o.tokens[i] = tokenHole
		}
	}
}

func isScalar(t *contract.Type) bool {
	switch t.Kind {
	case contract.TypeScalar, contract.TypeEnum, contract.TypeMember:
		return true
	}
	return false
}

func (a *auditor) unreached(profile *contract.Profile, reached map[string]bool) []string {
	var out []string
	for _, row := range a.cfg.Contract.Rows {
		if row.In(a.topology.Name) && !reached[row.ID] && row.Op.Kind != contract.OpShare && row.Holds(profile.Name) &&
			!compile.Idle(a.cfg.Contract, profile, row) {
			out = append(out, row.ID)
		}
	}
	return out
}

// maxTokens bounds the entries that are compared with rows: no row compiles to a longer one.
const maxTokens = 2 * compile.MaxSubjectTokens

// gives reports whether the origin gives an entry of these tokens: as exactly that text, or as one that covers it.
func (o *origin) gives(tokens []string, queue string) (exact, covers bool) {
	if o.queue != hole && o.queue != queue || o.served && !isToken(queue) || len(tokens) > maxTokens || o.apart(tokens) {
		return false, false
	}
	exact = align(o.tokens, tokens, 0)
	return exact, exact || align(o.tokens, tokens, covering)
}

// apart reports whether a literal token ahead of all holes and wildcards tells the two apart, as it most often does.
func (o *origin) apart(tokens []string) bool {
	for i, t := range o.tokens {
		switch {
		case isHole(t) || t == ">":
			return false
		case i >= len(tokens) || t != "*" && t != tokens[i]:
			return true
		}
	}
	return len(o.tokens) < len(tokens)
}

// alignment says what tokens of an origin take beside themselves.
type alignment int

const (
	covering  alignment = 1 << iota // "*" also takes any one token and a final ">" all that are left
	literally                       // no hole takes a wildcard
)

// align matches own against at most maxTokens tokens.
func align(own, tokens []string, how alignment) bool {
	all := uint64(2)<<len(tokens) - 1
	at := uint64(1) // bit n: what was matched so far may end before token n
	for _, o := range own {
		if o == hole || o == wildHole && how&literally != 0 {
			if at = literalEnds(at, tokens); at == 0 {
				return false
			}
			continue
		}
		if o == wildHole || how&covering != 0 && o == ">" {
			at = all &^ (at&-at<<1 - 1) // any end behind the first
			continue
		}
		var next uint64
		for rest := at; rest != 0; rest &= rest - 1 {
			n := bits.TrailingZeros64(rest)
			if n < len(tokens) && (o == tokens[n] || o == tokenHole && isToken(tokens[n]) || how&covering != 0 && o == "*" && tokens[n] != ">") {
				next |= 2 << n
			}
		}
		if at = next; at == 0 {
			return false
		}
	}
	return at>>len(tokens)&1 == 1
}

// literalEnds are the ends that one or more literal tokens reach from where what was matched so far may end.
func literalEnds(at uint64, tokens []string) uint64 {
	var ends uint64
	for n, t := range tokens {
		if isToken(t) && (at|ends)>>n&1 == 1 {
			ends |= 2 << n
		}
	}
	return ends
}

// telling is the place of the token by which origins are told apart: behind the prefixes that most of them share.
const telling = 3

// groups are origins by that token, so that an entry is compared with those alone that can give it.
type groups struct {
	named map[string][]*origin
	any   []*origin // of which a hole or wildcard stands there, or before
}

func grouped(list []origin) *groups {
	g := &groups{named: map[string][]*origin{}}
	for i := range list {
		o := &list[i]
		if len(o.tokens) <= telling || slices.ContainsFunc(o.tokens[:telling+1], func(t string) bool { return isHole(t) || t == "*" || t == ">" }) {
			g.any = append(g.any, o)
		} else {
			g.named[o.tokens[telling]] = append(g.named[o.tokens[telling]], o)
		}
	}
	return g
}

// of returns the origins that can give an entry.
func (g *groups) of(tokens []string) [2][]*origin {
	if len(tokens) <= telling {
		return [2][]*origin{g.any}
	}
	return [2][]*origin{g.named[tokens[telling]], g.any}
}
