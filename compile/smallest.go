package compile

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// besides is the most of an encoded JWT that is not an entry of its lists, rounded up: header, signature, claims and tags.
const besides = 2048

// worthFreeing is the length from which a token of a deny is made "*": a shorter one saves less than it tells a reader.
const worthFreeing = 5

// Smallest returns the set with its denies in a shorter form that decides alike. What allows admit is never touched: two that differ
// in a token have no wildcard in common that admits no more than they do, since it also admits a token that neither names; [fold]
// joins those that do not differ so.
//
// Proof obligation. Let L be the plain denies of one direction, and E every subject that they can act on: each allow of that direction,
// for subscribe widened by its over-admission, and for subscribe also each family that a stream stores, as a message pulled from one is
// withheld by its stored subject. A deny D gives way to a wider C only where E ∩ C ⊆ ∪L for each E. Then ∪L grows outside every E
// alone, so that
//   - every subject of a PUB and every text of a SUB that an allow matches meets a deny as before;
//   - every message of an accepted SUB, and every stored one, is withheld as before;
//   - a SUB overlaps a deny, and so loads the connection's filter, as before: what it has in common with C lies in some E.
//
// Queue denies stay as they are. Denies that a wider one then covers are dropped, their rows joined to it.
func Smallest(set *PermissionSet, stored []subject.Pattern) *PermissionSet {
	out := *set
	out.Pub, out.Sub = widened(set.Pub, nil), widened(set.Sub, stored)
	return &out
}

// smallest applies [Smallest] where minting might refuse the set by its size, and would not refuse the allows alone: elsewhere the
// denies stand as rows and closing state them.
func (s *Scope) smallest(set *PermissionSet) (*PermissionSet, error) {
	gate := s.c.GateOf(s.profile)
	allows := encodedSize(set.Pub.Allow) + encodedSize(set.Sub.Allow)
	denies := encodedSize(set.Pub.Deny) + encodedSize(set.Sub.Deny)
	if denies == 0 || allows > gate || allows+denies+besides <= gate {
		return set, nil
	}
	var stored []subject.Pattern
	for _, r := range s.resources() {
		_, families, err := s.Captured(r.ID)
		if err != nil {
			return nil, err
		}
		stored = append(stored, families...)
	}
	return Smallest(set, stored), nil
}

// encodedSize is what entries add to an encoded JWT.
func encodedSize(entries []Entry) int {
	n := 0
	for _, e := range entries {
		n += textSize(e.Pattern) + len(e.Queue) + len(`"",`)
	}
	return base64.RawURLEncoding.EncodedLen(n)
}

// textSize is the length of a pattern in JSON, which writes ">" as \u003e.
func textSize(pattern string) int {
	return len(pattern) + strings.Count(pattern, ">")*(len(`\u003e`)-1)
}

// widened returns the list with its plain denies as short as what they act on lets them be.
func widened(l List, stored []subject.Pattern) List {
	w := &widening{acted: stored[:len(stored):len(stored)]}
	for _, e := range l.Allow {
		w.acted = append(w.acted, subject.Widen(subject.Pattern(e.Pattern))) // of a publish allow no more than it admits: fail closed
	}
	denies := make([]kept, len(l.Deny))
	for i, e := range l.Deny {
		denies[i] = kept{entry: subject.Entry{Pattern: subject.Pattern(e.Pattern), Queue: e.Queue}, rows: slices.Clone(e.Rows)}
		if e.Queue == "" {
			w.denied = append(w.denied, subject.Pattern(e.Pattern))
		}
	}
	var wide []subject.Pattern
	for i := range denies {
		e := &denies[i].entry
		if e.Queue != "" || slices.ContainsFunc(wide, func(c subject.Pattern) bool { return subject.Covers(c, e.Pattern) }) {
			continue
		}
		e.Pattern = w.shortest(e.Pattern)
		wide = append(wide, e.Pattern)
	}
	l.Deny = reduce(distinct(denies))
	return l
}

// widening is the proof obligation of [Smallest] for one direction.
type widening struct {
	acted, denied []subject.Pattern
}

// holds reports whether a deny of c takes nothing from what is acted on that is not denied already.
func (w *widening) holds(c subject.Pattern) bool {
	for _, e := range w.acted {
		if both, ok := subject.Intersect(e, c); ok && !subject.CoveredBy(both, w.denied) {
			return false
		}
	}
	return true
}

// shortest cuts a deny behind as few tokens as it can, then frees its tokens, the longest first and of equals the first.
func (w *widening) shortest(d subject.Pattern) subject.Pattern {
	tokens := d.Tokens()
	for n := 1; n < len(tokens); n++ {
		cut := strings.Join(tokens[:n], ".") + ".>"
		if textSize(cut) >= textSize(string(d)) {
			break
		}
		if w.holds(subject.Pattern(cut)) {
			tokens = append(tokens[:n:n], ">")
			break
		}
	}
	order := make([]int, len(tokens))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(tokens[b]), len(tokens[a])) })
	for _, i := range order {
		token := tokens[i]
		if len(token) < worthFreeing {
			break
		}
		if tokens[i] = "*"; !w.holds(subject.Pattern(strings.Join(tokens, "."))) {
			tokens[i] = token
		}
	}
	return subject.Pattern(strings.Join(tokens, "."))
}
