package compile_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// documents are the JSON forms of every sample of every profile in every topology.
func documents(t testing.TB, c *contract.Contract) []string {
	t.Helper()
	var out []string
	for _, topology := range c.Topologies {
		for _, s := range sampleSets(t, c, topology, 1) {
			text, err := json.Marshal(s.set.Document())
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(text))
		}
	}
	return out
}

// TestSameBytes: a second compile, a fresh load, and compiles side by side from one contract all give the same bytes.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	first, fresh := contracts(t), contracts(t)
	sets := 0
	for name, c := range first {
		want := documents(t, c)
		sets += len(want)
		if diff := cmp.Diff(want, documents(t, c)); diff != "" {
			t.Errorf("%s, compiled again:\n%s", name, diff)
		}
		if diff := cmp.Diff(want, documents(t, fresh[name])); diff != "" {
			t.Errorf("%s, loaded again:\n%s", name, diff)
		}
		beside := make([][]string, 4)
		var wg sync.WaitGroup
		for i := range beside {
			wg.Go(func() { beside[i] = documents(t, c) })
		}
		wg.Wait()
		for i, got := range beside {
			if !slices.Equal(want, got) {
				t.Errorf("%s, compile %d of several side by side: %s", name, i, cmp.Diff(want, got))
			}
		}
	}
	if sets < 50 {
		t.Errorf("compared %d sets, want at least 50", sets)
	}
}
