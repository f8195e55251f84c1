package audit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocs: every code and kind has its line in docs/audit.md, with the severity that it has in the code.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range Checks() {
		want = append(want, fmt.Sprintf("\n| %s | %s | ", c.Code, c.Severity))
	}
	for _, kind := range Kinds() {
		want = append(want, "\n| `"+kind+"` | ")
	}
	for _, line := range want {
		if !strings.Contains(string(data), line) {
			t.Errorf("docs/audit.md has no line %q", strings.TrimSpace(line))
		}
	}
}

// TestAccountPages: every check of accounts has its page, under its own title.
func TestAccountPages(t *testing.T) {
	for _, c := range accountChecks() {
		data, err := os.ReadFile("../docs/invariants/" + c.Code + ".md")
		if err != nil {
			t.Error(err)
			continue
		}
		if want := fmt.Sprintf("# %s: %s\n", c.Code, c.Title); !strings.HasPrefix(string(data), want) {
			t.Errorf("%s.md begins with %.60q, want %q", c.Code, data, want)
		}
		for _, part := range []string{"Summary", "Violates", "Passes", "Why", "What to do", "Residual risk"} {
			if !strings.Contains(string(data), "\n## "+part+"\n") {
				t.Errorf("%s.md has no part %q", c.Code, part)
			}
		}
	}
}

func TestChecksAreComplete(t *testing.T) {
	var codes []string
	for _, c := range Checks() {
		codes = append(codes, c.Code)
		if c.Title == "" || c.Cite == "" || !slices.Contains([]string{Error, Warning, Note}, c.Severity) {
			t.Errorf("incomplete check %+v", c)
		}
		if c.Severity == Error && c.Hint == "" {
			t.Errorf("%s has no hint", c.Code)
		}
	}
	if len(codes) == 0 || !slices.IsSorted(codes) || len(slices.Compact(slices.Clone(codes))) != len(codes) {
		t.Errorf("codes: got %v, want them sorted and distinct", codes)
	}
}

// TestPages: every code has its page, which says what it is, with an example of each sort.
func TestPages(t *testing.T) {
	pages := 0
	for _, c := range Checks() {
		data, err := os.ReadFile("../docs/invariants/" + c.Code + ".md")
		if err != nil {
			t.Error(err)
			continue
		}
		pages++
		text := string(data)
		if title := "# " + c.Code + ": " + c.Title + "\n"; !strings.HasPrefix(text, title) {
			t.Errorf("%s.md: got %.60q, want %q", c.Code, text, title)
		}
		for _, part := range []string{"Summary", "Violates", "Passes", "Why", "What to do", "Residual risk"} {
			if !strings.Contains(text, "\n## "+part+"\n\n") {
				t.Errorf("%s.md has no part %q", c.Code, part)
			}
		}
		if severity := strings.ToUpper(c.Severity[:1]) + c.Severity[1:]; !strings.Contains(text, "## Summary\n\n"+severity) {
			t.Errorf("%s.md does not begin with the severity %s", c.Code, severity)
		}
	}
	if pages == 0 {
		t.Error("no page")
	}
}
