package doctor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCausesFirst: what explains other failures is read first, in its own order; the others keep theirs.
func TestCausesFirst(t *testing.T) {
	var groups []group
	for _, id := range []string{"D001", "D002", "D007", "D008"} {
		groups = append(groups, group{rows: []Result{{ID: id}}})
	}
	var got []string
	for _, g := range causesFirst(groups, []string{"D007", "D001"}) {
		got = append(got, g.rows[0].ID)
	}
	if diff := cmp.Diff([]string{"D007", "D001", "D002", "D008"}, got); diff != "" {
		t.Error(diff)
	}
	if causes()[0] != idFanOut {
		t.Errorf("got %v, want the fan-out before everything", causes())
	}
}
