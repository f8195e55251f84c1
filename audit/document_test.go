package audit

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
)

// subjectsOf are the subjects of a report's findings above a note, each with its code.
func subjectsOf(r *Report) []string {
	out := []string{}
	for _, f := range r.Findings {
		if f.Severity != Note {
			out = append(out, f.Code+" "+f.Subject)
		}
	}
	return slices.Compact(out)
}

// TestSeveralSets: every set of a file is judged as in a file of its own, wherever it stands. The oracle is what the same sets
// give in files of their own.
func TestSeveralSets(t *testing.T) {
	c := testContract(t)
	set := func(account string, edit func(*compile.PermissionSet)) string {
		return string(document(t, c, func(s *compile.PermissionSet) {
			s.Account = account
			edit(s)
		}))
	}
	good := set("main", func(*compile.PermissionSet) {})
	forged := func(s *compile.PermissionSet) { s.Pub.Allow[0].Pattern = "app.main.status.bob.dev" }
	bad, open := set("back", forged), set("side", func(s *compile.PermissionSet) { s.Sub = compile.List{Mode: compile.ModeAll} })
	with := func(set string, nested ...string) string {
		return strings.TrimSuffix(set, "}") + `,"accounts":[` + strings.Join(nested, ",") + "]}"
	}
	const b, s = " worker (account back)", " worker (account side)"
	opened := []string{"A001" + s, "A002" + s, "A004" + s, "T103" + s, "T104" + s, "T112" + s, "T113" + s, "T120" + s}
	tests := []struct {
		name, text string
		sets       int
		want       []string
	}{
		{"one", good, 1, []string{}},
		{"no others", with(good), 1, []string{}},
		{"null others", strings.TrimSuffix(good, "}") + `,"accounts":null}`, 1, []string{}},
		{"a clean other", with(good, good), 2, []string{}},
		{"a bad other", with(good, bad), 2, []string{"T101" + b}},
		{"two bad others", with(good, bad, open), 3, slices.Insert(slices.Clone(opened), 3, "T101"+b)},
		{"the first is bad", with(bad, good), 2, []string{"T101" + b}},
		{"a list", "[" + good + "," + bad + "]", 2, []string{"T101" + b}},
		{"a list of nested ones", " [" + good + "," + with(good, good, bad) + "]", 4, []string{"T101" + b}},
		{"two alike", "[" + bad + "," + bad + "]", 2, []string{"T101" + b, "T101" + b + " #2"}},
		{"of another contract", strings.Replace(good, `"app-v1"`, `"app-v2"`, 1), 1, []string{"A013 worker"}},
		{"with no reads", strings.TrimSuffix(good, "}") + `,"reads":[]}`, 1, []string{}},
		{"with reads", strings.TrimSuffix(good, "}") + `,"reads":[{"endpoint":"e","subtree":"s.>"}]}`, 1, []string{"A013 worker"}},
		{"with a byte order mark", "\ufeff" + with(good, bad), 2, []string{"T101" + b}},
		{"with escaped slashes", strings.ReplaceAll(with(good, bad), "ctl/permissions/v1", `ctl\/permissions\u002fv1`), 2, []string{"T101" + b}},
	}
	one, err := Bytes(Config{Contract: c}, "x.json", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		r, err := Bytes(Config{Contract: c}, "x.json", []byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, subjectsOf(r)); diff != "" {
			t.Errorf("%s: findings (-want +got):\n%s", tt.name, diff)
		}
		if r.Checked.Files != tt.sets || r.Checked.Entries < one.Checked.Entries*tt.sets-3 {
			t.Errorf("%s: got %+v, want %d sets of %d entries each", tt.name, r.Checked, tt.sets, one.Checked.Entries)
		}
	}
	if len(tests) == 0 {
		t.Error("nothing was tried")
	}
}

