package matrix

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

func loadFull(t *testing.T) *contract.Contract {
	t.Helper()
	c, err := Load(base(t), "c")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func rowNamed(t *testing.T, c *contract.Contract, id string) *contract.Row {
	t.Helper()
	i := slices.IndexFunc(c.Rows, func(r *contract.Row) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("no row %s", id)
	}
	return c.Rows[i]
}

func tmpl(t *testing.T, text string) contract.Template {
	t.Helper()
	out, err := contract.ParseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func ptr[T any](v T) *T { return &v }

// Every construct of a row arrives in its value.
func TestLoadRows(t *testing.T) {
	c := loadFull(t)
	if got, want := len(c.Rows), 20; got != want {
		t.Fatalf("rows, got %d, want %d", got, want)
	}
	want := []*contract.Row{
		{ID: "INBOX", Pos: contract.Pos{File: "c/rows-a.yaml", Line: 1, Col: 3}, Profiles: []string{"*"}, Class: "direct", Cite: "§1 item 1",
			Op: contract.Op{Kind: contract.OpSubscribe, Subject: tmpl(t, "_INBOX_{connId}.>")}},
		{ID: "DENY", Pos: contract.Pos{File: "c/rows-a.yaml", Line: 3, Col: 3}, Profiles: []string{"porter"}, Deny: true, Class: "direct", Cite: "App. B",
			Each: []contract.Each{
				{As: "s", Literals: []contract.Literal{{Resource: "GOODS"}, {Resource: "QUEUE"}}},
				{As: "tail", Literals: []contract.Literal{{Text: tmpl(t, "CREATE.{s.name}")}, {Text: tmpl(t, "CREATE.{s.name}.>")}, {Text: tmpl(t, "INFO")}}}},
			Op: contract.Op{Kind: contract.OpAPI, Subject: tmpl(t, "CONSUMER.{tail}")}},
		{ID: "ORDER", Pos: contract.Pos{File: "c/rows-a.yaml", Line: 4, Col: 3}, Profiles: []string{"porter"}, Class: "direct", Cite: "§3",
			Each: []contract.Each{{As: "d", Path: []string{"deals"}}, {As: "o", Path: []string{"d", "orders"}}, {As: "a", Path: []string{"o", "aims"}}},
			When: []contract.Cond{{Path: []string{"d", "whole"}, Kind: contract.CondEqual, Values: []string{"false"}},
				{Path: []string{"o", "class"}, Kind: contract.CondEqual, Values: []string{"fast"}},
				{Path: []string{"o", "ways"}, Kind: contract.CondHas, Values: []string{"air"}}},
			Op: contract.Op{Kind: contract.OpPublish, Subject: tmpl(t, "{P}.order.{d.site}.{o.name}.{a...}.{me}.*")}},
		{ID: "URGENT", Pos: contract.Pos{File: "c/rows-a.yaml", Line: 12, Col: 3}, Profiles: []string{"porter"}, Class: "direct", Cite: "§3",
			Each: []contract.Each{{As: "d", Path: []string{"deals"}}},
			When: []contract.Cond{{Path: []string{"d", "orders"}, Kind: contract.CondAny,
				Sub: []contract.Cond{{Path: []string{"urgent"}, Kind: contract.CondEqual, Values: []string{"true"}}}}},
			Op: contract.Op{Kind: contract.OpSubscribe, Subject: tmpl(t, "{P}.urgent.{d.site}.{me}.>")}},
		{ID: "SERVE", Pos: contract.Pos{File: "c/rows-a.yaml", Line: 14, Col: 3}, Profiles: []string{"clerk", "keeper"}, Class: "direct", Cite: "§3",
			Op: contract.Op{Kind: contract.OpServe, Subject: tmpl(t, "{P}.order.>"), Queue: tmpl(t, "depot")}},
		{ID: "KEEP-PUT", Pos: contract.Pos{File: "c/rows-b.yaml", Line: 1, Col: 3}, Profiles: []string{"keeper"}, Class: "mediated", Cite: "§5", Unbound: "*",
			Each: []contract.Each{{As: "half", Literals: []contract.Literal{{Text: tmpl(t, "spec")}, {Text: tmpl(t, "status")}}}},
			Op:   contract.Op{Kind: contract.OpKV, Resource: "shelf", Verbs: []string{"put"}, Key: ptr(tmpl(t, "{kind.key}.{half}"))}},
		{ID: "CLERK-DIRECT", Pos: contract.Pos{File: "c/rows-b.yaml", Line: 6, Col: 3}, Profiles: []string{"clerk"}, Class: "mediated", Cite: "§5",
			Account: "back", Topologies: []string{"deep"},
			Op: contract.Op{Kind: contract.OpRead, Resource: "GOODS", How: "direct-get", Why: "data", Key: ptr(tmpl(t, "{P}.goods.>"))}},
		{ID: "CLERK-TREES", Pos: contract.Pos{File: "c/rows-b.yaml", Line: 7, Col: 3}, Profiles: []string{"clerk"}, Class: "mediated", Cite: "§5", Exception: "trees",
			Each: []contract.Each{{As: "tree", Path: []string{"trees"}}},
			Op:   contract.Op{Kind: contract.OpConsume, Resource: "shelf", Name: tmpl(t, "scan"), Filter: ptr(tmpl(t, "$KV.{shelf.bucket}.{tree}")), Verbs: []string{"create"}}},
		{ID: "CLERK-SYS", Pos: contract.Pos{File: "c/rows-b.yaml", Line: 9, Col: 3}, Profiles: []string{"doctor"}, Class: "mediated", Cite: "§6",
			Op: contract.Op{Kind: contract.OpSystem, Subject: tmpl(t, "SERVER.PING.VARZ"), Verbs: []string{"request"}}},
		{ID: "SHARE", Pos: contract.Pos{File: "c/rows-b.yaml", Line: 11, Col: 3}, Class: "mediated", Cite: "§6", Topologies: []string{"deep"},
			Op: contract.Op{Kind: contract.OpShare, Type: "service", Subject: tmpl(t, "{P}.order.>"), From: "front", To: []string{"back"}}},
		{ID: "HEAR", Pos: contract.Pos{File: "c/rows-b.yaml", Line: 12, Col: 3}, Profiles: []string{"*"}, Except: []string{"scanner", "doctor"}, Class: "direct", Cite: "§7",
			Op: contract.Op{Kind: contract.OpSubscribe, Subject: tmpl(t, "{P}.bell")}},
	}
	for _, w := range want {
		if diff := cmp.Diff(w, rowNamed(t, c, w.ID)); diff != "" {
			t.Errorf("row %s (-want +got):\n%s", w.ID, diff)
		}
	}
}

func TestLoadResources(t *testing.T) {
	c := loadFull(t)
	goods, shelf, queue := c.Resources["GOODS"], c.Resources["shelf"], c.Resources["QUEUE"]
	if got, want := len(goods.Config), len(writable(streamKeys)); got != want {
		t.Errorf("configuration of GOODS, got %d keys, want all %d", got, want)
	}
	for _, tt := range []struct {
		got, want any
	}{
		{goods.Config["max_age"], int64(30 * 24 * 3600 * secs)},
		{goods.Config["max_bytes"], int64(64 << 20)},
		{goods.Config["duplicate_window"], 2 * minutes},
		{queue.Config["duplicate_window"], minutes},
		{queue.Config["retention"], "workqueue"},
		{shelf.Config["max_msgs_per_subject"], int64(2)},
		{shelf.Config["max_age"], int64(0)},
		{shelf.Config["allow_direct"], false},
		{shelf.Config["deny_delete"], true},
		{goods.Protect, []string{"deny_delete", "mirror"}},
		{goods.Home, "front"},
		{shelf.Bucket, true},
		{shelf.Initial, []contract.Initial{{Pos: contract.Pos{File: "c/resources.yaml", Line: 8, Col: 74}, Key: tmpl(t, "=defaults"),
			Value: contract.Node{Map: map[string]contract.Node{"retain": {Text: ptr(tmpl(t, "{retain}"))}, "where": {Text: ptr(tmpl(t, "{GOODS}"))}}}}}},
		{c.Consumers["goodsD"].Start, contract.StartAfterFrontier},
		{c.Consumers["goodsD"].Config["ack_wait"], 60 * secs},
		{c.Consumers["goodsD"].Config["deliver_policy"], "by_start_sequence"},
		{c.Consumers["roleD"].Config["ack_policy"], "explicit"},
		{c.Consumers["siteD"].Config["ack_wait"], int64(0)},
		{c.Consumers["siteD"].Ephemeral, true},
		{c.Consumers["sweepD"].Standing, true},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestLoadProfilesAndRest(t *testing.T) {
	c := loadFull(t)
	porter := c.Profiles["porter"]
	rule := func(code string) *contract.Invariant {
		return c.Invariants[slices.IndexFunc(c.Invariants, func(i *contract.Invariant) bool { return i.Code == code })]
	}
	names := make([]string, len(porter.Params))
	for i, p := range porter.Params {
		names[i] = p.Name
	}
	life := c.Lifecycles["member"]
	for _, tt := range []struct {
		got, want any
	}{
		{names, []string{"user", "connId", "role", "bins", "reads", "deals", "nonce", "alias", "main", "sort", "spare"}},
		{[]string{porter.Derive[0].Name, porter.Derive[1].Name}, []string{"me", "dash"}},
		{porter.Tags, []string{"user", "me"}},
		{[]int64{int64(porter.Gate), porter.Subs, int64(porter.Lifetime.Max)}, []int64{16384, 100, 30 * 24 * 3600 * secs}},
		{c.Profiles["keeper"].Family, &contract.Family{Param: "kind", Of: "kinds", Where: map[string]bool{"split": true}}},
		{c.Profiles["clerk"].Params[2].Type.Elem, &contract.Type{Kind: contract.TypePattern, Of: "shelf",
			Within: &contract.Filter{Of: "kinds", Where: map[string]bool{"readable": true}},
			Never:  &contract.Filter{Of: "kinds", Where: map[string]bool{"never-deleted": true}}, Own: []string{"serial"}}},
		{slices.Sorted(maps.Keys(c.Records["aim"].Cases)), []string{"none", "other", "own"}},
		{c.Variants["aim"].Cases["none"], []contract.Template{}},
		{c.Variants["aim"].Cases["other"], []contract.Template{tmpl(t, "other"), tmpl(t, "{tUser}"), tmpl(t, "{user}")}},
		{c.Symbols, map[string]contract.Template{"P": tmpl(t, "depot.{space}")}},
		{c.Roles, map[string]string{"provision": "clerk", "teardown": "clerk"}},
		{c.Settings["mode"].Values, map[string]map[string]string{"local": {"retain": "long"}, "public": {"retain": "short"}}},
		{life.Durables, []contract.LifecycleDurable{{Consumer: "goodsD"},
			{Consumer: "dealD", Each: []contract.Each{{As: "d", Path: []string{"deals"}}}, Filter: ptr(tmpl(t, "{P}.goods.{d.site}.>")),
				When: []contract.Cond{{Path: []string{"d", "whole"}, Kind: contract.CondEqual, Values: []string{"true"}}}},
			{Consumer: "roleD", When: []contract.Cond{{Path: []string{"role"}, Kind: contract.CondPresent}}, Filter: ptr(tmpl(t, "{P}.queue.{role}")), Keep: true}}},
		{c.Profiles["porter"].Params[2].Also, "part"},
		{c.Records["deal"].Fields[1].Needs, []contract.Cond{{Path: []string{"names"}, Kind: contract.CondHas, Values: []string{"stock"}}}},
		{c.Records["deal"].Fields[1].Hint, "name the orders"},
		{c.Records["deal"].Fields[4].Within, "orders.name"},
		{life.Records[0].Value.Map["since"], contract.Node{Map: map[string]contract.Node{"GOODS": {Text: ptr(tmpl(t, "{frontier.GOODS}"))}}}},
		{life.Records[0].Value.Map["v"], contract.Node{Lit: int64(1)}},
		{rule("C002").Token, 3},
		{rule("C003").Tokens, map[int]string{3: "user"}},
		{rule("C004").Pinned, []int{4}},
		{rule("C007").By, []string{"scanner"}},
		{rule("C101").Within[1], contract.Bound{Family: tmpl(t, "{P}.order.{bin}"), Each: []contract.Each{{As: "bin", Path: []string{"bins"}}},
			When: []contract.Cond{{Path: []string{"user"}, Kind: contract.CondPresent}}}},
		{rule("C102").Within, []contract.Bound{{Family: tmpl(t, "{P}.bell")}, {Family: tmpl(t, "{P}.order.>"), Queue: tmpl(t, "depot")}}},
		{rule("C103").Account, "front"},
		{rule("C104").Between, []contract.Side{{Publish: []contract.Template{tmpl(t, "{P}.queue.>")}},
			{Subscribe: []contract.Template{tmpl(t, "{P}.order.>")}, Verbs: []string{"consumer.use"}, On: []string{"QUEUE"}}}},
		{rule("C105").Queue, tmpl(t, "depot")},
		{rule("C107").Settings, map[string]any{"deny_delete": true, "max_age": 30 * 24 * 3600 * secs, "update": true}},
		{rule("C107").Protect, []string{"deny_delete", "mirror"}},
		{rule("C108").Bytes, 16384},
		{int64(rule("C109").Max), 30 * 24 * 3600 * secs},
		{rule("C110").AllVerbs(), []string{"stream.msg-get", "stream.snapshot"}},
		{rule("C110").Why, []string{"fencing"}},
		{[]any{rule("C111").Pinned, rule("C111").Exception, rule("C111").Direction}, []any{[]int{3, 4}, "trees", "both"}},
		{[]string{c.Topologies[0].Name, c.Topologies[1].Name, c.Topologies[1].Place["shelf"]}, []string{"flat", "deep", "back"}},
		{c.Space, "space"},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Errors of several files are reported together, by file and line.
func TestLoadReportsAllErrors(t *testing.T) {
	fsys := base(t)
	for name, change := range map[string][2]string{
		"c/rows-b.yaml":           {"id: GET,", "id: POST,"},
		"c/rows-a.yaml":           {`goods.{user}.{bin}`, `goods.{usr}.{bin}`},
		"c/contract.yaml":         {`version: "1.0"`, `version: 1.0`},
		"c/profiles/people.yaml":  {"  gate: 16384", "  gat: 16384"},
		"c/invariants.yaml":       {"on: [shelf]", "on: [shef]"},
		"c/resources.yaml":        {"stream: QUEUE, pull", "stream: QUEU, pull"},
		"c/profiles/staff.yaml":   {"class: none}", "class: nine}"},
		"c/profiles/readme.yml":   {"", ""},
		"c/profiles/ignored.text": {"", ""},
	} {
		f, ok := fsys[name]
		if !ok {
			fsys[name] = &fstest.MapFile{}
			continue
		}
		fsys[name] = &fstest.MapFile{Data: bytes.Replace(f.Data, []byte(change[0]), []byte(change[1]), 1)}
	}
	c, err := Load(fsys, "c")
	if c != nil {
		t.Error("got a contract beside the errors")
	}
	var list source.Errors
	if !errors.As(err, &list) {
		t.Fatalf("error, got %T, want source.Errors", err)
	}
	var files []string
	for _, e := range list {
		files = append(files, e.Pos.File)
	}
	if !slices.IsSortedFunc(list, func(a, b *source.Error) int { return a.Pos.Compare(b.Pos) }) {
		t.Errorf("errors are not sorted by position:\n%v", err)
	}
	wantFiles := []string{"c/contract.yaml", "c/invariants.yaml", "c/profiles/people.yaml", "c/profiles/readme.yml", "c/profiles/staff.yaml",
		"c/resources.yaml", "c/rows-a.yaml", "c/rows-b.yaml"}
	if diff := cmp.Diff(wantFiles, slices.Compact(files)); diff != "" {
		t.Errorf("files (-want +got):\n%s\n%v", diff, err)
	}
	again, err2 := Load(fsys, "c")
	if again != nil || err2.Error() != err.Error() {
		t.Error("a second load gives other errors")
	}
}

func TestLoadMissingFiles(t *testing.T) {
	for _, name := range []string{"contract.yaml", "resources.yaml"} {
		fsys := base(t)
		delete(fsys, "c/"+name)
		_, err := Load(fsys, "c")
		if want := "c/" + name + ":1:1: file is missing"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s, got %v, want %q", name, err, want)
		}
	}
	fsys := base(t)
	maps.DeleteFunc(fsys, func(name string, _ *fstest.MapFile) bool {
		return strings.HasPrefix(name, "c/profiles/") || strings.HasPrefix(name, "c/rows")
	})
	_, err := Load(fsys, "c")
	for _, want := range []string{"c/profiles:1:1: no profile files, want profiles/*.yaml\n", "c/rows.yaml:1:1: file is missing"} {
		if err == nil || !strings.Contains(err.Error()+"\n", want) {
			t.Errorf("without profiles and rows, got %v, want %q", err, want)
		}
	}
}

func TestLoadDir(t *testing.T) {
	c, err := LoadDir("../testdata/tiny")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Rows[0].Pos.String(), "../testdata/tiny/rows.yaml:1:3"; got != want {
		t.Errorf("position of the first row, got %s, want %s", got, want)
	}
	if len(c.Topologies) != 2 || len(c.Invariants) != 1 || len(c.Lifecycles) != 1 {
		t.Errorf("tiny contract, got %d topologies, %d invariants, %d lifecycles, want 2, 1, 1", len(c.Topologies), len(c.Invariants), len(c.Lifecycles))
	}
	for _, dir := range []string{filepath.Join(t.TempDir(), "none"), "load_test.go"} {
		if c, err := LoadDir(dir); err == nil || c != nil {
			t.Errorf("LoadDir(%s), got no error", dir)
		}
	}
}

func TestLoadDirRefusesHugeAndOddFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/tiny")); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadDir(dir); err != nil {
		t.Fatalf("copy of the tiny contract: %v", err)
	}
	huge := filepath.Join(dir, "rows-huge.yaml")
	if err := os.WriteFile(huge, bytes.Repeat([]byte("# comment\n"), source.MaxBytes/10+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadDir(dir); err == nil || !strings.Contains(err.Error(), "rows-huge.yaml:1:1: file is too large") {
		t.Errorf("huge file, got %v", err)
	}
	if err := os.Remove(huge); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "rows-zero.yaml")); err != nil {
		t.Skip("no symbolic links here")
	}
	if _, err := LoadDir(dir); err == nil || !strings.Contains(err.Error(), "rows-zero.yaml:1:1: file cannot be read: not a regular file") {
		t.Errorf("device, got %v", err)
	}
}

func TestEmbedded(t *testing.T) {
	names := EmbeddedNames()
	if len(names) == 0 || !slices.IsSorted(names) {
		t.Fatalf("embedded contracts, got %v, want at least one, sorted", names)
	}
	for _, name := range names {
		c, err := Embedded(name)
		if err != nil {
			t.Errorf("%s:\n%v", name, err)
			continue
		}
		if c.Name != name {
			t.Errorf("directory %s holds contract %q", name, c.Name)
		}
		if file := c.Rows[0].Pos.File; !strings.HasPrefix(file, name+"/rows") {
			t.Errorf("position of the first row of %s, got file %s", name, file)
		}
		for _, p := range c.Profiles {
			if !strings.HasPrefix(p.Pos.File, name+"/profiles/") {
				t.Errorf("position of profile %s, got file %s", p.Name, p.Pos.File)
			}
		}
	}
	if _, err := Embedded("nowhere"); err == nil || !strings.Contains(err.Error(), `contract "nowhere" is not embedded, want one of `) {
		t.Errorf("unknown contract, got %v", err)
	}
}

// A chain of names that double one another is refused at the length of a subject, not evaluated.
func TestLoadRefusesDoubling(t *testing.T) {
	derive, symbols := "  derive: {me: \"{user}\", dash: \"{user}-{me}\"", "subjects: {P: \"depot.{space}\", S0: \"{P}\""
	for i := range 60 {
		from := "me"
		if i > 0 {
			from = "d" + strconv.Itoa(i-1)
		}
		derive += fmt.Sprintf(", d%d: \"{%s}{%s}\"", i, from, from)
		symbols += fmt.Sprintf(", S%d: \"{S%d}.{S%d}\"", i+1, i, i)
	}
	for _, tt := range []struct{ file, old, new, want string }{
		{"c/profiles/people.yaml", "  derive: {me: \"{user}\", dash: \"{user}-{me}\"", derive, "d10 is too long, got more than 1024 bytes, want at most 1024"},
		{"c/contract.yaml", "subjects: {P: \"depot.{space}\"", symbols, "S4 has too many tokens, got 32, want at most 16"},
	} {
		fsys := base(t)
		data := bytes.Replace(fsys[tt.file].Data, []byte(tt.old), []byte(tt.new), 1)
		if bytes.Equal(data, fsys[tt.file].Data) {
			t.Fatalf("%s does not hold %q", tt.file, tt.old)
		}
		fsys[tt.file] = &fstest.MapFile{Data: data}
		if _, err := Load(fsys, "c"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.file, err, tt.want)
		}
	}
}
