package shape_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/shape"
	"github.com/cotalctl/cotalctl/matrix"
)

// edit replaces text in one file of the tiny contract.
type edit struct{ file, old, new string }

// tiny is the small test contract with edits; an edit that changes nothing fails.
func tiny(t *testing.T, edits ...edit) *contract.Contract {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"contract.yaml", "resources.yaml", "rows.yaml", "invariants.yaml", "profiles/profiles.yaml"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "tiny", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, e := range edits {
			if e.file == name && !strings.Contains(text, e.old) {
				t.Fatalf("%s does not hold %q", name, e.old)
			} else if e.file == name {
				text = strings.ReplaceAll(text, e.old, e.new)
			}
		}
		files["tiny/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	c, err := matrix.Load(files, "tiny")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// row adds a row, consumer a declared consumer "xD" of LOG.
func row(text string) edit {
	return edit{"rows.yaml", "- {id: LOG-SHARE", "- {id: X, " + text + ", class: mediated, cite: \"§4\"}\n- {id: LOG-SHARE"}
}

func consumer(text string) edit {
	return edit{"resources.yaml", "  indexD:", "  xD: {stream: LOG, pull: true, ack: explicit, ack_wait: 60s, unique: \"as it is\", " + text + "}\n  indexD:"}
}

// pairs is a profile with two parameters of a grammar that admits a dash, and a list of what cases declares.
var (
	aimed = edit{"profiles/profiles.yaml", "writer:", "aimed:\n  account: main\n  trust: untrusted\n  lifetime: {class: standing, default: 24h}\n" +
		"  params: {user: user, t: {record: target}, connId: {grammar: connId, default: user-key}}\nwriter:"}
	targets = edit{"contract.yaml", "roles:", "records: {target: {one-of: {none: {}, some: {user: user}}}}\nvariants: {target: {none: [], some: [at, \"{user}\"]}}\nroles:"}
	pairs   = edit{"profiles/profiles.yaml", "writer:", "pair:\n  account: main\n  trust: untrusted\n  lifetime: {class: standing, default: 24h}\n" +
		"  params: {a: dashed, b: dashed, list: {list: length}, connId: {grammar: connId, default: user-key}}\nwriter:"}
	lengths = edit{"contract.yaml", "roles:", "records: {length: {one-of: {long: {n: user}, short: {n: dashed}}}}\nroles:"}
	cases   = edit{"contract.yaml", "  user: {token", "  dashed: {token: \"[a-z-]{1,32}\"}\n  user: {token"}
)

// TestRecognizeForms: every way in which a contract names a consumer.
func TestRecognizeForms(t *testing.T) {
	params := func(kv ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i]] = kv[i+1]
		}
		return out
	}
	for _, c := range []struct {
		what   string
		edits  []edit
		stream string
		name   string
		want   []found
	}{
		{"a lifecycle's", nil, "LOG_main", "log_ann", []found{{"logD", params("user", "ann"), []string{"tiny.main.log.>"}}}},
		{"another user's grammar", nil, "LOG_main", "log_Ann", nil},
		{"named by nobody", []edit{consumer(`name: "x_{user}", filter: "{P}.log.{user}"`)}, "LOG_main", "x_ann", nil},
		{"used, created by nobody", []edit{consumer(`name: "x_{user}", filter: "{P}.log.{user}"`), row(`profile: reader, consume: {durable: xD, verbs: [info]}`)},
			"LOG_main", "x_ann", []found{{"xD", params("user", "ann"), []string{"tiny.main.log.ann"}}}},
		{"of another topology", []edit{consumer(`name: "x_{user}", filter: "{P}.log.{user}"`), row(`profile: keeper, when: {user: present}, topologies: [parted], consume: {durable: xD, verbs: [create]}`)},
			"LOG_main", "x_ann", nil},
		{"one of two words", []edit{consumer(`name: "x_{side}"`), row(`profile: keeper, each: ["[left, right] as side"], consume: {durable: xD, filter: "{P}.log.*.{side}", verbs: [create]}`)},
			"LOG_main", "x_right", []found{{"xD", params("side", "right"), []string{"tiny.main.log.*.right"}}}},
		{"neither of two words", []edit{consumer(`name: "x_{side}"`), row(`profile: keeper, each: ["[left, right] as side"], consume: {durable: xD, filter: "{P}.log.*.{side}", verbs: [create]}`)},
			"LOG_main", "x_middle", nil},
		{"a text of its own", []edit{consumer(`name: "x_{who}"`), row(`profile: writer, each: ["['{user}'] as who"], consume: {durable: xD, filter: "{P}.log.{who}.>", verbs: [create]}`)},
			"LOG_main", "x_ann", []found{{"xD", params("user", "ann"), []string{"tiny.main.log.ann.>"}}}},
		{"a resource", []edit{consumer(`name: "x_{r.name}"`), row(`profile: keeper, each: ["[LOG] as r"], consume: {durable: xD, filter: "{P}.log.{r.name}", verbs: [create]}`)},
			"LOG_main", "x_LOG_main", []found{{"xD", params("r.name", "LOG_main"), []string{"tiny.main.log.LOG_main"}}}},
		{"an element", []edit{consumer(`name: "x_{user}"`), row(`profile: writer, each: [topics as topic], consume: {durable: xD, filter: "{P}.log.*.{topic}", verbs: [create]}`),
			{"contract.yaml", "star: inner-only, tail: true", "tail: true"}},
			"LOG_main", "x_ann", []found{{"xD", params("user", "ann"), []string{"tiny.main.log.*.{topic}"}}}},
		{"named by a row", []edit{row(`profile: writer, consume: {stream: LOG, name: "x_{user}", filter: "{P}.log.{user}.>", verbs: [create]}`)},
			"LOG_main", "x_ann", []found{{"X", params("user", "ann"), []string{"tiny.main.log.ann.>"}}}},
		{"a watch", []edit{row(`profile: reader, kv: {bucket: table, watch: "user.{user}", name: "w_{user}"}`)},
			"KV_tiny_main", "w_ann", []found{{"X", params("user", "ann"), []string{"$KV.tiny_main.user.ann"}}}},
		{"a splice", []edit{consumer(`name: "x_{user}"`), aimed, targets, row(`profile: aimed, consume: {durable: xD, filter: "{P}.log.{user}.{t...}", verbs: [create]}`)},
			"LOG_main", "x_ann", []found{{"xD", params("user", "ann"), []string{"tiny.main.log.ann", "tiny.main.log.ann.at.{t.user}"}}}},
		{"a splice of one case", []edit{consumer(`name: "x_{user}"`), aimed, targets, row(`profile: aimed, when: {t: some}, consume: {durable: xD, filter: "{t...}.log.{user}.>", verbs: [create]}`)},
			"LOG_main", "x_ann", []found{{"xD", params("user", "ann"), []string{"at.{t.user}.log.ann.>"}}}},
		{"a splice at the beginning", []edit{consumer(`name: "x_{user}"`), aimed, targets, row(`profile: aimed, consume: {durable: xD, filter: "{t...}.log.{user}.>", verbs: [create]}`)},
			"LOG_main", "x_ann", []found{{"xD", params("user", "ann"), []string{"at.{t.user}.log.ann.>", "log.ann.>"}}}},
		{"a field of one of two cases", []edit{consumer(`name: "x_{r.n}"`), cases, pairs, lengths,
			row(`profile: pair, each: [list as r], when: {r: short}, consume: {durable: xD, filter: "{P}.log.{r.n}", verbs: [create]}`)},
			"LOG_main", "x_a-b", []found{{"xD", params("r.n", "a-b"), []string{"tiny.main.log.a-b"}}}},
		{"a field of the other case", []edit{consumer(`name: "x_{r.n}"`), cases, pairs, lengths,
			row(`profile: pair, each: [list as r], when: {r: long}, consume: {durable: xD, filter: "{P}.log.{r.n}", verbs: [create]}`)},
			"LOG_main", "x_a-b", nil},
		{"a field of both cases", []edit{consumer(`name: "x_{r.n}"`), cases, pairs, lengths,
			row(`profile: pair, each: [list as r], when: {r: {in: [long, short]}}, consume: {durable: xD, filter: "{P}.log.{r.n}", verbs: [create]}`)},
			"LOG_main", "x_a-b", []found{{"xD", params("r.n", "a-b"), []string{"tiny.main.log.a-b"}}}},
		{"a row's filter over its own", []edit{consumer(`name: "x_{user}", filter: "{P}.log.>"`),
			row(`profile: writer, consume: {durable: xD, filter: "{P}.log.{user}.>", verbs: [create]}`)},
			"LOG_main", "x_ann", []found{{"xD", params("user", "ann"), []string{"tiny.main.log.ann.>"}}}},
		{"denied", []edit{consumer(`name: "x_{user}", filter: "{P}.log.>"`), row(`profile: writer, effect: deny, consume: {durable: xD, verbs: [create]}`)},
			"LOG_main", "x_ann", nil},
		{"a long name of a grammar without bound", []edit{consumer(`name: "x_{user}", filter: "{P}.log.>"`), row(`profile: writer, consume: {durable: xD, verbs: [create]}`),
			{"contract.yaml", `  user: {token: "[a-z0-9]{1,32}"`, `  user: {token: "[a-z0-9]+"`}}, "LOG_main", "x_" + strings.Repeat("a", 254), nil},
		{"two readings", []edit{consumer(`name: "x_{a}-{b}", filter: "{P}.log.{a}.{b}"`), row(`profile: pair, consume: {durable: xD, verbs: [create]}`),
			cases, pairs, lengths},
			"LOG_main", "x_k-l-m", []found{{"xD", params("a", "k", "b", "l-m"), []string{"tiny.main.log.k.l-m"}}, {"xD", params("a", "k-l", "b", "m"), []string{"tiny.main.log.k-l.m"}}}},
	} {
		if d := cmp.Diff(c.want, recognize(declare(t, tiny(t, c.edits...), "joint"), "main", c.stream, c.name)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, d)
		}
	}
}

