package spacetest_test

import (
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// bodies are the live tests of profiles by name: the profile's own conforming operation succeeds with its minted credential, and its
// neighbour's is refused. They share a space, so that each keeps to names of its own.
type bodies map[string]func(*testing.T, *spacetest.Space)

// conforming has one body per profile of the contract; last are those that leave the space unfit for others.
var (
	conforming = []bodies{authPath, callers, controlSurface, host, probes, retirement, runs, sentinels, serving, system}
	last       = []bodies{callouts}
)

// TestConforming holds every profile against one broker in every topology.
func TestConforming(t *testing.T) {
	t.Parallel()
	topologies(t, conform)
}

// TestConformingCluster does the same on three servers.
func TestConformingCluster(t *testing.T) {
	t.Parallel()
	topologiesOnCluster(t, conform)
}

// conform runs every body once; a profile of the contract without one fails.
func conform(t *testing.T, s *spacetest.Space) {
	ran := map[string]bool{}
	for _, stage := range [][]bodies{conforming, last} {
		t.Run("profiles", func(t *testing.T) {
			for _, family := range stage {
				for _, profile := range contract.SortedKeys(family) {
					if ran[profile] {
						t.Errorf("%s has two bodies", profile)
					}
					ran[profile] = true
					t.Run(profile, func(t *testing.T) {
						t.Parallel()
						family[profile](t, s)
					})
				}
			}
		})
	}
	for _, profile := range contract.SortedKeys(s.Contract.Profiles) {
		if !ran[profile] {
			t.Errorf("profile %s has no body, want its conforming operation", profile)
		}
	}
}
