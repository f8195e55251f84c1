package compile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

func template(t testing.TB, text string) contract.Template {
	t.Helper()
	tpl, err := contract.ParseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

// TestRefusedRows compiles rows that the loader would not let through, or could not see through: the compiler does not rely on
// it. Each is refused with the row's position and id; the control compiles.
func TestRefusedRows(t *testing.T) {
	t.Parallel()
	tpl := func(text string) contract.Template { return template(t, text) }
	ptr := func(text string) *contract.Template { v := tpl(text); return &v }
	cases := []struct {
		name string
		op   contract.Op
		when []contract.Cond
		each []contract.Each
		want string // of the error, behind position and row; "" compiles
	}{
		{name: "control", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}.x")}},
		{name: "create without a filter", op: contract.Op{Kind: contract.OpConsume, Consumer: "svcD", Verbs: []string{"create"}},
			want: `consumer create without a filter, got "TASK_main.svc_boss", want a filter, which the broker pins to the request body`},
		{name: "direct-get without a key", op: contract.Op{Kind: contract.OpRead, Resource: "CHAT", How: "direct-get"},
			want: `direct-get without a key reads the whole stream, got "CHAT", want key: a subject`},
		{name: "name token of two", op: contract.Op{Kind: contract.OpConsume, Resource: "CHAT", Name: tpl("a.b"), Filter: ptr("x"), Verbs: []string{"create"}},
			want: `consumer name is not one literal token, got "a.b", want a token without '.', '*', '>' or spaces`},
		{name: "name token star", op: contract.Op{Kind: contract.OpConsume, Resource: "CHAT", Name: tpl("*"), Filter: ptr("x"), Verbs: []string{"create"}},
			want: `consumer name is not one literal token, got "*", want a token without '.', '*', '>' or spaces`},
		{name: "name token with a star inside", op: contract.Op{Kind: contract.OpConsume, Resource: "CHAT", Name: tpl("dm_*"), Verbs: []string{"next"}},
			want: `consumer name is not one literal token, got "dm_*", want a token without '.', '*', '>' or spaces`},
		{name: "watch without a name", op: contract.Op{Kind: contract.OpKV, Resource: "channels", Verbs: []string{"watch"}, Key: ptr("a.>")},
			want: `consumer name of a watch is not one literal token, got "", want a token without '.', '*', '>' or spaces`},
		{name: "watch under a star", op: contract.Op{Kind: contract.OpKV, Resource: "channels", Verbs: []string{"watch"}, Key: ptr("a.*"), Name: tpl("w")},
			want: "API tail ends in *, which also admits every deeper subject and cannot be closed, got " +
				`"$JS.API.CONSUMER.CREATE.KV_channels_main.w.$KV.channels_main.a.*", want a literal last token, or >`},
		{name: "direct-get under a star (J4b)", op: contract.Op{Kind: contract.OpRead, Resource: "channels", How: "direct-get", Key: ptr("d.*")},
			want: "API tail ends in *, which also admits every deeper subject and cannot be closed, got " +
				`"$JS.API.DIRECT.GET.KV_channels_main.$KV.channels_main.d.*", want a literal last token, or >`},
		{name: "filter that ends in a star (J1)", op: contract.Op{Kind: contract.OpConsume, Consumer: "svcD", Filter: ptr("{P}.svc.*"), Verbs: []string{"create"}},
			want: "API tail ends in *, which also admits every deeper subject and cannot be closed, got " +
				`"$JS.API.CONSUMER.CREATE.TASK_main.svc_boss.wire.main.svc.*", want a literal last token, or >`},
		{name: "raw API tail that is a star", op: contract.Op{Kind: contract.OpAPI, Subject: tpl("*")},
			want: `API tail ends in *, which also admits every deeper subject and cannot be closed, got "$JS.API.*", want a literal last token, or >`},
		{name: "queue with a star", op: contract.Op{Kind: contract.OpServe, Subject: tpl("{P}.x"), Queue: tpl("*")},
			want: `queue is not one literal token, got "*", want a token without '.', '*', '>' or spaces`},
		{name: "queue of two words", op: contract.Op{Kind: contract.OpServe, Subject: tpl("{P}.x"), Queue: tpl("a\u00a0b")},
			want: "queue is not one literal token, got \"a\\u00a0b\", want a token without '.', '*', '>' or spaces"},
		{name: "subject with a wildcard inside a token", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}.dec_*")},
			want: `subject is not valid: subject "wire.main.dec_*": got a wildcard inside token "dec_*", want it to be the whole token ` +
				`(the broker reads it as a literal character), got "wire.main.dec_*", want tokens, * and a final >`},
		{name: "subject of 1,024 bytes", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}." + strings.Repeat("x", 1024-len("wire.main.")))}},
		{name: "subject of 1,025 bytes", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}." + strings.Repeat("x", 1025-len("wire.main.")))},
			want: "subject is too long, got 1025 bytes, want at most 1024"},
		{name: "list in a subject", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}.{allowPublish}")},
			want: "placeholder {allowPublish} is a list: iterate it with each"},
		{name: "undeclared placeholder", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}.{nobody}")}, want: "placeholder {nobody} is not declared"},
		{name: "undeclared field", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}.{CHAT.bucket}")}, want: `{CHAT} has no field "bucket"`},
		{name: "splice of a scalar", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}.{owner...}")}, want: "splice {owner...} is not a one-of record with a value"},
		{name: "splice of an absent value", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}.{text...}")}, want: "splice {text...} is not a one-of record with a value"},
		{name: "unknown operation", op: contract.Op{Kind: "mirror"}, want: `operation "mirror" is not known`},
		{name: "unknown consumer verb", op: contract.Op{Kind: contract.OpConsume, Consumer: "dmD", Verbs: []string{"pause"}}, want: `consumer verb "pause" is not known`},
		{name: "unknown stream verb", op: contract.Op{Kind: contract.OpStream, Resource: "CHAT", Verbs: []string{"snapshot"}}, want: `stream verb "snapshot" is not known`},
		{name: "unknown kv verb", op: contract.Op{Kind: contract.OpKV, Resource: "channels", Key: ptr("a"), Verbs: []string{"purge"}}, want: `kv verb "purge" is not known`},
		{name: "kv of a stream", op: contract.Op{Kind: contract.OpKV, Resource: "CHAT", Key: ptr("a"), Verbs: []string{"put"}}, want: `resource "CHAT" is a stream, want a bucket`},
		{name: "unknown condition", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}.x")}, when: []contract.Cond{{Path: []string{"owner"}, Kind: "less"}},
			want: `condition "less" is not known`},
		{name: "each of a scalar", op: contract.Op{Kind: contract.OpPublish, Subject: tpl("{P}.{x}")}, each: []contract.Each{{As: "x", Path: []string{"owner"}}},
			want: "each [owner] is not a list"},
	}
	for _, tc := range cases {
		row := &contract.Row{ID: "THE-ROW", Pos: contract.Pos{File: "rows.yaml", Line: 7, Col: 3}, Profiles: []string{"agent"}, Op: tc.op, When: tc.when, Each: tc.each}
		want := tc.want
		if want != "" {
			want = "rows.yaml:7:3: row THE-ROW: " + want
		}
		if diff := cmp.Diff(want, compileRow(t, row)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// compileRow compiles the one row for an agent and returns the error.
func compileRow(t *testing.T, row *contract.Row) string {
	t.Helper()
	c := loadOver(t, &txtar.Archive{})
	c.Rows = []*contract.Row{row}
	topology, _ := c.Topology("")
	s, err := compile.NewScope(c, topology, c.Profiles["agent"], compile.Input{Values: map[string]any{
		"space": "main", "owner": owner, "actor": "alice", "uid": uid, "role": "boss", "allowPublish": []any{"x"}}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := compile.Compile(s, "")
	switch {
	case err == nil && len(set.Pub.Allow)+len(set.Sub.Allow) == 0:
		t.Errorf("row %v: compiled to nothing", row.Op)
	case err == nil:
		return ""
	}
	return err.Error()
}

// TestOpenKeyForms: a placeholder of a kind's key that two profiles derive differently has no one number of tokens.
func TestOpenKeyForms(t *testing.T) {
	t.Parallel()
	c := loadOver(t, parseArchive(t, "testdata/example.txtar"))
	c.Profiles["scanner"].Derive = []contract.Derive{{Name: "cT", Text: template(t, "{connId}")}}
	topology, _ := c.Topology("")
	s, err := compile.NewScope(c, topology, c.Profiles["record-writer"], compile.Input{Values: map[string]any{"space": "main", "kind": "goal"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = compile.Compile(s, "")
	if want := "placeholder {cT} has no one form: profiles derive it as *.*.* and as *"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestScopeWithoutProfile: a space without a holder has names, but nothing to compile.
func TestScopeWithoutProfile(t *testing.T) {
	t.Parallel()
	c := loadOver(t, &txtar.Archive{})
	topology, _ := c.Topology("split")
	s, err := compile.NewScope(c, topology, nil, compile.Input{Values: map[string]any{"space": "main"}})
	if err != nil {
		t.Fatal(err)
	}
	stream, _ := s.StreamName("records")
	bucket, _ := s.BucketName("records")
	got := []string{stream, bucket, s.Account("records"), s.Account("CHAT"), s.Account("nothing")}
	if diff := cmp.Diff([]string{"KV_records_main", "records_main", "authority", "space", ""}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if _, err := s.StreamName("nothing"); err == nil {
		t.Error("an undeclared resource has a stream name")
	}
	if _, err := s.BucketName("CHAT"); err == nil {
		t.Error("a stream has a bucket name")
	}
	if _, err := compile.Compile(s, ""); err == nil {
		t.Error("a scope without a profile compiled")
	}
	if _, err := s.Tags(); err == nil {
		t.Error("a scope without a profile has tags")
	}
}

// TestTags: the claims of a JWT, sorted, absent parameters left out, derived names as they evaluate.
func TestTags(t *testing.T) {
	t.Parallel()
	c := loadOver(t, parseArchive(t, "testdata/names.txtar"))
	topology, _ := c.Topology("")
	s, err := compile.NewScope(c, topology, c.Profiles["porter"], compile.Input{Values: map[string]any{"space": "main", "user": "u"}})
	if err != nil {
		t.Fatal(err)
	}
	tags, err := s.Tags()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"loud:false", "profile:porter", "space:main", "twice:u.u", "user:u"}, tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	c.Profiles["porter"].Tags = []string{"bins"}
	s, err = compile.NewScope(c, topology, c.Profiles["porter"], compile.Input{Values: map[string]any{"space": "main", "user": "u", "bins": []any{"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tags(); err == nil || err.Error() != `tag "bins" is not a scalar` {
		t.Errorf("a list as a tag: got %v", err)
	}
}

// TestAccounts: a profile has a credential in every account that one of its rows stands in, raw API rows included.
func TestAccounts(t *testing.T) {
	t.Parallel()
	c := loadOver(t, &txtar.Archive{Files: []txtar.File{{Name: "rows.yaml", Data: []byte(`
- {id: INBOX, profile: "*", subscribe: "_INBOX_{connId}.>", class: direct, cite: "§9"}
- {id: OWN, profile: agent, publish: "{P}.x", class: direct, cite: "§9"}
- {id: RESOURCE, profile: server, read: {bucket: records, how: msg-get, why: data}, class: direct, cite: "§9"}
- {id: EACH, profile: provisioner, each: ["[CHAT, EPR, records] as s"], api: "STREAM.INFO.{s.name}", class: direct, cite: "§9"}
- {id: ACK, profile: scanner, account: space, publish: "{P}.y", class: direct, cite: "§9"}
- {id: RAW, profile: doctor, publish: "$JS.ACK.{records}.>", class: direct, cite: "§9"}
- {id: CONSUMER, profile: agent, topologies: [split], consume: {stream: records, name: n, filter: "$KV.{records.bucket}.x", verbs: [create]}, when: {reads: mediated}, class: direct, cite: "§9"}
- {id: ELSEWHERE, profile: scanner, topologies: [single], publish: "$JS.ACK.{DM}.>", class: direct, cite: "§9"}
`)}}})
	want := map[string][]string{"agent": {"space", "authority"}, "server": {"space", "authority"}, "provisioner": {"space", "authority"},
		"scanner": {"authority", "space"}, "doctor": {"system", "authority"}, "record-writer": {"authority"}}
	topology, _ := c.Topology("split")
	rows := map[string]map[string]bool{}
	for _, name := range contract.SortedKeys(want) {
		if diff := cmp.Diff(want[name], compile.Accounts(c, topology, c.Profiles[name])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, s := range sampleSets(t, c, topology, 0) {
		for _, e := range s.set.Pub.Allow {
			for _, id := range e.Rows {
				if rows[id] == nil {
					rows[id] = map[string]bool{}
				}
				rows[id][s.set.Account] = true
			}
		}
	}
	if diff := cmp.Diff(map[string]bool{"space": true, "authority": true}, rows["EACH"]); diff != "" {
		t.Errorf("accounts of the grants of EACH (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"authority": true}, rows["RAW"]); diff != "" {
		t.Errorf("accounts of the grants of RAW (-want +got):\n%s", diff)
	}
}
