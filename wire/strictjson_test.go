package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestStrictJSON: what is refused that encoding/json takes, and where.
func TestStrictJSON(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"repeated name", "{\"a\": 1,\n \"a\": 2}", "2:2: a: duplicate key, first given in line 1"},
		{"repeated by escape", `{"a": 1, "\u0061": 2}`, "1:10: a: duplicate key, first given in line 1"},
		{"repeated deep", `{"x": [{"b": 1, "b": 1}]}`, "1:17: x[0].b: duplicate key, first given in line 1"},
		{"lone surrogate", `"\ud800"`, "1:8: not I-JSON, got a lone surrogate, want a pair"},
		{"two high surrogates", `"\ud800\ud800"`, "1:14: not I-JSON, got a lone surrogate, want a pair"},
		{"bad UTF-8", "\"\xff\"", "1:1: not plain UTF-8, want UTF-8 without a byte order mark"},
		{"byte order mark", "\uFEFF{}", "1:1: not plain UTF-8, want UTF-8 without a byte order mark"},
		{"too deep", strings.Repeat("[", 17) + strings.Repeat("]", 17), "1:17: nested too deep, got more than 16 levels, want the levels of a handle"},
		{"much too deep", strings.Repeat("[", 60000), "1:17: nested too deep, got more than 16 levels, want the levels of a handle"},
		{"column after runes", "{\"é\": x}", "1:7: not valid JSON, got 'x', want a value"},
	} {
		_, fault := parseJSON([]byte(tt.in))
		if fault == nil || fault.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, fault, tt.want)
		}
	}
}

// jsonTexts are texts at the edge of the grammar.
var jsonTexts = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `1.5e+3`, `""`, ` [1, 2] `, "{\"a\":\t[null]}", `{"a":{"b":[{}]}}`, `"\u00e9\n\/"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`,
	``, ` `, `{`, `[`, `"`, `{,}`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{'a':1}`, `01`, `1.`, `.5`, `-`, `+1`, `1e`, `0x1`, `NaN`, `tru`, `truex`, `nulll`,
	`[1 2]`, `{"a":1 "b":2}`, `[]]`, `{}{}`, "\"a\nb\"", "\"\x00\"", `"\x"`, `"\u12"`, `"\u12g4"`, "\"\\u\x101\x10\x10\"", `/* */1`, `1//`, "[1]\x00",
}

// TestJSONGrammar compares the scanner with the standard library's.
func TestJSONGrammar(t *testing.T) {
	accepted := 0
	for _, text := range jsonTexts {
		_, fault := parseJSON([]byte(text))
		if want := json.Valid([]byte(text)); (fault == nil) != want {
			t.Errorf("%q: got %v, encoding/json says valid %t", text, fault, want)
		}
		if fault == nil {
			accepted++
		}
	}
	if accepted < 10 || len(jsonTexts)-accepted < 20 {
		t.Errorf("accepted %d of %d texts, want some of both", accepted, len(jsonTexts))
	}
}

// FuzzStrictJSON: what the scanner takes, encoding/json takes with the same meaning; what it refuses is invalid, or one of the few
// things that have two readings or no bound.
func FuzzStrictJSON(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		root, fault := parseJSON(data)
		if fault != nil {
			stricter := strings.HasPrefix(fault.What, "duplicate") || strings.HasPrefix(fault.What, "not I-JSON") ||
				strings.HasPrefix(fault.What, "nested") || strings.HasPrefix(fault.What, "not plain")
			if json.Valid(data) && !stricter {
				t.Fatalf("%q is refused: %v", data, fault)
			}
			if fault.Line < 1 || fault.Col < 1 {
				t.Fatalf("%q: no place: %v", data, fault)
			}
			return
		}
		var want, got any
		if err := decodeNumbers(data, &want); err != nil {
			t.Fatalf("%q is accepted, and encoding/json says %v", data, err)
		}
		if err := decodeNumbers([]byte(canonical(root)), &got); err != nil {
			t.Fatalf("%q: canonical form %q: %v", data, canonical(root), err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if !bytes.Equal(a, b) {
			t.Fatalf("%q: got %s, want %s", data, b, a)
		}
	})
}

func decodeNumbers(data []byte, dst any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(dst)
}
