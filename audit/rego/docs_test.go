package rego

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/matrix"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/rego.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPageNamesEverything: builtins, and the rules that ship.
func TestPageNamesEverything(t *testing.T) {
	text := page(t)
	for _, b := range builtins() {
		if !strings.Contains(text, "\n| `"+b.name+"(") {
			t.Errorf("the page has no row of %s", b.name)
		}
	}
	e, err := New(t.Context(), Config{Shipped: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range e.Rules() {
		if r.Kind != "" && !strings.Contains(text, "`"+r.Kind+"`") {
			t.Errorf("the page does not name the twin of %s", r.Kind)
		}
		if !r.Twin || r.Title == "" || r.Cite == "" || r.Pos.Line == 0 {
			t.Errorf("incomplete rule %+v", r)
		}
	}
}

// TestInputSchema: what the audit describes is what the schema says, every key of it, for a contract, a credential-like set and none.
func TestInputSchema(t *testing.T) {
	var doc any
	if err := json.Unmarshal(InputSchema(), &doc); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("input.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("input.json")
	if err != nil {
		t.Fatal(err)
	}
	contract, err := matrix.Embedded(matrix.EmbeddedNames()[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(audit.Config) error{
		"contract": func(cfg audit.Config) error { cfg.Contract = contract; _, err := audit.Contract(cfg); return err },
		"set":      func(cfg audit.Config) error { _, err := audit.Bytes(cfg, "set.json", set()); return err },
	} {
		var gathered audit.Collector
		if err := run(audit.Config{Rules: &gathered}); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := gathered.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(out.String()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(value.(map[string]any)["principals"].([]any)) == 0 {
			t.Errorf("%s: no principals", name)
		}
	}
}
