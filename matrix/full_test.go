package matrix

import (
	"path"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// base is the contract with every construct, as a file system whose root directory is "c".
func base(t testing.TB) fstest.MapFS {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/full.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	for _, f := range archive.Files {
		out[path.Join("c", f.Name)] = &fstest.MapFile{Data: f.Data}
	}
	return out
}
