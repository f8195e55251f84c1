package matrix

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// The reference page names every key that the loader knows.
func TestDocNamesEveryKey(t *testing.T) {
	data, err := os.ReadFile("../docs/contract-format.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	words := slices.Concat(rowKeys, streamOwn, bucketOwn, consumerOwn, consumeVerbs, streamVerbs, contract.SortedKeys(ruleKinds),
		writable(streamKeys), writable(consumerKeys))
	for _, k := range streamKeys {
		words = append(words, k.Enum...)
	}
	if len(words) < 100 {
		t.Fatalf("checked %d words, want at least 100", len(words))
	}
	notWord := func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	known := map[string]bool{}
	for _, w := range strings.FieldsFunc(page, notWord) {
		known[w] = true
	}
	for _, w := range words {
		if !known[w] {
			t.Errorf("docs/contract-format.md does not mention %q", w)
		}
	}
}
