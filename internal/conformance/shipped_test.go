package conformance_test

import (
	"os"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/conformance"
	"github.com/cotalctl/cotalctl/matrix"
)

const (
	root = "../.."
	name = "cotal-v0.5"
	dir  = "docs/conformance/" + name
	// textVar names a file with the plain text of the specification, for whoever has it.
	textVar = "CONFORMANCE_TEXT"
)

func shipped(t *testing.T) *conformance.Book {
	t.Helper()
	b, err := conformance.Load(os.DirFS(root), dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every answer names something that exists, no sentence has vanished, nothing more is open, and the page is the data's.
func TestShipped(t *testing.T) {
	t.Parallel()
	b := shipped(t)
	c, err := matrix.Embedded(name)
	if err != nil {
		t.Fatal(err)
	}
	known, err := conformance.Know(c, os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if err := known.Verify(b); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(path.Join(root, dir, conformance.LockFile))
	if err != nil {
		t.Fatal(err)
	}
	lock, err := conformance.ParseLock(path.Join(dir, conformance.LockFile), data)
	if err != nil {
		t.Fatal(err)
	}
	if err := append(lock.Lost(b), lock.Stale(b)...).Err(); err != nil {
		t.Error(err)
	}
	page, err := os.ReadFile(path.Join(root, "docs/conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), string(conformance.Page([]*conformance.Book{b}, map[string]*conformance.Known{name: known}))); diff != "" {
		t.Errorf("docs/conformance.md is not the data's: go generate ./internal/conformance\n%s", diff)
	}
	if b.Outline.Document != c.Document.Title || b.Outline.Version != c.Document.Version {
		t.Errorf("outline of %s %s, contract of %s %s", b.Outline.Document, b.Outline.Version, c.Document.Title, c.Document.Version)
	}
	sentences := 0
	for _, s := range b.Sheets {
		sentences += len(s.Entries)
	}
	if sentences == 0 {
		t.Error("no sentence is accounted for")
	}
	t.Logf("%d sentences in %d sections", sentences, len(b.Sheets))
}

// Every row, invariant, resource, profile and residual cites a section that exists.
func TestCitationsExist(t *testing.T) {
	t.Parallel()
	c, err := matrix.Embedded(name)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := shipped(t).Outline.Citations(c)
	if err != nil {
		t.Error(err)
	}
	if least := len(c.Rows) + len(c.Invariants); checked < least {
		t.Errorf("%d citations checked, want at least one of each of %d rows and invariants", checked, least)
	}
}

// Against the text itself: the ids and digests are the text's, and no more than five words of it stand in the data.
func TestAgainstText(t *testing.T) {
	t.Parallel()
	file := os.Getenv(textVar)
	if file == "" {
		t.Skipf("%s names no text of the specification", textVar)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := shipped(t)
	diffs, err := b.Recheck(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diffs {
		t.Error(d)
	}
	for id, run := range b.Quotes(string(text), 5) {
		t.Errorf("%s quotes %q", id, run)
	}
}
