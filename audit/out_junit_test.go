package audit

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cotalctl/cotalctl/internal/junit/junittest"
)

func junitOf(t *testing.T, r *Report, failOn string) *junittest.Element {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, Render{Format: FormatJUnit, FailOn: failOn}); err != nil {
		t.Fatal(err)
	}
	root, err := junittest.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range root.Faults() {
		t.Errorf("shape: %s", fault)
	}
	return root
}

// counted holds the counts of each suite against its cases, and returns all of them. No two cases share a name.
func counted(t *testing.T, root *junittest.Element) map[string]int {
	t.Helper()
	all, faults := root.Count()
	for _, fault := range faults {
		t.Error(fault)
	}
	return all
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		failOn string
		want   string
	}{
		{Error, "failures 4 errors 2 skipped 1"},
		{Warning, "failures 6 errors 2 skipped 0"},
		{Note, "failures 9 errors 2 skipped 0"},
	} {
		all := counted(t, junitOf(t, fixedReport(), tt.failOn))
		got := fmt.Sprintf("failures %d errors %d skipped %d", all["failures"], all["errors"], all["skipped"])
		if got != tt.want {
			t.Errorf("--fail-on %s: got %s, want %s", tt.failOn, got, tt.want)
		}
	}
	if all := counted(t, junitOf(t, &Report{}, Error)); all["tests"] != len(Checks()) || all["failures"] != 0 {
		t.Errorf("empty report: got %v, want a passed case per rule", all)
	}
}

// TestJUnitHostile: text that XML cannot hold is escaped, whatever field it stands in.
func TestJUnitHostile(t *testing.T) {
	t.Parallel()
	bad := "\x00\x1b\ufffe\xff]]><&\"\u202e"
	r := &Report{Findings: []Finding{{Code: "A001", Severity: Error, Subject: bad, Entry: bad, Rows: []string{bad}, Message: bad, Witness: bad, File: bad}}}
	if all := counted(t, junitOf(t, r, Error)); all["failures"] != 1 {
		t.Errorf("got %v, want 1 failure", all)
	}
}
