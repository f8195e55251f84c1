package source

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// lines are the errors of a report, one per line, with hints behind " | ".
func lines(err error) string {
	var list Errors
	if !errors.As(err, &list) {
		return ""
	}
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.Error())
		if e.Hint != "" {
			b.WriteString(" | " + e.Hint)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", "f:1:1: file is empty, want one YAML document\n"},
		{"comment only", "# x\n", "f:1:1: file is empty, want one YAML document\n"},
		{"byte order mark", "\uFEFFa: b", "f:1:1: file is not plain UTF-8, want UTF-8 without a byte order mark\n"},
		{"bad UTF-8", "a: \xff", "f:1:1: file is not plain UTF-8, want UTF-8 without a byte order mark\n"},
		{"tab", "a: b\nc:\td\n", "f:2:3: tab character, want spaces\n"},
		{"alias", "a: &x b\nc: *x\n", "f:1:4: anchor, got &x, want no anchors\nf:2:4: alias, got *x, want the value written out\n"},
		{"merge key", "a: {<<: {b: c}}", "f:1:5: merge key, got <<, want the keys written out\n"},
		{"tag", "a: !!str 1", "f:1:4: tag, got !!str, want no tags\n"},
		{"own tag", "a: !x 1", "f:1:4: tag, got !x, want no tags\n"},
		{"duplicate key", "a: b\nc: d\na: e\n", "f:3:1: duplicate key \"a\", first given in line 1\n"},
		{"duplicate key deep", "a: [{b: c, b: d}]", "f:1:12: duplicate key \"b\", first given in line 1\n"},
		{"map as key", "{[a]: b}", "f:1:2: map key is not a word, got a list, want a string\n"},
		{"two documents", "a: b\n---\nc: d\n", "f:2:1: not valid YAML: several documents in one file, want one\n"},
		{"broken", "a: [b", "f:1:1: not valid YAML: did not find expected ',' or ']'\n"},
		{"too deep", strings.Repeat("[", MaxDepth+2) + strings.Repeat("]", MaxDepth+2), "f:1:66: nested too deep, got more than 64 levels, want a flatter file\n"},
		{"too long", strings.Repeat("#", MaxBytes+1), "f:1:1: file is too large, got 1048577 bytes, want at most 1048576\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{}
			Parse(r, "f", []byte(tt.in))
			if diff := cmp.Diff(tt.want, lines(r.Err())); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// Scalars have the type that is asked for, or the error says what stands there.
func TestScalars(t *testing.T) {
	for _, tt := range []struct {
		in, text, boolean, number, duration string // wanted error, without its position and name; "" is accepted
	}{
		{`abc`, "", "got \"abc\", want true or false", "got \"abc\", want a decimal integer", "got \"abc\", want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`"1"`, "", "got \"1\", want true or false", "got \"1\", want a decimal integer", "got \"1\", want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`5s`, "", "got \"5s\", want true or false", "got \"5s\", want a decimal integer", ""},
		{`1`, "got the number 1, want a string: quote it", "got the number 1, want true or false", "", "got the number 1, want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`0123`, "got the number 0123, want a string: quote it", "got the number 0123, want true or false", "got the number 0123, want a decimal integer", "got the number 0123, want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`0x10`, "got the number 0x10, want a string: quote it", "got the number 0x10, want true or false", "got the number 0x10, want a decimal integer", "got the number 0x10, want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`1.0`, "got the number 1.0, want a string: quote it", "got the number 1.0, want true or false", "got the number 1.0, want a decimal integer", "got the number 1.0, want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`true`, "got the boolean true, want a string: quote it", "", "got the boolean true, want a decimal integer", "got the boolean true, want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`True`, "got the boolean True, want a string: quote it", "got the boolean True, want true or false", "got the boolean True, want a decimal integer", "got the boolean True, want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`yes`, "got the word yes, want a string: quote it", "got the word yes, want true or false", "got the word yes, want a decimal integer", "got the word yes, want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`"yes"`, "", "got \"yes\", want true or false", "got \"yes\", want a decimal integer", "got \"yes\", want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`null`, "got null, want a string: quote it", "got null, want true or false", "got null, want a decimal integer", "got null, want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`2026-01-31`, "got the date 2026-01-31, want a string: quote it", "got the date 2026-01-31, want true or false", "got the date 2026-01-31, want a decimal integer", "got the date 2026-01-31, want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`[a]`, "got a list, want a string", "got a list, want true or false", "got a list, want a decimal integer", "got a list, want a duration such as \"60s\", \"24h\" or \"30d\""},
		{`""`, "got \"\", want a string that is not empty", "got \"\", want true or false", "got \"\", want a decimal integer", "got \"\", want a duration such as \"60s\", \"24h\" or \"30d\""},
	} {
		for _, read := range []struct {
			as, want string
			by       func(Node)
		}{
			{"text", tt.text, func(n Node) { n.Text() }},
			{"bool", tt.boolean, func(n Node) { n.Bool() }},
			{"int", tt.number, func(n Node) { n.Int(-5, 5) }},
			{"duration", tt.duration, func(n Node) { n.Duration() }},
		} {
			r := &Report{}
			read.by(Parse(r, "f", []byte("k: "+tt.in)).Map("k").Get("k"))
			want := ""
			if read.want != "" {
				want = "f:1:4: k, " + read.want + "\n"
			}
			if got := lines(r.Err()); got != want {
				t.Errorf("%s as %s, got %q, want %q", tt.in, read.as, got, want)
			}
		}
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"0s": 0, "100ms": 100 * time.Millisecond, "60s": time.Minute, "1h30m": 90 * time.Minute, "30d": 720 * time.Hour} {
		r := &Report{}
		if got := Parse(r, "f", []byte("k: "+in)).Map("k").Get("k").Duration(); got != want || r.Err() != nil {
			t.Errorf("%s, got %v and %v, want %v", in, got, r.Err(), want)
		}
	}
	for _, in := range []string{"-1s", "+1s", "-1d", "99999999d", "1w", "d", "1.5d"} {
		r := &Report{}
		if Parse(r, "f", []byte("k: \""+in+"\"")).Map("k").Get("k").Duration(); r.Err() == nil {
			t.Errorf("%s is accepted", in)
		}
	}
}

func TestMapAndList(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		read           func(Node)
	}{
		{"unknown key", "{a: 1, colour: 2}", "f:1:8: row R1: unknown key \"colour\", want one of a, color | did you mean \"color\"?\n",
			func(n Node) { n.InRow("R1").Map("a", "color") }},
		{"refused key", "{a: 1, b: 2}", "f:1:8: key \"b\" may not be set | because\n", func(n Node) { n.MapRefusing(map[string]string{"b": "because"}, "a") }},
		{"missing key", "{a: 1}", "f:1:1: missing key \"b\"\n", func(n Node) { n.Map("a", "b").Need("b") }},
		{"no map", "[a]", "f:1:1: value, got a list, want a map\n", func(n Node) { n.Map("a").Need("a") }},
		{"empty map", "{}", "f:1:1: value, got an empty map, want at least one entry\n", func(n Node) { n.Fields() }},
		{"empty list", "[]", "f:1:1: value, got an empty list, want at least one element\n", func(n Node) { n.Items() }},
		{"repeat", "[a, a]", "f:1:5: value holds \"a\" twice, want each element once\n", func(n Node) { n.Strings() }},
		{"number in a list", "[a, 1]", "f:1:5: element of value, got the number 1, want a string: quote it\n", func(n Node) { n.Strings() }},
		{"no word of the set", "k", "f:1:1: value, got \"k\", want one of a, b\n", func(n Node) { n.OneOf("a", "b") }},
		{"out of range", "9", "f:1:1: value, got 9, want 1 to 5\n", func(n Node) { n.Int(1, 5) }},
		{"odd key", "{1.5: a}", "f:1:2: key, got the number 1.5, want a string: quote it\n", func(n Node) { n.Fields() }},
		{"not given", "{a: b}", "", func(n Node) {
			m := n.Map("a", "z")
			z := m.Get("z")
			if z.Text()+z.OneOf("q") != "" || z.Bool() || z.Int(1, 2) != 0 || z.Duration() != 0 || z.Items() != nil || z.Entries() != nil || z.Given() {
				t.Error("a value that was not given is not zero")
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{}
			tt.read(Parse(r, "f", []byte(tt.in)))
			if diff := cmp.Diff(tt.want, lines(r.Err())); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReportIsSortedAndBounded(t *testing.T) {
	r := &Report{}
	if err := r.Err(); err != nil {
		t.Fatalf("empty report, got %v", err)
	}
	for i := maxErrors + 10; i > 0; i-- {
		r.Add(Error{Pos: contract.Pos{File: "f", Line: i, Col: 1}, What: "x"})
		r.Add(Error{Pos: contract.Pos{File: "f", Line: i, Col: 1}, What: "x"})
	}
	var list Errors
	if !errors.As(r.Err(), &list) {
		t.Fatal("no Errors")
	}
	if len(list) != maxErrors/2+1 || list[0].What != "too many errors, the rest is not shown" || list[1].Pos.Line >= list[2].Pos.Line {
		t.Errorf("got %d errors, first %v, %v", len(list), list[0], list[1])
	}
}

func TestDecodeParams(t *testing.T) {
	for name, in := range map[string]string{
		"yaml": "owner: u_1\nid: \"0123\"\nwhole: false\ncapabilities:\n  - endpoint: a.b\n    targets: [self, {handle: {tOwner: x}}]\nnone: []\nempty: {}\nnothing: [null]\n",
		"json": "{\n\t\"owner\": \"u_1\", \"id\": \"0123\", \"whole\": false,\n\t\"capabilities\": [\n{\"endpoint\": \"a.b\",\n\t \"targets\": [\"self\", {\"handle\": {\"tOwner\": \"x\"}}]}],\n\"none\": [], \"empty\": {}, \"nothing\": [null]}",
	} {
		values, at, err := DecodeParams("p", []byte(in))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := map[string]any{"owner": "u_1", "id": "0123", "whole": false, "none": []any{}, "empty": map[string]any{}, "nothing": []any{contract.Null{}},
			"capabilities": []any{map[string]any{"endpoint": "a.b", "targets": []any{"self", map[string]any{"handle": map[string]any{"tOwner": "x"}}}}}}
		if diff := cmp.Diff(want, values); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, path := range []string{"owner", "capabilities", "capabilities.0", "capabilities.0.endpoint", "capabilities.0.targets.1.handle.tOwner"} {
			if at[path].Line == 0 || at[path].File != "p" {
				t.Errorf("%s: %s has no position", name, path)
			}
		}
		if name == "yaml" {
			if got, want := at["capabilities.0.endpoint"], (contract.Pos{File: "p", Line: 5, Col: 5}); got != want {
				t.Errorf("position, got %v, want %v", got, want)
			}
		}
	}
}

func TestDecodeParamsRefuses(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a: 1\nb: [0123]\nc: {d: 2026-01-01}\ne: yes\n", "p:1:4: a, got the number 1, want a string: quote it\np:2:5: b.0, got the number 0123, want a string: quote it\n" +
			"p:3:8: c.d, got the date 2026-01-01, want a string: quote it\np:4:4: e, got the word yes, want a string: quote it\n"},
		{`{"a": 1}`, "p:1:7: a, got the number 1, want a string: quote it\n"},
		{"[a]", "p:1:1: file, got a list, want a map of parameters\n"},
		{"", "p:1:1: file is empty, want one YAML document\n"},
		{"a: b\na: c\n", "p:2:1: duplicate key \"a\", first given in line 1\n"},
		{"a: &x b\nc: *x\n", "p:1:4: anchor, got &x, want no anchors\np:2:4: alias, got *x, want the value written out\n"},
		{"a:\tb", "p:1:3: tab character, want spaces\n"},
	} {
		values, at, err := DecodeParams("p", []byte(tt.in))
		if diff := cmp.Diff(tt.want, lines(err)); diff != "" || values != nil || at != nil {
			t.Errorf("%q: values %v, errors (-want +got):\n%s", tt.in, values, diff)
		}
	}
}

// FuzzDecodeParams: hostile bytes give values or positioned errors, never a panic.
func FuzzDecodeParams(f *testing.F) {
	for _, text := range []string{"", "a: b", `{"a": ["b", {"c": true}]}`, "a: &x [*x]", "[[[[", "a: |\n  b\n", "? [a]\n: b", "%YAML 1.1\n---\na: b", "a: !!binary x", "a: 'b\n\n  c'", "\"\\ud800\": 1"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, at, err := DecodeParams("p", data)
		if (values == nil) == (err == nil) {
			t.Fatalf("got values %v and error %v, want exactly one", values, err)
		}
		var list Errors
		if err != nil && (!errors.As(err, &list) || len(list) == 0) {
			t.Fatalf("error, got %T, want Errors", err)
		}
		for path, pos := range at {
			if pos.Line < 1 || pos.Col < 1 {
				t.Errorf("%q has no position", path)
			}
		}
	})
}
