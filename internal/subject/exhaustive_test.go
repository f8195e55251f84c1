package subject_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// words returns all strings of one to n tokens over the alphabet, and their number by length.
func words(n int, alphabet ...string) []string {
	var out []string
	last := []string{""}
	for range n {
		var next []string
		for _, w := range last {
			for _, token := range alphabet {
				next = append(next, strings.TrimPrefix(w+"."+token, "."))
			}
		}
		out, last = append(out, next...), next
	}
	return out
}

// literals stands for all subjects: "z" is in no pattern, and a fifth token is longer than any pattern without ">".
func literals() []string { return words(5, "a", "b", "z") }

// matchedBy returns which of the subjects the broker says a filter matches.
func matchedBy(filter string, subjects []string) []bool {
	out := make([]bool, len(subjects))
	for i, s := range subjects {
		out[i] = server.SubjectMatchesFilter(s, filter)
	}
	return out
}

func TestExhaustiveAgainstServer(t *testing.T) {
	t.Parallel()
	all, lits := words(4, "a", "b", "*", ">"), literals()
	if len(all) != 340 {
		t.Fatalf("strings: got %d, want 340", len(all))
	}
	matches := map[string][]bool{}
	for _, s := range all {
		if checkParse(t, s) {
			matches[s] = matchedBy(s, lits)
		}
	}
	pairs, valid, covers, overlaps := 0, 0, 0, 0
	for _, a := range all {
		for _, b := range all {
			pairs++
			if matches[a] == nil || matches[b] == nil {
				continue
			}
			valid++
			p, q := subject.Pattern(a), subject.Pattern(b)
			if checkCovers(t, p, q, matches) {
				covers++
			}
			if checkIntersect(t, p, q, matches, lits) {
				overlaps++
			}
		}
	}
	if pairs != 115600 || valid != len(matches)*len(matches) || covers == 0 || covers == valid || overlaps == 0 || overlaps == valid {
		t.Errorf("got %d pairs, %d valid, %d covering, %d overlapping, want 115600 pairs and both answers", pairs, valid, covers, overlaps)
	}
	t.Logf("%d strings (%d valid), %d pairs (%d valid): %d covering, %d overlapping", len(all), len(matches), pairs, valid, covers, overlaps)
}

// checkParse compares Parse with the broker and reports whether s is a valid subject.
func checkParse(t *testing.T, s string) bool {
	t.Helper()
	p, err := subject.Parse(s)
	if want := server.IsValidSubject(s); (err == nil) != want {
		t.Errorf("Parse(%q): got error %v, want valid %v", s, err, want)
	}
	if err != nil {
		return false
	}
	if string(p) != s || strings.Join(p.Tokens(), ".") != s || p.NumTokens() != len(p.Tokens()) {
		t.Errorf("Parse(%q): got %q with tokens %q (%d)", s, p, p.Tokens(), p.NumTokens())
	}
	if want := server.IsValidPublishSubject(s); p.IsLiteral() != want {
		t.Errorf("IsLiteral(%q): got %v, want %v", s, p.IsLiteral(), want)
	}
	if w := p.Witness(); !server.IsValidPublishSubject(w) || !server.SubjectMatchesFilter(w, s) {
		t.Errorf("Witness(%q): got %q, want a literal that it matches", s, w)
	}
	return true
}

func checkCovers(t *testing.T, p, q subject.Pattern, matches map[string][]bool) bool {
	t.Helper()
	got := subject.Covers(p, q)
	if want := server.SubjectMatchesFilter(string(q), string(p)); got != want {
		t.Errorf("Covers(%q, %q): got %v, broker says %v", p, q, got, want)
	}
	for i, in := range matches[string(q)] {
		if in && got && !matches[string(p)][i] {
			t.Errorf("Covers(%q, %q): got true, enumeration says false", p, q)
			break
		}
	}
	w, outside := subject.WitnessOutside(q, []subject.Pattern{p})
	if outside == got {
		t.Errorf("WitnessOutside(%q, [%q]): got %q %v, want found %v", q, p, w, outside, !got)
	}
	if outside && (!server.SubjectMatchesFilter(w, string(q)) || server.SubjectMatchesFilter(w, string(p))) {
		t.Errorf("WitnessOutside(%q, [%q]): got %q, want it inside the first only", q, p, w)
	}
	return got
}

