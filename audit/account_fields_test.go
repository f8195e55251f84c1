package audit

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScannerFindsKeys: on made-up JSON the scanner names the keys that encoding/json does, as far as it names any.
func TestScannerFindsKeys(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	compared := 0
	for range 3000 {
		v := made(r, 4)
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(2) == 0 {
			if text, err = json.MarshalIndent(v, "\t", "  "); err != nil {
				t.Fatal(err)
			}
		}
		var want []string
		fieldKeys(v, "", &want)
		s := scanner{text: text}
		s.value(&shapeNode{fields: map[string]*shapeNode{}}, "")
		if s.peek() != 0 {
			t.Fatalf("%s: stopped at byte %d", text, s.at)
		}
		if len(want) > maxUnknown {
			continue
		}
		slices.Sort(want)
		slices.Sort(s.unknown)
		if diff := cmp.Diff(want, s.unknown); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", text, diff)
		}
		compared++
	}
	if compared < 1000 {
		t.Errorf("compared %d texts, want more", compared)
	}
	for _, text := range []string{"", "{", `{"a`, `{"a":`, `[`, `[,`, `[:`, `{"a":[}`, `"\`, `{"a":"\`} { // nothing that reaches it: it must end
		(&scanner{text: []byte(text)}).value(&shapeNode{}, "")
	}
}

// made is a value of JSON; its keys and strings hold what a scanner may trip over.
func made(r *rand.Rand, depth int) any {
	texts := []string{"a", `q"q`, `b\`, "}", "]", ",", ":", " ", "é", "\u2028", "{{x}}", "\n"}
	switch n := r.IntN(6); {
	case depth > 0 && n < 2:
		out := map[string]any{}
		for range r.IntN(4) {
			out[fmt.Sprint(texts[r.IntN(len(texts))], r.IntN(9))] = made(r, depth-1)
		}
		return out
	case depth > 0 && n == 2:
		out := []any{}
		for range r.IntN(4) {
			out = append(out, made(r, depth-1))
		}
		return out
	case n == 3:
		return r.NormFloat64()
	case n == 4:
		return []any{true, false, nil}[r.IntN(3)]
	}
	return texts[r.IntN(len(texts))]
}

// fieldKeys lists the keys that no shape names: below an unknown one everything is open.
func fieldKeys(v any, path string, out *[]string) {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			*out = append(*out, strings.TrimPrefix(path+"."+k, "."))
		}
	case []any:
		for _, e := range v {
			fieldKeys(e, path, out)
		}
	}
}
