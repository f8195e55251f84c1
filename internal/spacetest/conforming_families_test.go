package spacetest_test

import (
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// TestConformingHost runs the families of callers and host profiles on one server in every topology.
func TestConformingHost(t *testing.T) {
	t.Parallel()
	topologies(t, func(t *testing.T, s *spacetest.Space) {
		for _, family := range []bodies{callers, host, serving, system} {
			for _, p := range contract.SortedKeys(family) {
				t.Run(p, func(t *testing.T) {
					t.Parallel()
					family[p](t, s)
				})
			}
		}
	})
}
