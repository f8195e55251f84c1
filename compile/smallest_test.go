package compile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
	"pgregory.net/rapid"
)

// drawStored draws what streams store of the universe of [drawGrants].
func drawStored(t *rapid.T) []subject.Pattern {
	return rapid.SliceOfN(rapid.SampledFrom([]subject.Pattern{"a.>", "b.*", "*.b.*", "c.a.b", "a"}), 0, 2).Draw(t, "stored")
}

// drawDenied draws few allows beside many denies, which are close to each other.
func drawDenied(t *rapid.T) []Grant {
	patterns := universe([]string{"a", "b", "*"}, 3)
	draw := func(from []string, deny bool, i int) Grant {
		id := fmt.Sprintf("R%d", i)
		return Grant{Row: &contract.Row{ID: id}, Rows: []string{id}, Deny: deny, Dir: rapid.SampledFrom([]Dir{Pub, Sub}).Draw(t, "dir"),
			Entry: subject.Entry{Pattern: subject.Pattern(rapid.SampledFrom(from).Draw(t, "pattern"))}}
	}
	var out []Grant
	for i := range rapid.IntRange(2, 4).Draw(t, "allows") {
		out = append(out, draw(patterns, false, i))
	}
	under := rapid.SampledFrom([]string{"a.", "b.a.", ""}).Draw(t, "under")
	near := universe([]string{"a", "b", ">"}, 2)
	for i := range near {
		near[i] = under + near[i]
	}
	for range rapid.IntRange(1, 5).Draw(t, "denies") {
		out = append(out, draw(near, true, len(out)))
	}
	return out
}

// longer gives a set the longer tokens that widening looks for: a letter is not worth freeing.
var longer = strings.NewReplacer("a", "alpha", "b", "bravo")

func lengthened(grants []Grant) []Grant {
	for i := range grants {
		grants[i].Entry.Pattern = subject.Pattern(longer.Replace(string(grants[i].Entry.Pattern)))
	}
	return grants
}

func spelled(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = longer.Replace(s)
	}
	return out
}

// checkUntil checks a property once, and again until what was drawn has shown enough: under -short few are drawn at a time.
func checkUntil(t *testing.T, enough func() bool, property func(*rapid.T)) {
	t.Helper()
	for range 50 {
		if rapid.Check(t, property); enough() || t.Failed() {
			return
		}
	}
}

// TestSmallestDecidesAlike holds the smallest form of drawn sets against the set itself on every operation of a small universe:
// publishes, subscriptions with and without a queue, what each delivers, what of a stored message, and whether it loads the filter.
func TestSmallestDecidesAlike(t *testing.T) {
	subjects := spelled(universe([]string{"a", "b", "c"}, 4))
	subs := spelled(universe([]string{"a", "b", "*", ">"}, 3))
	operations, shortened, dropped := 0, 0, 0
	checkUntil(t, func() bool { return shortened > 0 && dropped > 0 }, func(t *rapid.T) {
		grants := drawGrants(t)
		if rapid.Bool().Draw(t, "denied") {
			grants = drawDenied(t)
		}
		grants, stored := lengthened(grants), drawStored(t)
		for i, p := range stored {
			stored[i] = subject.Pattern(longer.Replace(string(p)))
		}
		var set PermissionSet
		set.Pub, set.Sub = Minimize(grants)
		small := Smallest(&set, stored)
		dropped += len(set.Pub.Deny) + len(set.Sub.Deny) - len(small.Pub.Deny) - len(small.Sub.Deny)
		for _, l := range [][2]List{{set.Pub, small.Pub}, {set.Sub, small.Sub}} {
			checkRows(t, grants, l[1])
			checkDenies(t, l[0].Deny, l[1].Deny)
			if encodedSize(l[1].Deny) > encodedSize(l[0].Deny) {
				t.Fatalf("denies grew: %v became %v", l[0].Deny, l[1].Deny)
			}
			if encodedSize(l[1].Deny) < encodedSize(l[0].Deny) {
				shortened++
			}
		}
		operations += alike(t, subject.Permissions{Pub: compiled(set.Pub), Sub: compiled(set.Sub)},
			subject.Permissions{Pub: compiled(small.Pub), Sub: compiled(small.Sub)}, stored, subjects, subs)
	})
	if operations == 0 || shortened == 0 || dropped == 0 {
		t.Fatalf("compared %d operations, %d lists shortened, %d denies dropped: the test saw too little", operations, shortened, dropped)
	}
	t.Logf("compared %d operations, %d lists shortened, %d denies dropped", operations, shortened, dropped)
}

