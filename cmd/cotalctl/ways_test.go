package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
)

// TestWaysDown ranks changes of made-up sizes: a list of n texts of 100 bytes each, halved where the choice is "small".
func TestWaysDown(t *testing.T) {
	p := &contract.Profile{Name: "p", Params: []*contract.Param{
		{Name: "form", Type: &contract.Type{Kind: contract.TypeEnum, Enum: []string{"large", "small"}}, Default: "large"},
		{Name: "texts", Type: &contract.Type{Kind: contract.TypeList, Elem: &contract.Type{Kind: contract.TypeScalar}}},
	}}
	texts := func(n int) []any {
		out := make([]any, n)
		for i := range out {
			out[i] = "t"
		}
		return out
	}
	measure := func(in compile.Input) (int, bool) {
		size := 100 * len(in.Values["texts"].([]any))
		if in.Values["form"] == "small" {
			size /= 2
		}
		return 10 + size, true
	}
	for name, c := range map[string]struct {
		n, gate int
		want    []string
	}{
		"a text less":             {10, 910, []string{"texts without t", "form: small"}},
		"another choice":          {10, 510, []string{"form: small", "texts without 5 of its 10"}},
		"a choice and fewer":      {10, 310, []string{"form: small and texts without 4 of its 10", "texts without 7 of its 10"}},
		"nothing but none at all": {10, 10, []string{"texts without 10 of its 10", "form: small and texts without 10 of its 10"}},
		"nothing helps":           {10, 9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := compile.Input{Values: map[string]any{"texts": texts(c.n)}}
			size, _ := measure(in)
			var got []string
			for _, w := range waysDown(p, in, &mint.GateError{Size: size, Gate: c.gate}, measure) {
				if w.size > c.gate {
					t.Errorf("%s leaves %d bytes, gate %d", w.Text, w.size, c.gate)
				}
				got = append(got, w.Text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("ways (-want +got):\n%s", diff)
			}
		})
	}
}
