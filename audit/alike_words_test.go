package audit

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateWords = flag.Bool("update-words", false, "write words.txt anew")

// TestCodeWords: words.txt has every word of every string in the packages that judge and that make what is judged by. A word that it lacks
// could be masked, and would mean nothing then.
func TestCodeWords(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{".", "../compile", "../internal/contract", "../internal/subject", "../internal/mint"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					for start, end := range runs(text) {
						if word := text[start:end]; len(word) >= shortest {
							found[word] = true
						}
					}
				}
				return true
			})
		}
	}
	want := strings.Join(slices.Sorted(maps.Keys(found)), "\n") + "\n"
	if *updateWords {
		if err := os.WriteFile("words.txt", []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(found) < 100 || want != codeWords {
		t.Errorf("words.txt is not what the %d words of the code are; go test ./audit -run TestCodeWords -update-words", len(found))
	}
}
