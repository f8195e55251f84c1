package matrix_test

import (
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
