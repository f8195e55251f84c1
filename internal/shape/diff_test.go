package shape

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// object decodes JSON as the package decodes a broker's answer.
func object(t *testing.T, text string) Config {
	t.Helper()
	c, err := Decode([]byte(text))
	if err != nil {
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
			for _, change := range Diff(object(t, c.actual), object(t, c.declared)) {
				got = append(got, change.String())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNormalize(t *testing.T) {
	got, err := normalize(Config{"a": int64(1), "b": true, "c": []string{"x"}, "d": "s"})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{"a": json.Number("1"), "b": true, "c": []any{"x"}, "d": "s"}
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
		if got := Weakens(change); got != c.want {
			t.Errorf("%s: weakens, got %v, want %v", change, got, c.want)
		}
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
			for _, change := range DiffConsumer(object(t, c.actual), object(t, declared)) {
				got = append(got, change.String())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	for text, ok := range map[string]bool{`{"a":9007199254740993}`: true, `{"a":1} `: true, `{"a":1} x`: false, `{"a":1}{}`: false, `[]`: false, ``: false} {
		if _, err := Decode([]byte(text)); (err == nil) != ok {
			t.Errorf("%q: got %v, want read %v", text, err, ok)
		}
	}
}

func TestIrreversible(t *testing.T) {
	for _, c := range []struct {
		field    string
		old, new any
		want     bool
	}{
		{"storage", "file", "memory", true},
		{"retention", "limits", "workqueue", true},
		{"retention", "limits", "interest", false},
		{"deny_delete", true, nil, true},
		{"deny_delete", nil, true, false},
		{"max_msgs", json.Number("1"), nil, false},
	} {
		change := Change{Field: c.field, Old: c.old, New: c.new}
		if got := Irreversible(change); got != c.want {
			t.Errorf("%s: irreversible, got %v, want %v", change, got, c.want)
		}
	}
}
