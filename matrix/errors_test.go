package matrix

import (
	"errors"
	"flag"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cotalctl/cotalctl/internal/source"
)

var update = flag.Bool("update", false, "rewrite the expected errors of testdata/*errors.txtar")

// errorCase is one change to the full contract and the errors that it must give.
type errorCase struct {
	name, file, old, new string
	schema               bool
	want                 string
}

const (
	errorsFile        = "testdata/errors.txtar"
	overlayErrorsFile = "testdata/overlay_errors.txtar"
)

// escapes let a case hold a line break or a tab in its one line.
var escapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t")

func errorCases(t testing.TB, file string) (*txtar.Archive, []errorCase) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []errorCase
	for _, f := range archive.Files {
		lines := strings.SplitN(string(f.Data), "\n", 4)
		if len(lines) != 4 || !strings.HasPrefix(lines[0], "file: ") || !strings.HasPrefix(lines[1], "old: ") || !strings.HasPrefix(lines[2], "new: ") {
			t.Fatalf("case %s, got %q, want file:, old:, new: and the errors", f.Name, f.Data)
		}
		c := errorCase{name: f.Name, old: escapes.Replace(lines[1][5:]), new: escapes.Replace(lines[2][5:]), want: lines[3]}
		c.file, c.schema = strings.CutSuffix(lines[0][6:], " (schema)")
		out = append(out, c)
	}
	return archive, out
}

// overlayBase is the overlay that init writes, below "c".
func overlayBase(t testing.TB) fstest.MapFS {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "acme")
	if err := ScaffoldOverlay(dir, "cotal-v0.5"); err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, name := range []string{"contract.yaml", "resources.yaml", "rows.yaml", "invariants.yaml", "profiles/profiles.yaml"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		fsys[path.Join("c", name)] = &fstest.MapFile{Data: data}
	}
	return fsys
}

// apply changes a contract as the case says.
func (c errorCase) apply(t testing.TB, fsys fstest.MapFS) fstest.MapFS {
	t.Helper()
	name := path.Join("c", c.file)
	f, ok := fsys[name]
	if !ok {
		fsys[name] = &fstest.MapFile{Data: []byte(c.new)}
		return fsys
	}
	if !strings.Contains(string(f.Data), c.old) {
		t.Fatalf("%s does not hold %q", c.file, c.old)
	}
	fsys[name] = &fstest.MapFile{Data: []byte(strings.Replace(string(f.Data), c.old, c.new, 1))}
	return fsys
}

// render is every error of a load in a line, with its hint.
func render(err error) string {
	var list source.Errors
	if !errors.As(err, &list) {
		return ""
	}
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.Error())
		if e.Hint != "" {
			b.WriteString(" | " + e.Hint)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// basePosition is a position in the contract that an overlay extends.
var basePosition = regexp.MustCompile(`(cotal-v0\.5)/([a-z/-]+\.yaml):(\d+):(\d+)`)

// withoutBase checks that each position in the base points at something that the error names, and leaves line and column out:
// they change whenever the base does.
func withoutBase(t *testing.T, text string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		for _, m := range basePosition.FindAllStringSubmatch(line, -1) {
			data, err := embedded.ReadFile(m[1] + "/" + m[2])
			if err != nil {
				data, err = os.ReadFile("../profiles/" + m[1] + "/" + strings.TrimPrefix(m[2], "profiles/"))
			}
			if err != nil {
				t.Fatal(err)
			}
			row, _ := strconv.Atoi(m[3])
			col, _ := strconv.Atoi(m[4])
			at := strings.Split(string(data), "\n")[row-1][col-1:]
			word := strings.FieldsFunc(strings.TrimPrefix(at, "id: "), func(r rune) bool { return r == ':' || r == ' ' })[0]
			if !strings.Contains(strings.ReplaceAll(line, m[0], ""), word) {
				t.Errorf("%s points at %q, which the error does not name: %s", m[0], at, line)
			}
		}
	}
	return basePosition.ReplaceAllString(text, "$1/$2:…")
}

func TestLoadErrors(t *testing.T) { testErrors(t, errorsFile, base, 40) }

// What an overlay may not say: each case changes the overlay that init writes.
func TestOverlayErrors(t *testing.T) { testErrors(t, overlayErrorsFile, overlayBase, 30) }

func testErrors(t *testing.T, file string, base func(testing.TB) fstest.MapFS, least int) {
	archive, cases := errorCases(t, file)
	ran := 0
	for i, c := range cases {
		ran++
		t.Run(c.name, func(t *testing.T) {
			got, err := Load(c.apply(t, base(t)), "c")
			if err == nil || got != nil {
				t.Fatalf("load, got contract %v and error %v, want only an error", got != nil, err)
			}
			text := withoutBase(t, render(err))
			if *update {
				lines := strings.SplitN(string(archive.Files[i].Data), "\n", 4)
				archive.Files[i].Data = []byte(strings.Join(lines[:3], "\n") + "\n" + text)
				return
			}
			if diff := cmp.Diff(c.want, text); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
	if ran < least {
		t.Errorf("ran %d cases, want at least %d", ran, least)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