// TestUnreadableSets: a shape that this release does not know, at any depth, is refused and nothing of the file is judged; each
// beside a control that is judged.
func TestUnreadableSets(t *testing.T) {
	c := testContract(t)
	good := string(document(t, c, func(*compile.PermissionSet) {}))
	add := func(set, more string) string { return strings.TrimSuffix(set, "}") + "," + more + "}" }
	if r, err := Bytes(Config{Contract: c}, "x.json", []byte(add(good, `"accounts":[`+good+`]`))); err != nil || r.Checked.Files != 2 {
		t.Fatalf("control: got %+v and %v, want two sets", r, err)
	}
	tests := []struct{ name, text, want string }{
		{"unknown key", add(good, `"queues":[]`), `unknown field "queues"`},
		{"unknown key of an entry", strings.Replace(good, `"pattern"`, `"max":1,"pattern"`, 1), `unknown field "max"`},
		{"others are no list", add(good, `"accounts":{}`), "cannot unmarshal object"},
		{"unknown key of a read", add(good, `"reads":[{"all":true}]`), `unknown field "all"`},
		{"another is null", add(good, `"accounts":[null]`), `accounts[0]: schema, got ""`},
		{"another is a text", add(good, `"accounts":["x"]`), "accounts[0]: is none that this release can read"},
		{"another of another schema", add(good, `"accounts":[`+good+`,{"schema":"x/v1"}]`), `accounts[1]: schema, got "x/v1"`},
		{"another without a direction", add(good, `"accounts":[{"schema":"cotalctl/permissions/v1"}]`), `accounts[0]: pub: mode, got ""`},
		{"nested twice", add(good, `"accounts":[`+add(good, `"accounts":[`+good+`]`)+`]`), "accounts[0]: accounts, got 1 sets within a nested set, want none"},
		{"a list with a stranger", "[" + good + `,{"schema":"x/v1"}]`, `[1]: schema, got "x/v1"`},
		{"a list with a bad other", "[" + add(good, `"accounts":[7]`) + "]", "[0].accounts[0]: "},
		{"a wrapped set", `{"sets":[` + good + "]}", `unknown field "sets"`},
		{"a key twice", add(good, `"accounts":[`+good+`],"accounts":[]`), "a key stands twice in one object, at byte "},
		{"a key twice in another case", add(good, `"PUB":{"mode":"none","allow":[],"deny":[]}`), "a key stands twice"},
		{"lines of sets", good + "\n" + good, "more than one JSON value"},
		{"cut", good[:len(good)-2], "is not readable JSON"},
		{"deep", `{"schema":"cotalctl/permissions/v1","x":` + strings.Repeat("[", 100_000), "nests more than"},
		{"mode none with entries", strings.Replace(good, `"mode":"patterns"`, `"mode":"none"`, 1), "pub: mode none, got 3 allow and "},
		{"mode all with entries", strings.Replace(good, `"mode":"patterns"`, `"mode":"all"`, 1), "pub: mode all, got 3 allow and "},
	}
	for _, tt := range tests {
		r, err := Bytes(Config{Contract: c}, "x.json", []byte(tt.text))
		if r != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "x.json: compiled set: ") {
			t.Errorf("%s: got %v and %v, want %q and no report", tt.name, r, err, tt.want)
		}
	}
	if len(tests) == 0 {
		t.Error("nothing was tried")
	}
}

// TestLargeSet: a compiled set of a directory that is too large to read is a problem, not one of the other files.
func TestLargeSet(t *testing.T) {
	c, dir := testContract(t), t.TempDir()
	set := document(t, c, func(*compile.PermissionSet) {})
	write(t, filepath.Join(dir, "good.json"), set)
	list := bytes.Join([][]byte{[]byte("["), set, bytes.Repeat([]byte(" "), maxFile), []byte("]")}, nil)
	if !json.Valid(list) {
		t.Fatal("the large file is no JSON")
	}
	write(t, filepath.Join(dir, "large.json"), list)
	write(t, filepath.Join(dir, "other.json"), append([]byte(`{"x":1}`), bytes.Repeat([]byte(" "), maxFile)...))
	r, err := Paths(Config{Contract: c}, []string{dir})
	if err == nil || !strings.Contains(err.Error(), "large.json: is too large") || r == nil || r.Checked.Files != 1 || r.Skipped != 1 {
		t.Errorf("got %+v and %v, want one file judged, one skipped, one too large", r, err)
	}
}
