package compile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

var update = flag.Bool("update", false, "rewrite the golden permission texts of testdata/*.txtar")

// goldenInput is a file "NAME.in" of an archive: what is compiled. NAME.out holds the permission text, or the errors.
type goldenInput struct {
	Profile  string
	Topology string
	Account  string
	Values   map[string]any
}

// TestGolden compiles every input of the archives in testdata with the contract that the archive lays over base.txtar.
func TestGolden(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	compiled, refused := 0, 0
	for _, path := range paths {
		if filepath.Base(path) == "base.txtar" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			n, bad := golden(t, path)
			compiled, refused = compiled+n, refused+bad
		})
	}
	if compiled < 20 || refused < 20 {
		t.Errorf("compiled %d inputs, refused %d, want at least 20 of each", compiled, refused)
	}
}

func golden(t *testing.T, path string) (compiled, refused int) {
	t.Helper()
	archive := parseArchive(t, path)
	c := loadOver(t, archive)
	out := map[string]string{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".in"); ok {
			set, err := compileInput(t, c, f.Data)
			out[name+".out"] = render(set, err)
			if err != nil {
				refused++
			} else {
				compiled++
			}
		}
	}
	if *update {
		rewrite(t, path, archive, out)
		return compiled, refused
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if diff := cmp.Diff(fileOf(archive, name), out[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	return compiled, refused
}

func compileInput(t *testing.T, c *contract.Contract, data []byte) (*compile.PermissionSet, error) {
	t.Helper()
	var in goldenInput
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		t.Fatalf("input: %v", err)
	}
	topology, ok := c.Topology(in.Topology)
	if !ok || c.Profiles[in.Profile] == nil {
		t.Fatalf("input: no topology %q or profile %q", in.Topology, in.Profile)
	}
	if in.Values == nil {
		in.Values = map[string]any{}
	}
	if in.Values["space"] == nil {
		in.Values["space"] = "main"
	}
	s, err := compile.NewScope(c, topology, c.Profiles[in.Profile], compile.Input{Values: in.Values})
	if err != nil {
		return nil, err
	}
	return compile.Compile(s, in.Account)
}

// render is one line per entry with its rows, or one per problem with its hint.
func render(set *compile.PermissionSet, err error) string {
	var b strings.Builder
	var problems contract.Problems
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			fmt.Fprintf(&b, "error: %s\n", p)
			if p.Hint != "" {
				fmt.Fprintf(&b, "  hint: %s\n", p.Hint)
			}
		}
		return b.String()
	case err != nil:
		return fmt.Sprintf("error: %s\n", err)
	}
	fmt.Fprintf(&b, "%s in %s\n", set.Profile, set.Account)
	for _, l := range []struct {
		name string
		list compile.List
	}{{"pub", set.Pub}, {"sub", set.Sub}} {
		if l.list.Mode != compile.ModePatterns {
			fmt.Fprintf(&b, "%s %s\n", l.name, l.list.Mode)
		}
		for _, e := range l.list.Allow {
			fmt.Fprintf(&b, "%s allow %s  [%s]\n", l.name, e, strings.Join(e.Rows, " "))
		}
		for _, e := range l.list.Deny {
			fmt.Fprintf(&b, "%s deny  %s  [%s]\n", l.name, e, strings.Join(e.Rows, " "))
		}
	}
	return b.String()
}

func parseArchive(t testing.TB, path string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// loadOver loads base.txtar with the YAML files of an archive in place of its own.
func loadOver(t testing.TB, archive *txtar.Archive) *contract.Contract {
	t.Helper()
	fsys := fstest.MapFS{}
	for _, f := range slices.Concat(parseArchive(t, "testdata/base.txtar").Files, archive.Files) {
		if strings.HasSuffix(f.Name, ".yaml") {
			fsys[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	c, err := matrix.Load(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fileOf(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// rewrite puts each output after its input.
func rewrite(t *testing.T, path string, archive *txtar.Archive, out map[string]string) {
	t.Helper()
	next := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if !strings.HasSuffix(f.Name, ".out") {
			next.Files = append(next.Files, f)
		}
		if name, ok := strings.CutSuffix(f.Name, ".in"); ok {
			next.Files = append(next.Files, txtar.File{Name: name + ".out", Data: []byte(out[name+".out"])})
		}
	}
	if err := os.WriteFile(path, txtar.Format(next), 0o644); err != nil {
		t.Fatal(err)
	}
}
