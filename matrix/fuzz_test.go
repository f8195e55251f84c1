package matrix

import (
	"errors"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/cotalctl/cotalctl/internal/source"
)

// FuzzLoad puts hostile bytes in the place of one file of a contract: a load never panics, and gives either a contract or
// positioned errors, the same ones again.
func FuzzLoad(f *testing.F) {
	fsys := base(f)
	var files []string
	for name, file := range fsys {
		files = append(files, name)
		f.Add(uint8(len(files)-1), file.Data)
	}
	slices.Sort(files)
	for _, name := range []string{"contract.yaml", "resources.yaml", "rows.yaml", "invariants.yaml", "profiles/profiles.yaml"} {
		data, err := os.ReadFile("../testdata/tiny/" + name)
		if err != nil {
			f.Fatal(err)
		}
		for i := range files {
			f.Add(uint8(i), data)
		}
	}
	for _, text := range []string{"", "a: &x [*x]", "[[[[[[", "{a: {<<: 1}}", "- {id: A, each: ['[] as x'], publish: '{x...}'}", "? [a]\n: b", "--- \n---\n"} {
		f.Add(uint8(1), []byte(text))
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		changed := fstest.MapFS{}
		for name, file := range fsys {
			changed[name] = file
		}
		changed[files[int(which)%len(files)]] = &fstest.MapFile{Data: data}
		c, err := Load(changed, "c")
		if (c == nil) == (err == nil) {
			t.Fatalf("got contract %v and error %v, want exactly one", c != nil, err)
		}
		var list source.Errors
		if err != nil && (!errors.As(err, &list) || len(list) == 0) {
			t.Fatalf("error, got %T, want source.Errors", err)
		}
		for _, e := range list {
			if e.Pos.File == "" || e.Pos.Line < 1 || e.Pos.Col < 1 || e.What == "" {
				t.Errorf("error without a position or a text: %+v", *e)
			}
		}
		if _, again := Load(changed, "c"); err != nil && again.Error() != err.Error() {
			t.Error("a second load gives other errors")
		}
	})
}
