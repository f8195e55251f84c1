package wire_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/wire"
)

var factChecks = map[string]func([]byte) error{"rejection-fact": wire.CheckRejectionFact, "quarantine-fact": wire.CheckQuarantineFact}

// fixture is the payload of a message of the fixtures.
func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../fixtures/jwt/" + name + ".message")
	if err != nil {
		t.Fatal(err)
	}
	_, payload, ok := bytes.Cut(data, []byte("\r\n\r\n"))
	if !ok {
		t.Fatalf("%s has no header block", name)
	}
	return payload
}

// TestFactFixturesAreMaximal: the fixtures are read, and no leaf of them can be longer or greater, nor the object have a member more.
// So no other fact is larger: of a detail's bytes each takes the six that JSON gives a byte at the most.
func TestFactFixturesAreMaximal(t *testing.T) {
	for name, check := range factChecks {
		t.Run(name, func(t *testing.T) {
			data := fixture(t, name)
			if err := check(data); err != nil {
				t.Fatalf("the fixture is refused: %v", err)
			}
			if n := bytes.Count(data, []byte(`\u0001`)); n != 256 {
				t.Errorf("escaped bytes of detail, got %d, want 256", n)
			}
			grown := 0
			grow(t, data, nil, func(path string, bigger []byte) {
				grown++
				if err := check(bigger); err == nil {
					t.Errorf("%s can be larger", path)
				}
			})
			if want := map[string]int{"rejection-fact": 12, "quarantine-fact": 9}[name]; grown != want {
				t.Errorf("grew %d leaves, want %d", grown, want)
			}
			if err := check(append(bytes.TrimSuffix(bytes.Clone(data), []byte("}")), `,"x":1}`...)); err == nil || !strings.Contains(err.Error(), "unknown key") {
				t.Errorf("a member more, got %v", err)
			}
		})
	}
}

// grow calls fn with the document in which one leaf is one larger, for every leaf below path.
func grow(t *testing.T, data []byte, path []string, fn func(string, []byte)) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(below(t, decoded(t, data), path))) {
		here := append(slices.Clone(path), key)
		doc := decoded(t, data)
		m := below(t, doc, path)
		switch v := m[key].(type) {
		case map[string]any:
			grow(t, data, here, fn)
			continue
		case string:
			m[key] = v + v[len(v)-1:]
		case json.Number:
			n, err := v.Int64()
			if err != nil {
				t.Fatal(err)
			}
			m[key] = n + 1
		}
		bigger, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		fn(strings.Join(here, "."), bigger)
	}
}

// below is the object at a path.
func below(t *testing.T, doc map[string]any, path []string) map[string]any {
	t.Helper()
	for _, key := range path {
		doc = doc[key].(map[string]any)
	}
	return doc
}

func decoded(t *testing.T, data []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestFactsRefused changes one thing of a small fact that is read.
func TestFactsRefused(t *testing.T) {
	const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	good := map[string]string{
		"rejection-fact": `{"v":1,"id":"a","decision":"rejected","fingerprint":"` + digest + `","error":{"code":"bad-request"},` +
			`"caller":{"id":"local.dev","lifecycleUid":"aaaaaaaaaaaaaaaaaaaaaaaaaa"},"sourceSeq":1,"ts":1}`,
		"quarantine-fact": `{"v":1,"decision":"quarantined","sourceSeq":1,"submissionDigest":"` + digest + `","error":{"code":"com.acme.odd"},"ts":1}`,
	}
	cases := 0
	for name, text := range good {
		if err := factChecks[name]([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, c := range []struct{ old, new, want string }{
			{`"v":1`, `"v":2`, "unknown version"},
			{`"v":1`, `"v":1.0`, "is not a plain integer"},
			{`"v":1,`, ``, `missing key "v"`},
			{`"ts":1`, `"ts":"1"`, "has the wrong type"},
			{`ed","`, `","`, "another decision"},
			{`sha256:0`, `sha256:G`, "does not fit the grammar of digest"},
			{`"code":"`, `"code":"-`, "does not fit the grammar of an error code"},
			{`"code"`, `"cod"`, `missing key "code"`},
			{`{"v"`, `{"v":1,"v"`, "v"},
			{`"local.dev"`, `"local"`, "principal"},
			{`"aaaaaaaaaaaaaaaaaaaaaaaaaa"`, `"a"`, "does not fit the grammar of uid"},
		} {
			bad := strings.Replace(text, c.old, c.new, 1)
			if bad == text {
				continue // the fact has no such part
			}
			cases++
			if err := factChecks[name]([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s with %s for %s, got %v, want %s", name, c.new, c.old, err, c.want)
			}
		}
	}
	if cases < 18 {
		t.Errorf("refused %d, want at least 18", cases)
	}
}
