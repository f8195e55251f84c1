package audit

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/cotalctl/cotalctl/compile"
)

// manySpaces is a file of compiled sets each of which names 15 spaces that nobody made.
func manySpaces(t *testing.T, sets int, prefix string) []byte {
	t.Helper()
	var docs []*compile.Document
	for n := range sets {
		set := &compile.PermissionSet{Profile: "stranger", Space: fmt.Sprintf("s%d", n)}
		for m := range 15 {
			set.Pub.Allow = append(set.Pub.Allow, compile.Entry{Pattern: fmt.Sprintf("%ss%dx%d.chat", prefix, n, m), Rows: []string{}})
		}
		set.Pub.Mode, set.Sub.Mode = "patterns", "none"
		docs = append(docs, set.Document())
	}
	data, err := json.Marshal(docs)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSpacesAreForgotten: what a file of made-up spaces costs in memory is bounded, however many it names.
func TestSpacesAreForgotten(t *testing.T) {
	c := shipped(t)[0]
	sets := 400
	if testing.Short() {
		sets = 40
	}
	a, err := newAuditor(Config{Contract: c})
	if err != nil {
		t.Fatal(err)
	}
	data := manySpaces(t, sets, "cotal.")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := a.file("sets.json", data); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if a.out.Checked.Files != sets {
		t.Errorf("got %d sets judged, want %d", a.out.Checked.Files, sets)
	}
	for name, n := range map[string]int{"rules": len(a.rules), "bounds": len(a.bounds), "stores": len(a.stores), "worlds": len(a.worlds)} {
		if n > maxCached+maxSpaces {
			t.Errorf("%d %s are kept, want at most %d", n, name, maxCached+maxSpaces)
		}
	}
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > 256<<20 {
		t.Errorf("%d MB are kept, want at most 256", got>>20)
	}
	if len(a.out.Findings) == 0 {
		t.Error("nothing was found")
	}
	runtime.KeepAlive(a)
}
