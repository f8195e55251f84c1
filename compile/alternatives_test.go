package compile_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// records are the profile's parameters for the alternatives: a choice, a flag, a list of records that a flag may hold whole.
func alternativesProfile() *contract.Profile {
	name := &contract.Type{Kind: contract.TypeScalar}
	modes := &contract.Type{Kind: contract.TypeList, Elem: &contract.Type{Kind: contract.TypeEnum, Enum: []string{"a", "b"}}}
	part := &contract.Record{Name: "part", Fields: []*contract.Param{{Name: "name", Type: name}, {Name: "modes", Type: modes}}}
	thing := &contract.Record{Name: "thing", Fields: []*contract.Param{
		{Name: "id", Type: name},
		{Name: "whole", Type: &contract.Type{Kind: contract.TypeBool}, Default: false,
			Needs: []contract.Cond{{Path: []string{"all"}, Kind: contract.CondHas, Values: []string{"end"}}}},
		{Name: "all", Type: &contract.Type{Kind: contract.TypeList, Elem: name}, Within: "parts.name", Optional: true},
		{Name: "modes", Type: modes, Optional: true},
		{Name: "parts", Type: &contract.Type{Kind: contract.TypeList, Elem: &contract.Type{Kind: contract.TypeRecord, Record: part}}},
	}}
	return &contract.Profile{Name: "p", Params: []*contract.Param{
		{Name: "form", Type: &contract.Type{Kind: contract.TypeEnum, Enum: []string{"long", "short"}}, Default: "long"},
		{Name: "extra", Type: &contract.Type{Kind: contract.TypeBool}, Default: false},
		{Name: "things", Type: &contract.Type{Kind: contract.TypeList, Elem: &contract.Type{Kind: contract.TypeRecord, Record: thing}}},
	}}
}

func TestChoices(t *testing.T) {
	thing := func(id string, more map[string]any) map[string]any {
		m := map[string]any{"id": id, "parts": []any{
			map[string]any{"name": "x", "modes": []any{"a"}}, map[string]any{"name": "end", "modes": []any{"b", "a"}}}}
		maps.Copy(m, more)
		return m
	}
	held := map[string]any{"id": "t2", "whole": true, "all": []any{"end"}, "modes": []any{"a"}, "parts": []any{map[string]any{"name": "end"}}}
	in := compile.Input{Values: map[string]any{"extra": true, "things": []any{thing("t1", nil), held}}, UserKey: "U"}
	before := maps.Clone(in.Values)
	got := map[string]map[string]any{}
	for _, a := range compile.Choices(alternativesProfile(), in) {
		if a.Changed != 1 || a.Input.UserKey != "U" {
			t.Errorf("%s: %d values changed, key %q", a.Text, a.Changed, a.Input.UserKey)
		}
		got[a.Text] = a.Input.Values
	}
	whole := map[string]any{"id": "t1", "whole": true, "all": []any{"x", "end"}, "modes": []any{"a", "b"},
		"parts": []any{map[string]any{"name": "x"}, map[string]any{"name": "end"}}}
	want := map[string]map[string]any{
		"form: short":  {"form": "short", "extra": true, "things": before["things"]},
		"extra: false": {"extra": false, "things": before["things"]},
		"whole: true in 1 of things (each needs: all has end)": {"extra": true, "things": []any{whole, held}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(thing("t1", nil), in.Values["things"].([]any)[0]); diff != "" {
		t.Errorf("the input was changed (-before +after):\n%s", diff)
	}
}

func TestShorter(t *testing.T) {
	p := alternativesProfile()
	in := compile.Input{Values: map[string]any{"form": "long", "things": []any{map[string]any{"id": "a"}, map[string]any{"id": "longer"}, map[string]any{"id": "bb"}}}}
	if diff := cmp.Diff(map[string]int{"things": 3}, compile.Lists(p, in)); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	for n, want := range map[int][]string{1: {"a", "bb"}, 2: {"a"}, 3: nil, 4: nil} {
		out, largest := compile.Shorter(in, "things", n)
		var got []string
		for _, v := range out.Values["things"].([]any) {
			got = append(got, v.(map[string]any)["id"].(string))
		}
		if !slices.Equal(got, want) || largest != "longer" {
			t.Errorf("without %d, got %v and %q, want %v", n, got, largest, want)
		}
	}
}
