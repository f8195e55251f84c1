package provision

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/shape"
)

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
	harden := shape.Change{Field: "deny_delete", New: true}
	soften, open := shape.Change{Field: "deny_delete", Old: true}, shape.Change{Field: "allow_direct", New: true}
	bound := shape.Change{Field: "max_msgs", Old: json.Number("5"), New: json.Number("9")}
	for _, c := range []struct {
		name      string
		changes   []shape.Change
		updatable bool
		protect   []string
		want      verdict
	}{
		{"no change", nil, true, []string{"deny_delete"}, verdict{None, []string{}, ""}},
		{"no change of a create-or-verify one", nil, false, nil, verdict{None, []string{}, ""}},
		{"unprotected", []shape.Change{bound}, true, []string{"deny_delete"}, verdict{Update, []string{bound.String()}, ""}},
		{"protected and stronger", []shape.Change{harden}, true, []string{"deny_delete"}, verdict{Update, []string{harden.String()}, ""}},
		{"protected and weaker", []shape.Change{open}, true, []string{"allow_direct"}, verdict{Refuse, []string{open.String()}, "setting allow_direct"}},
		{"weaker and not protected", []shape.Change{open}, true, []string{"storage"}, verdict{Update, []string{open.String()}, ""}},
		{"one weak among others, all shown", []shape.Change{bound, open}, true, []string{"allow_direct"},
			verdict{Refuse, []string{bound.String(), open.String()}, "setting allow_direct"}},
		{"irreversible at the broker", []shape.Change{soften}, true, nil, verdict{Refuse, []string{soften.String()}, "cannot take back deny_delete"}},
		{"work queue", []shape.Change{{Field: "retention", Old: "limits", New: "workqueue"}}, true, nil,
			verdict{Refuse, []string{"retention: \"limits\" → \"workqueue\""}, "cannot take back retention"}},
		{"create-or-verify", []shape.Change{harden}, false, []string{"deny_delete"}, verdict{Refuse, []string{harden.String()}, "create-or-verify"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Action{Diff: []string{}}
			decide(&a, c.changes, c.updatable, c.protect)
			checkVerdict(t, a, c.want)
		})
	}
}

func TestDecideConsumer(t *testing.T) {
	wait := shape.Change{Field: "ack_wait", Old: json.Number("1"), New: json.Number("2")}
	filter := shape.Change{Field: "filter_subject", Old: "a.>", New: "b.>"}
	start := shape.Change{Field: "opt_start_seq", Old: json.Number("1"), New: json.Number("7")}
	for _, c := range []struct {
		name    string
		changes []shape.Change
		want    verdict
	}{
		{"no change", nil, verdict{None, []string{}, ""}},
		{"mutable", []shape.Change{wait}, verdict{Update, []string{wait.String()}, ""}},
		{"filter", []shape.Change{filter}, verdict{Refuse, []string{filter.String()}, "filter_subject"}},
		{"start", []shape.Change{start}, verdict{Refuse, []string{start.String()}, "opt_start_seq"}},
		{"mutable before", []shape.Change{wait, filter}, verdict{Refuse, []string{wait.String(), filter.String()}, "filter_subject"}},
		{"mutable after", []shape.Change{filter, wait}, verdict{Refuse, []string{filter.String(), wait.String()}, "filter_subject"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Action{Diff: []string{}}
			decideConsumer(&a, c.changes)
			checkVerdict(t, a, c.want)
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
			if err := shape.Unmarshal([]byte(c.stored), &v); err != nil {
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
