package matrix

import (
	"errors"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
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
		fuzzed(t, fsys, files[int(which)%len(files)], data)
	})
}

// FuzzLoadOverlay does the same with an overlay; whatever it says, the rows and kinds of its base are still there.
func FuzzLoadOverlay(f *testing.F) {
	fsys := overlayBase(f)
	files := contract.SortedKeys(fsys)
	for i, name := range files {
		f.Add(uint8(i), fsys[name].Data)
	}
	_, cases := errorCases(f, overlayErrorsFile)
	for _, c := range cases {
		name := path.Join("c", c.file)
		f.Add(uint8(slices.Index(files, name)), c.apply(f, overlayBase(f))[name].Data)
	}
	base, err := Embedded("cotal-v0.5")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		c := fuzzed(t, fsys, files[int(which)%len(files)], data)
		if c == nil || c.Base == nil {
			return
		}
		if !reflect.DeepEqual(base.Rows, c.Rows[:len(base.Rows)]) {
			t.Errorf("rows of the base (-alone +extended):\n%s", cmp.Diff(base.Rows, c.Rows[:len(base.Rows)]))
		}
		for name, k := range base.Kinds {
			if !reflect.DeepEqual(k, c.Kinds[name]) {
				t.Errorf("kind %s (-alone +extended):\n%s", name, cmp.Diff(k, c.Kinds[name]))
			}
		}
	})
}

// fuzzed loads a contract with other bytes in one file, and checks that it gives either a contract or positioned errors.
func fuzzed(t *testing.T, fsys fstest.MapFS, file string, data []byte) *contract.Contract {
	t.Helper()
	changed := fstest.MapFS{}
	maps.Copy(changed, fsys)
	changed[file] = &fstest.MapFile{Data: data}
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
	return c
}
