package shape_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Appendix B leaves the names of watches to the client library, and the observers' reads with them.
func TestOpen(t *testing.T) {
	c := load(t)
	for _, topology := range []string{"single", "split"} {
		want := []string{"CHAT_main", "DM_main", "KV_cotal_channels_main", "KV_cotal_membership_main", "KV_cotal_presence_main"}
		if d := cmp.Diff(want, declare(t, c, topology).Open()); d != "" {
			t.Errorf("%s: %s", topology, d)
		}
	}
}
