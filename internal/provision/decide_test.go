package provision

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// object decodes JSON as the package decodes a broker's answer.
func object(t *testing.T, text string) config {
	t.Helper()
	var c config
	if err := decodeNumbers([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name, actual, declared string
		want                   []string
	}{
		{"equal", `{"name":"S","max_msgs":-1}`, `{"max_msgs":-1,"name":"S"}`, nil},
		{"zero is unset", `{"sealed":false,"max_age":0,"description":"","sources":[],"placement":{}}`, `{}`, nil},
		{"unset is zero", `{}`, `{"sealed":false,"max_age":0,"description":"","sources":[],"placement":{"cluster":""}}`, nil},
		{"sorted by field", `{"b":1,"a":1}`, `{"b":2,"a":2}`, []string{"a: 1 → 2", "b: 1 → 2"}},
		{"only declared", `{}`, `{"deny_delete":true}`, []string{"deny_delete: false → true"}},
		{"only at the broker", `{"republish":{"src":"a.>","dest":"b.>"}}`, `{}`, []string{`republish: {"dest":"b.>","src":"a.>"} → unset`}},
		{"list order counts", `{"subjects":["a","b"]}`, `{"subjects":["b","a"]}`, []string{`subjects: ["a","b"] → ["b","a"]`}},
		{"wildcards are not escaped", `{"subjects":["a.>"]}`, `{"subjects":["b.>"]}`, []string{`subjects: ["a.>"] → ["b.>"]`}},
		{"big numbers stay exact", `{"n":9007199254740993}`, `{"n":9007199254740992}`, []string{"n: 9007199254740993 → 9007199254740992"}},
		{"the broker's metadata", `{"metadata":{"_nats.ver":"2.15.3"}}`, `{}`, nil},
		{"other metadata", `{"metadata":{"_nats.ver":"2.15.3","x":"1"}}`, `{}`, []string{`metadata: {"x":"1"} → unset`}},
		{"such a key elsewhere", `{"placement":{"_nats.ver":"2.15.3"}}`, `{}`, []string{`placement: {"_nats.ver":"2.15.3"} → unset`}},
		{"default persist mode", `{}`, `{"persist_mode":"default"}`, nil},
		{"other persist mode", `{"persist_mode":"async"}`, `{"persist_mode":"default"}`, []string{`persist_mode: "async" → unset`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, change := range diff(object(t, c.actual), object(t, c.declared)) {
				got = append(got, change.String())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNormalize(t *testing.T) {
	got, err := normalize(config{"a": int64(1), "b": true, "c": []string{"x"}, "d": "s"})
	if err != nil {
		t.Fatal(err)
	}
	want := config{"a": json.Number("1"), "b": true, "c": []any{"x"}, "d": "s"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestWeakens(t *testing.T) {
	n := func(s string) any { return json.Number(s) }
	for _, c := range []struct {
		field    string
		old, new any
		want     bool
	}{
		{"deny_delete", true, nil, true},
		{"deny_delete", nil, true, false},
		{"deny_purge", true, nil, true},
		{"sealed", true, nil, true},
		{"discard_new_per_subject", true, nil, true},
		{"discard_new_per_subject", nil, true, false},
		{"allow_direct", nil, true, true},
		{"allow_direct", true, nil, false},
		{"allow_rollup_hdrs", nil, true, true},
		{"mirror_direct", nil, true, true},
		{"mirror_direct", true, nil, false},
		{"no_ack", nil, true, true},
		{"republish", nil, map[string]any{"src": "a"}, true},
		{"republish", map[string]any{"src": "a"}, nil, false},
		{"republish", map[string]any{"src": "a"}, map[string]any{"src": "b"}, true},
		{"sources", nil, []any{"x"}, true},
		{"sources", []any{"x"}, nil, false},
		{"mirror", nil, map[string]any{"name": "x"}, true},
		{"subject_transform", nil, map[string]any{"src": "a"}, true},
		{"subject_delete_marker_ttl", nil, n("1000"), true},
		{"subject_delete_marker_ttl", n("1000"), nil, false},
		{"max_msgs", n("10"), n("5"), true},
		{"max_msgs", n("5"), n("10"), false},
		{"max_msgs", n("-1"), n("10"), true}, // a bound where there was none
		{"max_msgs", n("10"), n("-1"), false},
		{"max_age", nil, n("60"), true},
		{"max_age", n("60"), nil, false},
		{"max_bytes", n("1000"), n("1e2"), true},
		{"num_replicas", n("3"), n("1"), true},
		{"num_replicas", n("1"), n("3"), false},
		{"duplicate_window", n("120"), n("60"), true},
		{"subjects", []any{"a.>"}, []any{"a.b"}, true}, // without a known direction: any change
		{"subjects", []any{"a.b"}, []any{"a.>"}, true},
		{"retention", "limits", "workqueue", true},
		{"storage", "file", "memory", true},
		{"something_new", nil, true, true},
	} {
		change := Change{Field: c.field, Old: c.old, New: c.new}
		if got := weakens(change); got != c.want {
			t.Errorf("%s: weakens, got %v, want %v", change, got, c.want)
		}
	}
}

// verdict is what a difference becomes.
type verdict struct {
	Action string
	Diff   []string
	Named  string // what the reason must name
}

func checkVerdict(t *testing.T, a Action, want verdict) {
	t.Helper()
	got := verdict{Action: a.Action, Diff: a.Diff}
	if strings.Contains(a.Reason, want.Named) && (a.Reason == "") == (want.Named == "") {
		got.Named = want.Named
	} else {
		got.Named = a.Reason
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDecide(t *testing.T) {
	harden := Change{Field: "deny_delete", New: true}
	soften, open := Change{Field: "deny_delete", Old: true}, Change{Field: "allow_direct", New: true}
	bound := Change{Field: "max_msgs", Old: json.Number("5"), New: json.Number("9")}
	for _, c := range []struct {
		name      string
		changes   []Change
		updatable bool
		protect   []string
		want      verdict
	}{
		{"no change", nil, true, []string{"deny_delete"}, verdict{None, []string{}, ""}},
		{"no change of a create-or-verify one", nil, false, nil, verdict{None, []string{}, ""}},
		{"unprotected", []Change{bound}, true, []string{"deny_delete"}, verdict{Update, []string{bound.String()}, ""}},
		{"protected and stronger", []Change{harden}, true, []string{"deny_delete"}, verdict{Update, []string{harden.String()}, ""}},
		{"protected and weaker", []Change{open}, true, []string{"allow_direct"}, verdict{Refuse, []string{open.String()}, "setting allow_direct"}},
		{"weaker and not protected", []Change{open}, true, []string{"storage"}, verdict{Update, []string{open.String()}, ""}},
		{"one weak among others, all shown", []Change{bound, open}, true, []string{"allow_direct"},
			verdict{Refuse, []string{bound.String(), open.String()}, "setting allow_direct"}},
		{"irreversible at the broker", []Change{soften}, true, nil, verdict{Refuse, []string{soften.String()}, "cannot take back deny_delete"}},
		{"work queue", []Change{{Field: "retention", Old: "limits", New: "workqueue"}}, true, nil,
			verdict{Refuse, []string{"retention: \"limits\" → \"workqueue\""}, "cannot take back retention"}},
		{"create-or-verify", []Change{harden}, false, []string{"deny_delete"}, verdict{Refuse, []string{harden.String()}, "create-or-verify"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Action{Diff: []string{}}
			decide(&a, c.changes, c.updatable, c.protect)
			checkVerdict(t, a, c.want)
		})
	}
}

func TestDecideConsumer(t *testing.T) {
	wait := Change{Field: "ack_wait", Old: json.Number("1"), New: json.Number("2")}
	filter := Change{Field: "filter_subject", Old: "a.>", New: "b.>"}
	start := Change{Field: "opt_start_seq", Old: json.Number("1"), New: json.Number("7")}
	for _, c := range []struct {
		name    string
		changes []Change
		want    verdict
	}{
		{"no change", nil, verdict{None, []string{}, ""}},
		{"mutable", []Change{wait}, verdict{Update, []string{wait.String()}, ""}},
		{"filter", []Change{filter}, verdict{Refuse, []string{filter.String()}, "filter_subject"}},
		{"start", []Change{start}, verdict{Refuse, []string{start.String()}, "opt_start_seq"}},
		{"mutable before", []Change{wait, filter}, verdict{Refuse, []string{wait.String(), filter.String()}, "filter_subject"}},
		{"mutable after", []Change{filter, wait}, verdict{Refuse, []string{filter.String(), wait.String()}, "filter_subject"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Action{Diff: []string{}}
			decideConsumer(&a, c.changes)
			checkVerdict(t, a, c.want)
		})
	}
}

// TestDiffConsumer: what the broker fills in is no drift, what widens a durable is.
func TestDiffConsumer(t *testing.T) {
	declared := `{"name":"d","filter_subject":"a.>","deliver_policy":"by_start_sequence","opt_start_seq":7}`
	for _, c := range []struct {
		name, actual string
		want         []string
	}{
		{"filled in", `{"name":"d","filter_subject":"a.>","deliver_policy":"by_start_sequence","opt_start_seq":7,"max_ack_pending":1000,
			"max_waiting":512,"replay_policy":"instant","num_replicas":0,"metadata":{"_nats.ver":"2.15.3"}}`, nil},
		{"starts earlier", `{"name":"d","filter_subject":"a.>","deliver_policy":"all"}`,
			[]string{`deliver_policy: "all" → "by_start_sequence"`, "opt_start_seq: 0 → 7"}},
		{"pushes", `{"name":"d","filter_subject":"a.>","deliver_policy":"by_start_sequence","opt_start_seq":7,"deliver_subject":"x"}`,
			[]string{`deliver_subject: "x" → unset`}},
		{"another filter", `{"name":"d","filter_subjects":["a.>","b.>"],"deliver_policy":"by_start_sequence","opt_start_seq":7}`,
			[]string{`filter_subject: unset → "a.>"`, `filter_subjects: ["a.>","b.>"] → unset`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, change := range diffConsumer(object(t, c.actual), object(t, declared)) {
				got = append(got, change.String())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func text(t *testing.T, s string) contract.Node {
	t.Helper()
	parsed, err := contract.ParseTemplate(s)
	if err != nil {
		t.Fatal(err)
	}
	return contract.Node{Text: &parsed}
}

func TestReadFrontiers(t *testing.T) {
	declared := contract.Node{Map: map[string]contract.Node{
		"name":  text(t, "{user}"),
		"since": {Map: map[string]contract.Node{"A": text(t, "{frontier.A}"), "B": text(t, "{frontier.B}")}},
		"kind":  {Lit: true},
	}}
	for _, c := range []struct {
		name, stored string
		want         map[string]uint64
		err          string
	}{
		{"both", `{"name":"x","since":{"A":0,"B":12},"kind":true}`, map[string]uint64{"A": 0, "B": 12}, ""},
		{"more than declared", `{"since":{"A":1,"B":2,"C":3},"x":[]}`, map[string]uint64{"A": 1, "B": 2}, ""},
		{"largest", `{"since":{"A":1,"B":9223372036854775807}}`, map[string]uint64{"A": 1, "B": 1<<63 - 1}, ""},
		{"one missing", `{"since":{"A":1}}`, nil, "no number at {{frontier.B}}"},
		{"no object", `[1]`, nil, "not the record"},
		{"null", `null`, nil, "not the record"},
		{"an acknowledgement", `{"stream":"A","seq":2}`, nil, "not the record"},
		{"no object inside", `{"since":7}`, nil, "not the record"},
		{"text", `{"since":{"A":"1","B":2}}`, nil, "no number"},
		{"negative", `{"since":{"A":-1,"B":2}}`, nil, "no sequence"},
		{"fraction", `{"since":{"A":1.5,"B":2}}`, nil, "no sequence"},
		{"exponent", `{"since":{"A":1e3,"B":2}}`, nil, "no sequence"},
		{"too large", `{"since":{"A":9223372036854775808,"B":2}}`, nil, "no sequence"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v any
			if err := decodeNumbers([]byte(c.stored), &v); err != nil {
				t.Fatal(err)
			}
			got := map[string]uint64{}
			err := readFrontiers(declared, v, got)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("got %v, want %q", err, c.err)
			}
			if d := cmp.Diff(c.want, got); err == nil && d != "" {
				t.Error(d)
			}
		})
	}
}

// TestReadFrontiersHidden: a frontier that could not be read back would move with every run.
func TestReadFrontiersHidden(t *testing.T) {
	for name, n := range map[string]contract.Node{
		"in a list": {List: []contract.Node{text(t, "{frontier.A}")}},
		"in a text": text(t, "at {frontier.A}"),
	} {
		err := readFrontiers(contract.Node{Map: map[string]contract.Node{"x": n}}, map[string]any{"x": []any{}}, map[string]uint64{})
		if err == nil || !strings.Contains(err.Error(), "cannot be read back") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	control := contract.Node{Map: map[string]contract.Node{"x": {List: []contract.Node{text(t, "{user}")}}}}
	if err := readFrontiers(control, map[string]any{"x": []any{}}, map[string]uint64{}); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestPlanCounts(t *testing.T) {
	applied := 0
	step := func(verb string) Action {
		return Action{Kind: KindStream, Name: "S-" + verb, Action: verb}
	}
	p := &Plan{Actions: []Action{step(Create), step(None), step(Refuse), step(Update), step(Delete)}}
	if p.Pending() != 3 || len(p.Refused()) != 1 {
		t.Errorf("got %d pending and %d refused, want 3 and 1", p.Pending(), len(p.Refused()))
	}
	err := p.Apply(t.Context(), func(Action) { applied++ })
	var refused *RefusedError
	if !errors.As(err, &refused) || applied != 0 || !strings.Contains(err.Error(), "stream S-refuse: ") {
		t.Errorf("apply: got %v after %d steps, want a refusal before the first", err, applied)
	}
}
