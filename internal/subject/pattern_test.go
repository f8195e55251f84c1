package subject_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/subject"
)

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, plain, strict string }{
		{"a.b.>", "", ""},
		{"", "empty subject, want at least one token", "empty subject, want at least one token"},
		{"a..b", `subject "a..b": token 2 is empty, want no leading, trailing or double dot`, `subject "a..b": token 2 is empty, want no leading, trailing or double dot`},
		{"a.>.b", `subject "a.>.b": got ">" in token 2, want it in the last place only`, `subject "a.>.b": got ">" in token 2, want it in the last place only`},
		{"a.b c", `subject "a.b c": token 2 holds white space, want none`, `subject "a.b c": token 2 holds white space, want none`},
		{"a*.b", "", `subject "a*.b": got a wildcard inside token "a*", want it to be the whole token (the broker reads it as a literal character)`},
		{"a.>>", "", `subject "a.>>": got a wildcard inside token ">>", want it to be the whole token (the broker reads it as a literal character)`},
		{"a\u00a0b", "", `subject "a\u00a0b": got character U+00A0, want no space and no control character`},
		{"a\x00", "", `subject "a\x00": got character U+0000, want no space and no control character`},
		{"a\xff", "", `subject "a\xff": got invalid UTF-8, want text`},
	} {
		_, plain := subject.Parse(c.in)
		_, strict := subject.ParseStrict(c.in)
		if diff := cmp.Diff([]string{c.plain, c.strict}, []string{text(plain), text(strict)}); diff != "" {
			t.Errorf("%q: errors of Parse and ParseStrict (-want +got):\n%s", c.in, diff)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestWitnessTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    subject.Pattern
		set  []subject.Pattern
		want string
		ok   bool
	}{
		{"chat.*.*.team", nil, "chat.any.any.team", true},
		{">", nil, "rest", true},
		{"a.>", []subject.Pattern{"a.*"}, "a.rest.rest", true},
		{"a.*", []subject.Pattern{"a.any", "a.any2"}, "a.any3", true},
		{"a.>", []subject.Pattern{"a.*", "a.*.*", "a.*.*.>"}, "", false},
		{"a.>", []subject.Pattern{"a.rest", "*.*.x"}, "a.rest2", true},
		{"a.b", []subject.Pattern{"a.c", "*.b"}, "", false},
	} {
		got, ok := subject.WitnessOutside(c.p, c.set)
		if got != c.want || ok != c.ok {
			t.Errorf("WitnessOutside(%q, %q): got %q %v, want %q %v", c.p, c.set, got, ok, c.want, c.ok)
		}
	}
}

func TestIntersect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want subject.Pattern }{
		{"a.*.>", "*.b.*", "a.b.*"},
		{"*.b.>", "a.>", "a.b.>"},
		{"*.>", "a.*.*", "a.*.*"},
		{"a.*.c", "*.b.*", "a.b.c"},
		{"a.>", "a", ""},
		{"*.*", "a.b.c", ""},
	} {
		if got, _ := subject.Intersect(c.a, c.b); got != c.want {
			t.Errorf("Intersect(%q, %q): got %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	type result struct{ Pattern, Queue, Widened, Closing, Err string }
	for in, want := range map[string]result{
		"foo.*":       {Pattern: "foo.*", Widened: "foo.>", Closing: "foo.*.>"},
		" foo.* q.* ": {Pattern: "foo.*", Queue: "q.*", Widened: "foo.>", Closing: "foo.*.> q.*"},
		"*":           {Pattern: "*", Widened: ">", Closing: "*.>"},
		"a.*.*":       {Pattern: "a.*.*", Widened: "a.*.>", Closing: "a.*.*.>"},
		"foo*":        {Pattern: "foo*", Widened: "foo*"},
		"foo.>":       {Pattern: "foo.>", Widened: "foo.>"},
		"foo.*.b":     {Pattern: "foo.*.b", Widened: "foo.*.b"},
		"a\u00a0b":    {Pattern: "a", Queue: "b", Widened: "a"},
		"":            {Err: `permission entry "": got 0 words, want a pattern and an optional queue`},
		"a b c":       {Err: `permission entry "a b c": got 3 words, want a pattern and an optional queue`},
		"a.>.b q":     {Err: `permission entry "a.>.b q": subject "a.>.b": got ">" in token 2, want it in the last place only`},
		"a q..r":      {Err: `permission entry "a q..r": queue: subject "q..r": token 2 is empty, want no leading, trailing or double dot`},
	} {
		e, err := subject.ParseEntry(in)
		got := result{Pattern: string(e.Pattern), Queue: e.Queue, Err: text(err)}
		if err == nil {
			got.Widened = string(subject.Widen(e.Pattern))
			if c, ok := subject.Closing(e); ok {
				got.Closing = c.String()
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}
