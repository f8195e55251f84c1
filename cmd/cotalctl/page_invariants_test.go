package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/matrix"
)

// TestInvariantPages: the page of each contract that ships is what its data gives, names every invariant with a subject that would violate
// it, or words where no entry alone can, and has the anchors that reports point to.
func TestInvariantPages(t *testing.T) {
	t.Parallel()
	for _, name := range matrix.EmbeddedNames() {
		c, err := matrix.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		page, err := invariantsPage(c)
		if err != nil {
			t.Fatal(err)
		}
		file := "../../" + audit.InvariantPage(name)
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), page); diff != "" {
			t.Errorf("%s is not what the contract gives, run go generate ./cmd/cotalctl (-file +contract):\n%.2000s", file, diff)
		}
		sections := strings.Split(page, "\n## ")[1:]
		if len(sections) != len(c.Invariants) || len(sections) == 0 {
			t.Errorf("%s: %d sections for %d invariants", name, len(sections), len(c.Invariants))
		}
		for i, s := range sections {
			if code := c.Invariants[i].Code; !strings.HasPrefix(s, code+"\n") || !strings.Contains(s, "\n- Violated: ") {
				t.Errorf("%s: section %.40q, want %s with what violates it", name, s, code)
			}
		}
		for _, rule := range audit.Rules(c) {
			if file, anchor, ok := strings.Cut(rule.Page, "#"); ok && (file != audit.InvariantPage(name) || !strings.Contains(page, "\n## "+strings.ToUpper(anchor)+"\n")) {
				t.Errorf("%s points to %s, where nothing stands", rule.Code, rule.Page)
			}
		}
	}
}
