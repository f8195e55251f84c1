package spacetest_test

import (
	"testing"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// bodies are the live tests of profiles by name: the profile's own conforming operation succeeds with its minted credential, and its
// neighbour's is refused. They share a space, so that each keeps to names of its own.
type bodies map[string]func(*testing.T, *spacetest.Space)
