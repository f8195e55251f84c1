package wire

import (
	"fmt"
	"maps"
	"slices"
)

// oneOf is nil when got is one of want, the closed values of a field.
func oneOf[T ~string](field string, got T, want ...T) error {
	if slices.Contains(want, got) {
		return nil
	}
	return fmt.Errorf("%s, got %q, want one of %q", field, got, want)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