func checkIntersect(t *testing.T, p, q subject.Pattern, matches map[string][]bool, lits []string) bool {
	t.Helper()
	got := subject.Overlaps(p, q)
	if want := server.SubjectsCollide(string(p), string(q)); got != want {
		t.Errorf("Overlaps(%q, %q): got %v, broker says %v", p, q, got, want)
	}
	meet, ok := subject.Intersect(p, q)
	if ok != got {
		t.Errorf("Intersect(%q, %q): got %q %v, want %v", p, q, meet, ok, got)
	}
	both := make([]bool, len(lits))
	for i := range lits {
		both[i] = matches[string(p)][i] && matches[string(q)][i]
	}
	if !ok {
		if slices.Contains(both, true) {
			t.Errorf("Intersect(%q, %q): got none, enumeration finds one", p, q)
		}
		return got
	}
	if want, ok := matches[string(meet)]; !ok || !slices.Equal(want, both) {
		t.Errorf("Intersect(%q, %q): got %q, enumeration differs", p, q, meet)
	}
	return got
}

// TestWitnessOutsideUnions holds unions of up to three patterns against the enumeration.
func TestWitnessOutsideUnions(t *testing.T) {
	t.Parallel()
	lits := words(4, "a", "b", "z")
	var all []string
	for _, s := range words(2, "a", "b", "*", ">") {
		if server.IsValidSubject(s) {
			all = append(all, s)
		}
	}
	all = append(all, "*.*.>", "a.*.*", "*.a.>")
	matches := make([][]bool, len(all))
	for i, s := range all {
		matches[i] = matchedBy(s, lits)
	}
	cases, found := 0, 0
	for p := range all {
		for i := range all {
			for j := range i + 1 {
				for k := range j + 1 {
					cases++
					if checkUnion(t, all, matches, p, []int{i, j, k}) {
						found++
					}
				}
			}
		}
	}
	if found == 0 || found == cases {
		t.Errorf("got %d of %d cases with a witness, want both answers", found, cases)
	}
	t.Logf("%d unions, %d with a witness outside", cases, found)
}

func checkUnion(t *testing.T, all []string, matches [][]bool, p int, set []int) bool {
	t.Helper()
	patterns := make([]subject.Pattern, len(set))
	for i, q := range set {
		patterns[i] = subject.Pattern(all[q])
	}
	want := false
	for i, in := range matches[p] {
		want = want || in && !slices.ContainsFunc(set, func(q int) bool { return matches[q][i] })
	}
	w, got := subject.WitnessOutside(subject.Pattern(all[p]), patterns)
	if got != want {
		t.Errorf("WitnessOutside(%q, %q): got %q %v, enumeration says %v", all[p], patterns, w, got, want)
	}
	if got {
		checkWitness(t, subject.Pattern(all[p]), patterns, w)
	}
	return got
}

func checkWitness(t errorer, p subject.Pattern, set []subject.Pattern, w string) {
	if !server.IsValidPublishSubject(w) || !server.SubjectMatchesFilter(w, string(p)) {
		t.Errorf("WitnessOutside(%q, %q): got %q, want a literal that the pattern matches", p, set, w)
	}
	for _, q := range set {
		if server.SubjectMatchesFilter(w, string(q)) {
			t.Errorf("WitnessOutside(%q, %q): got %q, which %q matches", p, set, w, q)
		}
	}
}

type errorer interface {
	Errorf(format string, args ...any)
}
