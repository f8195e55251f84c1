package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