// alike fails where two permission sets decide an operation differently, and returns how many it tried.
func alike(t *rapid.T, before, after subject.Permissions, stored []subject.Pattern, subjects, subs []string) int {
	n := 0
	for _, s := range subjects {
		n++
		if x, y := before.CanPublish(s).Allowed, after.CanPublish(s).Allowed; x != y {
			t.Fatalf("publish %s: before %t, after %t", s, x, y)
		}
	}
	var kept []string // what streams may store
	for _, s := range subjects {
		if slices.ContainsFunc(stored, func(p subject.Pattern) bool { return p.Matches(s) }) {
			kept = append(kept, s)
		}
	}
	for _, s := range subs {
		for _, q := range []string{"", "q", "v.1", "other"} {
			n++
			x := before.CanSubscribe(s, q).Allowed
			if y := after.CanSubscribe(s, q).Allowed; x != y {
				t.Fatalf("subscribe %s %q: before %t, after %t", s, q, x, y)
			}
			if !x {
				continue
			}
			if x, y := before.LoadsDenyFilter(s, q), after.LoadsDenyFilter(s, q); x != y {
				t.Fatalf("subscription %s %q loads the filter: before %t, after %t", s, q, x, y)
			}
			for _, m := range subjects {
				n++
				if x, y := before.Delivers(s, q, m), after.Delivers(s, q, m); x != y {
					t.Fatalf("delivery of %s on %s %q: before %t, after %t", m, s, q, x, y)
				}
			}
			for _, m := range kept {
				n++
				if x, y := len(before.Withheld(m, q)) > 0, len(after.Withheld(m, q)) > 0; x != y {
					t.Fatalf("stored %s on %s %q is withheld: before %t, after %t", m, s, q, x, y)
				}
			}
		}
	}
	return n
}

// checkDenies holds that every deny is covered by one of the shorter form that names its rows, and every queue deny is there as it was.
func checkDenies(t *rapid.T, before, after []Entry) {
	for _, e := range before {
		if !slices.ContainsFunc(after, func(w Entry) bool {
			covers := subject.Covers(subject.Pattern(w.Pattern), subject.Pattern(e.Pattern)) && w.Queue == e.Queue
			if e.Queue != "" {
				covers = w.Pattern == e.Pattern && w.Queue == e.Queue
			}
			return covers && !slices.ContainsFunc(e.Rows, func(id string) bool { return !slices.Contains(w.Rows, id) })
		}) {
			t.Fatalf("deny %s of %v is lost: %v", e, e.Rows, after)
		}
	}
}

