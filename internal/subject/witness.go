package subject

import (
	"strconv"
	"strings"
)

// The tokens that a witness puts for wildcards; a number follows where a pattern of the set names that very token.
const (
	anyToken  = "any"
	restToken = "rest"
)

// Witness returns a literal subject that the pattern matches: "any" for "*", "rest" for ">".
func (p Pattern) Witness() string {
	s, _ := WitnessOutside(p, nil)
	return s
}

// WitnessOutside returns a literal subject that p matches and no pattern of set does, the shortest one; false when the union of
// set covers p. The answer is exact.
//
// No search is needed. Where p leaves a token free, a token that no pattern of the set names is at least as good as any other:
// it keeps alive only patterns with a wildcard there, and those survive every choice. So the walk takes that token, drops the
// patterns that no longer match, and only the length under a final ">" is tried, one token at a time. Every step drops the
// patterns that end there, so it stops after the longest pattern; the cost is the number of tokens of p and set.
func WitnessOutside(p Pattern, set []Pattern) (string, bool) {
	tokens := p.Tokens()
	open := tokens[len(tokens)-1] == ">"
	alive := make([][]string, len(set))
	for i, q := range set {
		alive[i] = q.Tokens()
	}
	var out []string
	for at := 0; ; at++ {
		token := choose(tokens, at, alive)
		out = append(out, token)
		var covered, all bool
		if alive, covered, all = step(alive, at, token); all {
			return "", false
		}
		complete := at+1 >= len(tokens)
		switch {
		case complete && !covered:
			return strings.Join(out, "."), true
		case complete && !open:
			return "", false
		}
	}
}

// choose returns the token of the witness at one place.
func choose(tokens []string, at int, alive [][]string) string {
	base := restToken
	if at < len(tokens) && tokens[at] != ">" {
		if tokens[at] != "*" {
			return tokens[at]
		}
		base = anyToken
	}
	named := func(token string) bool {
		for _, q := range alive {
			if q[at] == token {
				return true
			}
		}
		return false
	}
	token := base
	for n := 2; named(token); n++ {
		token = base + strconv.Itoa(n)
	}
	return token
}

// step keeps the patterns that match token at this place and go on; covered: one of them ends here; all: one of them has ">"
// here and matches whatever follows. It reuses the slice of alive.
func step(alive [][]string, at int, token string) (next [][]string, covered, all bool) {
	next = alive[:0]
	for _, q := range alive {
		switch {
		case q[at] == ">":
			return nil, true, true
		case q[at] != "*" && q[at] != token:
		case len(q) == at+1:
			covered = true
		default:
			next = append(next, q)
		}
	}
	return next, covered, false
}
