package matrix

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/profiles"
)

// schemaFor compiles the schema, or one of its definitions.
func schemaFor(t *testing.T, def string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("contract.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	url := "contract.schema.json"
	if def != "" {
		url += "#/$defs/" + def
	}
	s, err := c.Compile(url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// definition is the schema definition of a contract file.
func definition(file string) string {
	switch base := path.Base(file); {
	case strings.Contains(file, "profiles/"):
		return "profiles"
	case strings.HasPrefix(base, "invariants"):
		return "invariants"
	case strings.HasPrefix(base, "rows"):
		return "rows"
	default:
		return strings.TrimSuffix(base, ".yaml")
	}
}

// plain is YAML as JSON has it: string keys only.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
		return v
	case time.Time: // a date that was not quoted; editors take it for text
		return v.Format(time.DateOnly)
	case map[any]any:
		out := map[string]any{}
		for k, e := range v {
			out[fmt.Sprint(k)] = plain(e)
		}
		return out
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	}
	return v
}

func validate(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return s.Validate(plain(v))
}

// schemaAccepts checks every contract file of fsys against its definition and against the schema as a whole.
func schemaAccepts(t *testing.T, fsys fs.FS, label string) int {
	t.Helper()
	n := 0
	err := fs.WalkDir(fsys, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(file) != ".yaml" {
			return err
		}
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			return err
		}
		n++
		for _, def := range []string{definition(path.Join(label, file)), ""} {
			if err := validate(t, schemaFor(t, def), data); err != nil {
				t.Errorf("%s/%s, definition %q: %v", label, file, def, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSchemaAccepts(t *testing.T) {
	scaffold := t.TempDir()
	if err := Scaffold(scaffold); err != nil {
		t.Fatal(err)
	}
	if n := schemaAccepts(t, base(t), "full"); n < 6 {
		t.Errorf("checked %d files of the full contract, want at least 6", n)
	}
	for _, dir := range []string{scaffold, "../testdata/tiny"} {
		if n := schemaAccepts(t, os.DirFS(dir), dir); n < 5 {
			t.Errorf("checked %d files of %s, want at least 5", n, dir)
		}
	}
	for _, name := range EmbeddedNames() {
		rows, err := fs.Sub(embedded, name)
		if err != nil {
			t.Fatal(err)
		}
		people, err := profiles.FS(name)
		if err != nil {
			t.Fatal(err)
		}
		if schemaAccepts(t, rows, name) < 3 || schemaAccepts(t, people, name+"/profiles/") < 1 {
			t.Errorf("%s: too few files", name)
		}
	}
}

// What the loader refuses for its structure, the schema refuses too.
func TestSchemaRefuses(t *testing.T) {
	ran := 0
	for file, base := range map[string]func(testing.TB) fstest.MapFS{errorsFile: base, overlayErrorsFile: overlayBase} {
		_, cases := errorCases(t, file)
		for _, c := range cases {
			if !c.schema {
				continue
			}
			ran++
			t.Run(c.name, func(t *testing.T) {
				if err := validate(t, schemaFor(t, definition(c.file)), c.apply(t, base(t))[path.Join("c", c.file)].Data); err == nil {
					t.Error("the schema accepts what the loader refuses")
				}
			})
		}
	}
	if ran < 40 {
		t.Errorf("ran %d cases, want at least 40", ran)
	}
}

// properties lists what an object of the schema admits.
func properties(t *testing.T, doc any, keys ...string) []string {
	t.Helper()
	for _, k := range keys {
		m, ok := doc.(map[string]any)
		if !ok {
			t.Fatalf("schema has no %v", keys)
		}
		doc = m[k]
	}
	m, ok := doc.(map[string]any)
	if !ok {
		t.Fatalf("schema has no %v", keys)
	}
	return contract.SortedKeys(m)
}

// The schema and the loader know the same keys.
func TestSchemaKeys(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	sorted := func(lists ...[]string) []string {
		out := slices.Concat(lists...)
		slices.Sort(out)
		return out
	}
	def := func(of ...string) []string { return append([]string{"$defs"}, of...) }
	for _, tt := range []struct {
		path []string
		want []string
	}{
		{def("rows", "items", "properties"), sorted(rowKeys)},
		{def("resources", "properties", "streams", "additionalProperties", "properties"), sorted(streamOwn, writable(streamKeys))},
		{def("resources", "properties", "buckets", "additionalProperties", "properties"), sorted(bucketOwn, writable(streamKeys))},
		{def("resources", "properties", "consumers", "additionalProperties", "properties"), sorted(consumerOwn, writable(consumerKeys))},
		{def("resources", "properties", "defaults", "properties", "streams", "properties"), sorted(writable(streamKeys))},
	} {
		if diff := cmp.Diff(tt.want, properties(t, doc, tt.path...)); diff != "" {
			t.Errorf("%v (-loader +schema):\n%s", tt.path, diff)
		}
	}
}
