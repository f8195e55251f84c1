package audit

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocNamesFiles: every prefix that several files share stands in the package's words, and each that stands there is one; so do the
// forms of a report.
func TestDocNamesFiles(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, f := range files {
		if name, _, more := strings.Cut(strings.TrimSuffix(f, ".go"), "_"); more && !strings.HasSuffix(f, "_test.go") {
			count[name]++
		}
	}
	said := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z]+)_? +`).FindAllStringSubmatch(doc, -1) {
		said[m[1]] = true
	}
	for name, n := range count {
		if n > 1 && !said[name] {
			t.Errorf("%d files begin with %s_, which is not told", n, name)
		}
	}
	for name := range said {
		if count[name] == 0 {
			t.Errorf("no file begins with %s_", name)
		}
	}
	if len(said) < 5 {
		t.Errorf("%d prefixes are told, want 5", len(said))
	}
	for _, form := range []string{FormatText, FormatJSON, FormatSARIF, FormatJUnit} {
		if !strings.Contains(strings.ToLower(doc), form) {
			t.Errorf("the form %s is not told", form)
		}
	}
}
