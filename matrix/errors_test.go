package matrix

import (
	"errors"
	"flag"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cotalctl/cotalctl/internal/source"
)

var update = flag.Bool("update", false, "rewrite the expected errors of testdata/errors.txtar")

// errorCase is one change to the full contract and the errors that it must give.
type errorCase struct {
	name, file, old, new string
	schema               bool
	want                 string
}

const errorsFile = "testdata/errors.txtar"

// escapes let a case hold a line break or a tab in its one line.
var escapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t")

func errorCases(t *testing.T) (*txtar.Archive, []errorCase) {
	t.Helper()
	archive, err := txtar.ParseFile(errorsFile)
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

// apply changes the full contract as the case says.
func (c errorCase) apply(t *testing.T) fstest.MapFS {
	t.Helper()
	fsys := base(t)
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

func TestLoadErrors(t *testing.T) {
	archive, cases := errorCases(t)
	ran := 0
	for i, c := range cases {
		ran++
		t.Run(c.name, func(t *testing.T) {
			got, err := Load(c.apply(t), "c")
			if err == nil || got != nil {
				t.Fatalf("load, got contract %v and error %v, want only an error", got != nil, err)
			}
			text := render(err)
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
	if ran < 40 {
		t.Errorf("ran %d cases, want at least 40", ran)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(errorsFile, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