// TestRowsOwn: of a consumer that a row names in place the contract says the filter and nothing else; an absent optional leaves what
// the row says.
func TestRowsOwn(t *testing.T) {
	s := declare(t, tiny(t, row(`profile: keeper, kv: {bucket: table, watch: "user.{user}", name: watcher, unbound: "*"}`)), "joint")
	got := s.Recognize("main", "KV_tiny_main", "watcher")
	if len(got) != 1 {
		t.Fatalf("%d consumers", len(got))
	}
	for filter, want := range map[string][]string{
		"$KV.tiny_main.user.ann": {},
		"$KV.tiny_main.user.*":   {},
		"$KV.tiny_main.user.>":   {`filter_subject: "$KV.tiny_main.user.>" → "$KV.tiny_main.user.{user}"`},
		"$KV.tiny_main.>":        {`filter_subject: "$KV.tiny_main.>" → "$KV.tiny_main.user.{user}"`},
	} {
		if d := cmp.Diff(want, texts(got[0].Diff(shape.Config{"filter_subject": filter, "deliver_subject": "x", "max_deliver": "7"}))); d != "" {
			t.Errorf("%s: %s", filter, d)
		}
	}
}

// TestLatest: in a bucket that keeps one row of a key, "last per subject" reads what "all" reads; elsewhere it does not.
func TestLatest(t *testing.T) {
	s := declare(t, load(t), "split")
	for name, want := range map[[3]string][]string{
		{"authority", "KV_cotal_auth_main", "cotal-ledger-scan"}: {},
		{"space", "TASK_main", "svc_builder"}:                    {`deliver_policy: "last_per_subject" → "all"`},
	} {
		c := one(t, s, name[0], name[1], name[2])
		if d := cmp.Diff(want, texts(c.Diff(edited(c.Config, map[string]any{"deliver_policy": "last_per_subject"})))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
