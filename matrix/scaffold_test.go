package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScaffold(t *testing.T) {
	for _, tt := range []struct{ dir, want string }{
		{"orders", "orders"},
		{"Deep/Orders v1", "my-contract"},
		{".", "my-contract"}, // the test's own directory has a number for a name
	} {
		dir := filepath.Join(t.TempDir(), tt.dir)
		if err := Scaffold(dir); err != nil {
			t.Fatal(err)
		}
		c, err := LoadDir(dir)
		if err != nil {
			t.Fatalf("%s:\n%v", tt.dir, err)
		}
		if c.Name != tt.want {
			t.Errorf("%s: name, got %q, want %q", tt.dir, c.Name, tt.want)
		}
		if len(c.Profiles) != 5 || len(c.Resources) != 2 || len(c.Rows) == 0 {
			t.Errorf("%s: got %d profiles, %d resources, %d rows, want 5, 2, some", tt.dir, len(c.Profiles), len(c.Resources), len(c.Rows))
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".new-*")); len(left) > 0 {
			t.Errorf("%s: temporary files left: %v", tt.dir, left)
		}
	}
}

func TestScaffoldRefusesFullDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := Scaffold(dir)
	if err == nil || !strings.HasSuffix(err.Error(), `is not empty, got "notes" in it, want an empty or a new directory`) {
		t.Errorf("error, got %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("got %d entries after the refusal, want the one before", len(entries))
	}
}

func TestScaffoldLeavesNothingOnError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Scaffold(dir); err == nil {
		t.Error("scaffold over a file, got no error")
	}
}

// The overlay that init writes is valid for its base, by the schema too, and adds something in every section.
func TestScaffoldOverlay(t *testing.T) {
	names := OverlayNames()
	if diff := cmp.Diff(EmbeddedNames(), names); diff != "" {
		t.Errorf("overlays (-embedded contracts +overlays):\n%s", diff)
	}
	for _, base := range names {
		dir := filepath.Join(t.TempDir(), "acme")
		if err := ScaffoldOverlay(dir, base); err != nil {
			t.Fatal(err)
		}
		c, err := LoadDir(dir)
		if err != nil {
			t.Fatalf("%s:\n%v", base, err)
		}
		was, err := Embedded(base)
		if err != nil {
			t.Fatal(err)
		}
		if c.Name != "acme" || c.Base == nil || c.Base.Name != base {
			t.Errorf("name and base, got %q and %+v", c.Name, c.Base)
		}
		for what, more := range map[string]int{"kinds": len(c.Kinds) - len(was.Kinds), "rows": len(c.Rows) - len(was.Rows),
			"profiles": len(c.Profiles) - len(was.Profiles), "resources": len(c.Resources) - len(was.Resources), "residuals": len(c.Residuals) - len(was.Residuals),
			"consumers": len(c.Consumers) - len(was.Consumers), "invariants": len(c.Invariants) - len(was.Invariants), "grammars": len(c.Grammars) - len(was.Grammars)} {
			if more < 1 {
				t.Errorf("%s: %s, got %d more than the base, want at least one", base, what, more)
			}
		}
		if n := schemaAccepts(t, os.DirFS(dir), dir); n < 5 {
			t.Errorf("checked %d files of the overlay, want 5", n)
		}
	}
}
