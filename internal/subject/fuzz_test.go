package subject_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nats-io/nats-server/v2/server"
	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// seeds are pairs that have gone wrong in one implementation or another.
var seeds = [][2]string{
	{"foo.>", "foo.*"}, {">", "*"}, {"*.>", ">"}, {"a.>", "a"}, {"a.*.b", "a.>"}, {"foo*", "foo.*"}, {"a.>b", "a.>"},
	{"a..b", "a.>"}, {".a", "*"}, {"a.", "a.*"}, {"", ">"}, {"a b", "a"}, {"a\x00b", "*"}, {"\xff.\xfe", "*.*"}, {"a\vb", "a\u00a0b"},
	{"x." + strings.Repeat("*.", 40) + ">", strings.Repeat("y.", 41) + "y"},
}

func addSeeds(f *testing.F) {
	for _, s := range seeds {
		f.Add(s[0], s[1])
		f.Add(s[1], s[0])
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s[0])
		f.Add(s[1])
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkParse(t, s)
		p, err := subject.ParseStrict(s)
		if err != nil {
			return
		}
		if !server.IsValidSubject(s) || !utf8.ValidString(s) {
			t.Errorf("ParseStrict(%q): got no error, want one", s)
		}
		for _, token := range p.Tokens() {
			if len(token) > 1 && strings.ContainsAny(token, "*>") {
				t.Errorf("ParseStrict(%q): got token %q, want no wildcard inside it", s, token)
			}
		}
		if e, err := subject.ParseEntry(s); err != nil || e.Pattern != p || e.String() != s {
			t.Errorf("ParseEntry(%q): got %q, %v, want the same pattern", s, e, err)
		}
	})
}

// pair parses both strings; false when one of them is no subject.
func pair(a, b string) (p, q subject.Pattern, ok bool) {
	p, errP := subject.Parse(a)
	q, errQ := subject.Parse(b)
	return p, q, errP == nil && errQ == nil
}

func FuzzCovers(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		p, q, ok := pair(a, b)
		if !ok {
			return
		}
		got := subject.Covers(p, q)
		if want := server.SubjectMatchesFilter(b, a); got != want {
			t.Errorf("Covers(%q, %q): got %v, broker says %v", a, b, got, want)
		}
		w, outside := subject.WitnessOutside(q, []subject.Pattern{p})
		if outside == got {
			t.Errorf("WitnessOutside(%q, [%q]): got %q %v, want found %v", b, a, w, outside, !got)
		}
		if outside {
			checkWitness(t, q, []subject.Pattern{p}, w)
		}
		if q.IsLiteral() && p.Matches(b) != got {
			t.Errorf("Pattern(%q).Matches(%q): got %v, want %v", a, b, !got, got)
		}
	})
}

func FuzzIntersect(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		p, q, ok := pair(a, b)
		if !ok {
			return
		}
		got := subject.Overlaps(p, q)
		if want := server.SubjectsCollide(a, b); got != want {
			t.Errorf("Overlaps(%q, %q): got %v, broker says %v", a, b, got, want)
		}
		meet, ok := subject.Intersect(p, q)
		if ok != got {
			t.Fatalf("Intersect(%q, %q): got %q %v, want %v", a, b, meet, ok, got)
		}
		if !ok {
			return
		}
		if !server.IsValidSubject(string(meet)) || !subject.Covers(p, meet) || !subject.Covers(q, meet) {
			t.Errorf("Intersect(%q, %q): got %q, want it inside both", a, b, meet)
		}
		back, _ := subject.Intersect(q, p)
		if back != meet {
			t.Errorf("Intersect(%q, %q): got %q, the other way round %q", a, b, meet, back)
		}
	})
}

// patterns draws valid patterns of up to six tokens over two literals.
func patterns() *rapid.Generator[subject.Pattern] {
	return rapid.Custom(func(t *rapid.T) subject.Pattern {
		tokens := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*", "*"}), 1, 6).Draw(t, "tokens")
		if rapid.Bool().Draw(t, "open") {
			tokens[len(tokens)-1] = ">"
		}
		return subject.Pattern(strings.Join(tokens, "."))
	})
}

func TestWitnessOutsideProperties(t *testing.T) {
	t.Parallel()
	lits := words(7, "a", "b", "z")
	outcomes := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := patterns().Draw(t, "p")
		set := rapid.SliceOfN(patterns(), 0, 12).Draw(t, "set")
		want := slices.ContainsFunc(lits, func(s string) bool {
			return p.Matches(s) && !slices.ContainsFunc(set, func(q subject.Pattern) bool { return q.Matches(s) })
		})
		w, got := subject.WitnessOutside(p, set)
		if got != want || subject.CoveredBy(p, set) == got {
			t.Fatalf("WitnessOutside(%q, %q): got %q %v, enumeration says %v", p, set, w, got, want)
		}
		if got {
			checkWitness(t, p, set, w)
		}
		if again, _ := subject.WitnessOutside(p, slices.Clone(set)); again != w {
			t.Fatalf("WitnessOutside(%q, %q): got %q, then %q", p, set, w, again)
		}
		outcomes[got]++
	})
	if outcomes[true] == 0 || outcomes[false] == 0 {
		t.Errorf("got %v, want both answers", outcomes)
	}
}

func TestNoAllocations(t *testing.T) {
	a, b := subject.Pattern("chat.*.*.team.>"), subject.Pattern("chat.x.*.team.a.b")
	for name, f := range map[string]func(){
		"Covers":    func() { subject.Covers(a, b) },
		"Overlaps":  func() { subject.Overlaps(a, b) },
		"Matches":   func() { a.Matches("chat.x.y.team.a.b") },
		"Intersect": func() { subject.Intersect(a, b) },
	} {
		if got := testing.AllocsPerRun(100, f); got != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, got)
		}
	}
}

func BenchmarkCovers(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		subject.Covers("chat.*.*.team.>", "chat.x.*.team.a.b")
	}
}

func BenchmarkOverlaps(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		subject.Overlaps("chat.*.*.team.>", "chat.x.*.team.a.b")
	}
}

// BenchmarkWitnessOutside uses 500 patterns that all overlap the first one, at the longest subject in use.
func BenchmarkWitnessOutside(b *testing.B) {
	set := make([]subject.Pattern, 500)
	for i := range set {
		set[i] = subject.Pattern(fmt.Sprintf("a.%s*.c%d", strings.Repeat("*.", i%13), i))
	}
	b.ReportAllocs()
	for b.Loop() {
		subject.WitnessOutside("a.>", set)
	}
}