func TestSmallest(t *testing.T) {
	t.Parallel()
	list := func(allow string, deny ...string) List {
		l := List{Mode: ModePatterns, Deny: []Entry{}}
		for _, p := range strings.Fields(allow) {
			l.Allow = append(l.Allow, Entry{Pattern: p, Rows: []string{"A"}})
		}
		for i, d := range deny {
			p, q, _ := strings.Cut(d, " ")
			l.Deny = append(l.Deny, Entry{Pattern: p, Queue: q, Rows: []string{fmt.Sprint("D", i)}})
		}
		return l
	}
	for _, tt := range []struct {
		name   string
		sub    List
		stored []subject.Pattern
		want   string // the denies with their rows
	}{
		{"no allow reaches it", list("chat.x", "api.create.s", "api.create.s.>"), nil, "api.> D0,D1"},
		{"cut only where that is shorter", list("api.info.>", "api.create.stream", "api.delete.stream"), nil, "api.create.* D0; api.delete.* D1"},
		{"a closing deny keeps its length", list("reply.*.alice.* inbox.>", "reply.*.alice.*.>"), nil, "reply.*.*.*.> D0"},
		{"and its token where a sibling is longer", list("reply.*.alice.* reply.*.bob.*.x", "reply.*.alice.*.>"), nil, "*.*.alice.*.> D0"},
		{"a stored subject is acted on", list("reply.*.alice.* inbox.>", "reply.*.alice.*.>"), []subject.Pattern{"reply.>"}, "reply.*.alice.*.> D0"},
		{"one that other denies take is not", list("reply.*.alice.* inbox.>", "reply.*.*.*.>", "reply.*.alice.*.>"), []subject.Pattern{"reply.>"}, "reply.*.*.*.> D0,D1"},
		{"a queue deny takes from its queue alone", list("reply.*.alice.* inbox.>", "reply.*.*.*.> q", "reply.*.alice.*.>"), []subject.Pattern{"reply.>"},
			"reply.*.*.*.> q D0; reply.*.alice.*.> D1"},
		{"the over-admission of an allow counts", list("first.*", "first.second.third"), nil, "*.second.third D0"},
		{"cut as far as the allows let it be", list("api.info.>", "api.create.stream.one", "api.create.stream.one.>", "api.create.other.>"), nil,
			"api.create.> D0,D1,D2"},
		{"a queue deny stays", list("chat.x", "api.create.s q"), nil, "api.create.s q D0"},
		{"short tokens stay", list("some.b", "some.long"), nil, "some.long D0"},
	} {
		set := PermissionSet{Pub: List{Mode: ModeNone, Allow: []Entry{}, Deny: []Entry{}}, Sub: tt.sub}
		got := Smallest(&set, tt.stored)
		var texts []string
		for _, e := range got.Sub.Deny {
			texts = append(texts, e.String()+" "+strings.Join(e.Rows, ","))
		}
		if s := strings.Join(texts, "; "); s != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, s, tt.want)
		}
		if got.Pub.Mode != ModeNone || len(got.Pub.Deny) != 0 {
			t.Errorf("%s: nothing became %+v", tt.name, got.Pub)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ grants, want string }{
		{"pub a.*, pub a.*.>", "pub a.* R0; pub a.> R0,R1"},
		{"sub *, sub *.>", "sub * R0; sub > R0,R1"},
		{"pub a.*.*.>, pub a.*, pub *.*.*, pub b", "pub a.> R0,R1,R2; pub a.* R1; pub *.*.* R2; pub b R3"},
		{"deny a.*, deny a.*.>", "deny a.* R0; deny a.> R0,R1"},
		{"pub a.*, sub a.*.>", "pub a.* R0; sub a.*.> R1"},
		{"pub a.*, deny a.*.>", "pub a.* R0; deny a.*.> R1"},
		{"sub a.* q, sub a.*.>", "sub a.* q R0; sub a.*.> R1"},
		{"sub a.*, sub a.*.> q", "sub a.* R0; sub a.*.> q R1"},
		{"pub a.b, pub a.*.>", "pub a.b R0; pub a.*.> R1"},
		{"pub a.b, pub a.b.>", "pub a.b R0; pub a.b.> R1"},
	} {
		var grants []Grant
		for i, text := range strings.Split(tt.grants, ", ") {
			dir, entry, _ := strings.Cut(text, " ")
			e, err := subject.ParseEntry(entry)
			if err != nil {
				t.Fatal(err)
			}
			g := Grant{Row: &contract.Row{}, Rows: []string{fmt.Sprint("R", i)}, Dir: Dir(dir), Entry: e}
			if dir == "deny" {
				g.Dir, g.Deny = Pub, true
			}
			grants = append(grants, g)
		}
		before := fmt.Sprint(grants)
		var texts []string
		for _, g := range fold(grants) {
			dir := string(g.Dir)
			if g.Deny {
				dir = "deny"
			}
			slices.Sort(g.Rows)
			texts = append(texts, dir+" "+g.Entry.String()+" "+strings.Join(slices.Compact(g.Rows), ","))
		}
		if got := strings.Join(texts, "; "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.grants, got, tt.want)
		}
		if fmt.Sprint(grants) != before {
			t.Errorf("%s: the grants that were given changed", tt.grants)
		}
	}
}

// TestFoldDecidesAlike holds folded grants against the grants themselves on every operation of a small universe.
func TestFoldDecidesAlike(t *testing.T) {
	subjects, subs := universe([]string{"a", "b"}, 4), universe([]string{"a", "b", "*", ">"}, 3)
	operations, folded := 0, 0
	checkUntil(t, func() bool { return folded > 0 }, func(t *rapid.T) {
		grants := drawGrants(t)
		for i := range grants { // most of them siblings
			if rapid.Bool().Draw(t, "sibling") {
				grants[i].Entry = subject.Entry{Pattern: rapid.SampledFrom([]subject.Pattern{"a.*", "a.*.>", "*.*", "*.*.>", "*"}).Draw(t, "entry")}
			}
		}
		out := fold(grants)
		if fmt.Sprint(out) != fmt.Sprint(grants) {
			folded++
			operations += alike(t, raw(grants), raw(out), nil, subjects, subs)
		}
	})
	if folded == 0 {
		t.Fatal("no grants were folded")
	}
	t.Logf("compared %d operations of %d folded sets", operations, folded)
}
