package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// ref names a family of a rule.
type ref struct{ rule, family int }

// index finds the families that overlap an entry without looking at the others: a tree of their tokens.
type index struct{ root branch }

type branch struct {
	next map[string]*branch // by literal token
	star *branch
	rest []ref // families that go on with ">"
	ends []ref // families that end here
}

func (x *index) add(family subject.Pattern, at ref) {
	b := &x.root
	for token := range strings.SplitSeq(string(family), ".") {
		switch token {
		case ">":
			b.rest = append(b.rest, at)
			return
		case "*":
			if b.star == nil {
				b.star = &branch{}
			}
			b = b.star
		default:
			next := b.next[token]
			if next == nil {
				if b.next == nil {
					b.next = map[string]*branch{}
				}
				next = &branch{}
				b.next[token] = next
			}
			b = next
		}
	}
	b.ends = append(b.ends, at)
}

// overlapping appends the families that share a subject with a pattern, in the order of the rules. Where the entry is widened, its final
// "*" counts as ">".
func (x *index) overlapping(p subject.Pattern, widened bool, out []ref) []ref {
	if widened {
		p = subject.Widen(p)
	}
	out = x.root.overlapping(string(p), true, out)
	slices.SortFunc(out, func(a, b ref) int { return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.family, b.family)) })
	return out
}

func (b *branch) overlapping(text string, more bool, out []ref) []ref {
	if !more {
		return append(out, b.ends...)
	}
	out = append(out, b.rest...)
	token, rest, more := strings.Cut(text, ".")
	switch token {
	case ">":
		return b.all(out)
	case "*":
		for _, next := range b.next {
			out = next.overlapping(rest, more, out)
		}
	default:
		if next := b.next[token]; next != nil {
			out = next.overlapping(rest, more, out)
		}
	}
	if b.star != nil {
		out = b.star.overlapping(rest, more, out)
	}
	return out
}

// all appends every family that goes on below a branch; those with ">" right there are in already.
func (b *branch) all(out []ref) []ref {
	for _, next := range b.next {
		out = next.all(append(append(out, next.ends...), next.rest...))
	}
	if b.star != nil {
		out = b.star.all(append(append(out, b.star.ends...), b.star.rest...))
	}
	return out
}
