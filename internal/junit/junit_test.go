package junit_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/junit"
	"github.com/cotalctl/cotalctl/internal/junit/junittest"
)

func document(t *testing.T) string {
	t.Helper()
	s := junit.NewSuite("one", "p", time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC))
	s.Add(junit.Case{Class: "p.a", Name: "passed"})
	s.Add(junit.Case{Class: "p.a", Name: "failed", Failure: &junit.Fault{Message: junit.Plain("\x00\x1b\ufffe\xff]]><&\"\u202e"), Type: "fail", Text: "]]>"}})
	s.Add(junit.Case{Class: "p.a", Name: "skipped", Skipped: &junit.Reason{Message: "why"}})
	s.Add(junit.Case{Class: "p.b", Name: "passed", Error: &junit.Fault{Message: "m", Type: "t"}})
	var b bytes.Buffer
	if err := junit.Write(&b, []*junit.Suite{s, junit.NewSuite("two", "p", time.Time{})}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrite(t *testing.T) {
	t.Parallel()
	root, err := junittest.Read([]byte(document(t)))
	if err != nil {
		t.Fatal(err)
	}
	all, faults := root.Count()
	if diff := cmp.Diff(map[string]int{"tests": 4, "failures": 1, "errors": 1, "skipped": 1}, all); diff != "" || len(faults)+len(root.Faults()) > 0 {
		t.Errorf("%s%v %v", diff, faults, root.Faults())
	}
	if got := root.Children[0].Attrs["timestamp"] + " " + root.Children[1].Attrs["id"]; got != "2030-01-02T03:04:05 1" {
		t.Errorf("time of the first suite and number of the second: got %s", got)
	}
}

// TestShapeRefuses: the shape that documents are held against sees what is missing, too much or miscounted.
func TestShapeRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, new, want string }{
		{` hostname="localhost"`, ``, "testsuite lacks hostname"},
		{` hostname="localhost"`, ` hostname="localhost" file="x"`, "testsuite has file"},
		{`<properties></properties>`, ``, "testsuite lacks properties"},
		{`<skipped message="why"></skipped>`, `<skipped message="why"></skipped><skipped message="why"></skipped>`, "testcase has a skipped out of place"},
		{`<skipped message="why"></skipped>`, `<rerun></rerun>`, "element rerun"},
		{`failures="1"`, `failures="2"`, "failures says 2, want 1"},
		{`name="failed"`, `name="passed"`, "two cases"},
		{`&amp;`, `&`, "not XML"},
	} {
		text := document(t)
		if !strings.Contains(text, tt.old) {
			t.Fatalf("no %s in\n%s", tt.old, text)
		}
		root, err := junittest.Read([]byte(strings.Replace(text, tt.old, tt.new, 1)))
		var got string
		if err != nil {
			got = err.Error()
		} else {
			_, faults := root.Count()
			got = strings.Join(append(root.Faults(), faults...), "; ")
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s for %s: got %q, want %q", tt.new, tt.old, got, tt.want)
		}
	}
}
