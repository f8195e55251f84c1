package doctor_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
)

func TestHistory(t *testing.T) {
	start := time.Date(2030, 1, 2, 10, 0, 0, 0, time.UTC)
	clock := func(at time.Time) string { return at.Format("15:04") }
	var h doctor.History
	for i, step := range []struct {
		rows  []string
		want  []string
		since map[string]string // of rows, by their text
	}{
		{[]string{"fail D001 - - two", "pass D004 n1 - x", "pass D004 n2 - x", "skip D005 n1 - x", "fail D020 n1 A x"}, nil,
			map[string]string{"fail D001 - - two": "10:00", "fail D001 - - other words": "10:00", "pass D001 - - two": "00:00"}},
		{[]string{"fail D001 - - two", "fail D004 n1 - x", "fail D004 n2 - x", "fail D005 n1 - x", "pass D020 n1 A x", "pass D006 n9 - x", "fail D007 n9 - x"},
			[]string{"failed: D004 title of D004 on n1, n2", "failed: D005 title of D005 on n1 (could not look since 10:00)", "failed: D007 title of D007 on n9",
				"recovered: D020 title of D020 of stream A on n1 (failed since 10:00)"},
			map[string]string{"fail D001 - - two": "10:00", "fail D004 n1 - x": "10:01", "fail D005 n1 - x": "10:01"}},
		{[]string{"pass D001 - - three", "fail D004 n1 - y", "skip D004 n2 - x", "fail D005 n1 - x"},
			[]string{"cannot look: D004 title of D004 on n2 (failed since 10:01)", "recovered: D001 title of D001 (failed since 10:00)",
				"no longer listed: D007 title of D007 on n9 (failed since 10:01)"},
			map[string]string{"fail D004 n1 - y": "10:01", "skip D004 n2 - x": "10:02"}},
		// two results of one place: the worse one counts, whichever comes first
		{[]string{"pass D001 - - three", "fail D001 - - two", "fail D004 n1 - y", "pass D004 n1 - y", "skip D004 n2 - x", "fail D005 n1 - x"},
			[]string{"failed: D001 title of D001"}, map[string]string{"fail D001 - - two": "10:03", "fail D004 n1 - y": "10:01"}},
	} {
		at := start.Add(time.Duration(i) * time.Minute)
		got := doctor.DescribeChanges(h.Add(reportOf(step.rows...), at), 0, clock)
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
		for text, want := range step.since {
			if got := clock(h.Since(row(text))); got != want {
				t.Errorf("step %d: %s: since %s, want %s", i, text, got, want)
			}
		}
	}
}
