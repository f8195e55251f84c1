package matrix_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/matrix"
)

// TestMisnamedFiles: a name that is nearly that of a contract's file would drop its rows, so that it is refused in any spelling.
func TestMisnamedFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                      "",
		"notes.txt":             "",
		"docs/rows.yaml":        "", // another directory is not the contract's
		"ROWS.YAML":             `file "ROWS.YAML" is not part of a contract`,
		"rows-more.yml":         `file "rows-more.yml" is not part of a contract`,
		"rows-d.yaml/x":         "file cannot be read: not a regular file",
		"profiles/More.Yaml":    `file "More.Yaml" is not part of a contract`,
		"profiles/sub/all.yaml": "a directory among the profiles is not read",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "tiny")
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "testdata", "tiny"))); err != nil {
				t.Fatal(err)
			}
			if name != "" {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := matrix.LoadDir(dir)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// TestSeveralInvariantFiles: invariants are read from every invariants*.yaml, in a contract and in an overlay, and judge together.
func TestSeveralInvariantFiles(t *testing.T) {
	t.Parallel()
	const rule = `- {code: %s, kind: never, family: "other.>", severity: error, cite: "§1"}` + "\n"
	for name, scaffold := range map[string]func(string) error{
		"contract": matrix.Scaffold,
		"overlay":  func(dir string) error { return matrix.ScaffoldOverlay(dir, matrix.EmbeddedNames()[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "acme")
			if err := scaffold(dir); err != nil {
				t.Fatal(err)
			}
			before, err := matrix.LoadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for file, code := range map[string]string{"invariants-a.yaml": "Z901", "invariants-b.yaml": "Z902"} {
				if err := os.WriteFile(filepath.Join(dir, file), fmt.Appendf(nil, rule, code), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			after, err := matrix.LoadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := len(after.Invariants), len(before.Invariants)+2; got != want {
				t.Errorf("invariants: got %d, want %d", got, want)
			}
		})
	}
}
