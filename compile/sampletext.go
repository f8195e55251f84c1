package compile

import (
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// SampleText returns a short text that fits a grammar, one segment of a dotted one. Different n give different texts where the
// grammar admits as many; it is a function of its arguments alone.
func SampleText(g *contract.Grammar, n int) string {
	re, err := syntax.Parse(g.Token.String(), syntax.Perl)
	if err != nil {
		return "" // a compiled expression parses
	}
	var b strings.Builder
	sampleRegexp(&b, re.Simplify(), &n)
	return b.String()
}

// LongestText is SampleText of the greatest length that a grammar bounds, by its expression or by its maximum; where it bounds
// none, it is SampleText.
func LongestText(g *contract.Grammar, n int) string {
	re, err := syntax.Parse(g.Token.String(), syntax.Perl)
	if err != nil {
		return ""
	}
	if !unbounded(re) {
		var b strings.Builder
		longestRegexp(&b, re, &n, 0)
		return b.String()
	}
	for more := g.Max; more > 0; more-- { // further repeats of what has no bound of its own
		var b strings.Builder
		rest := n
		if longestRegexp(&b, re, &rest, more); b.Len() <= g.Max {
			return b.String()
		}
	}
	return SampleText(g, n)
}

func unbounded(re *syntax.Regexp) bool {
	return re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max < 0 || slices.ContainsFunc(re.Sub, unbounded)
}

// longestRegexp writes one match: of each alternative the longest, every optional part, every repeat. What has no bound is repeated
// more times than it must be.
func longestRegexp(b *strings.Builder, re *syntax.Regexp, n *int, more int) {
	times := 1
	switch re.Op {
	case syntax.OpConcat, syntax.OpCapture, syntax.OpQuest:
	case syntax.OpAlternate:
		best := re.Sub[0]
		for _, sub := range re.Sub[1:] {
			if longestLen(sub, more) > longestLen(best, more) {
				best = sub
			}
		}
		longestRegexp(b, best, n, more)
		return
	case syntax.OpStar:
		times = more
	case syntax.OpPlus:
		times = 1 + more
	case syntax.OpRepeat:
		if times = re.Max; times < 0 {
			times = re.Min + more
		}
	default:
		sampleRegexp(b, re, n)
		return
	}
	for range times {
		for _, sub := range re.Sub {
			longestRegexp(b, sub, n, more)
		}
	}
}

func longestLen(re *syntax.Regexp, more int) int {
	var b strings.Builder
	n := 0
	longestRegexp(&b, re, &n, more)
	return b.Len()
}

// sampleRegexp writes one match: the last alternative (but the n-th of literal ones), the fewest repeats that n needs, and of
// every character class the n-th character, the rest of n carried on.
func sampleRegexp(b *strings.Builder, re *syntax.Regexp, n *int) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(pickRune(re.Rune, n))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune(pickRune([]rune{'a', 'z'}, n))
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			sampleRegexp(b, sub, n)
		}
	case syntax.OpAlternate:
		sampleRegexp(b, re.Sub[pickAlternative(re.Sub, n)], n)
	case syntax.OpPlus:
		sampleRegexp(b, re.Sub[0], n)
		sampleMore(b, re.Sub[0], n, -1)
	case syntax.OpStar:
		sampleMore(b, re.Sub[0], n, -1)
	case syntax.OpQuest:
		sampleMore(b, re.Sub[0], n, 1)
	}
}

// sampleMore repeats while some of n is left to spend, at most so many times; -1 is no bound.
func sampleMore(b *strings.Builder, re *syntax.Regexp, n *int, most int) {
	for ; *n > 0 && most != 0; most-- {
		*n--
		sampleRegexp(b, re, n)
	}
}

// pickAlternative takes the last alternative where it has choices of its own, else the n-th from the end.
func pickAlternative(subs []*syntax.Regexp, n *int) int {
	last := len(subs) - 1
	if slices.ContainsFunc(subs, func(re *syntax.Regexp) bool { return re.Op != syntax.OpLiteral }) {
		return last
	}
	at := last - *n%len(subs)
	*n /= len(subs)
	return at
}

// pickRune takes the n-th rune of a class, letters first where it has any, and carries the rest of n to the next class. Of the
// runes that separate or end tokens it takes one only where the class has no other.
func pickRune(class []rune, n *int) rune {
	const ascii = 128
	runes := make([]rune, 0, ascii) // a class has a rune once; without a sort, for a sample takes one of these a character
	for of := range ranks {
		for i := 0; i+1 < len(class); i += 2 {
			for r := max(class[i], '!'); r <= min(class[i+1], '~'); r++ {
				if rank(r) == of && r != '.' && r != '*' && r != '>' {
					runes = append(runes, r)
				}
			}
		}
	}
	if len(runes) == 0 {
		return class[0]
	}
	r := runes[*n%len(runes)]
	*n /= len(runes)
	return r
}

const ranks = 4

func rank(r rune) int {
	switch {
	case r >= 'a' && r <= 'z':
		return 0
	case r >= 'A' && r <= 'Z':
		return 1
	case r >= '0' && r <= '9':
		return 2
	}
	return 3
}
