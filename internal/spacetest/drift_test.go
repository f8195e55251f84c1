package spacetest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// TestSettings: what is declared is what the broker holds, a second run changes nothing, and no protected setting of any resource
// drifts unseen or is weakened by a plan.
func TestSettings(t *testing.T) {
	t.Parallel()
	topologies(t, settings)
}

// TestSettingsCluster is the same on three servers.
func TestSettingsCluster(t *testing.T) {
	t.Parallel()
	topologiesOnCluster(t, settings)
}

func settings(t *testing.T, s *spacetest.Space) {
	w := &warden{t: t, s: s, nc: map[string]*nats.Conn{}}
	w.declared()
	w.unchanged()
	w.drifts()
	w.unchanged()
	w.weakened()
}

// warden looks at the configuration of every resource with an allow-all user of its account, and changes it by hand.
type warden struct {
	t  *testing.T
	s  *spacetest.Space
	nc map[string]*nats.Conn
}

// api asks the server and returns its answer; refused is its error.
func (w *warden) api(account, tail string, body any) (config map[string]any, refused string) {
	w.t.Helper()
	if w.nc[account] == nil {
		w.nc[account] = w.s.Servers[0].Connect(w.t, w.s.Account(w.t, account).User(w.t, everything))
	}
	data, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	msg, err := w.nc[account].Request("$JS.API."+tail, data, spacetest.Patience)
	if err != nil {
		w.t.Fatalf("%s: %v", tail, err)
	}
	var answer struct {
		Config map[string]any `json:"config"`
		Error  *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	dec := json.NewDecoder(bytes.NewReader(msg.Data))
	dec.UseNumber()
	if err := dec.Decode(&answer); err != nil {
		w.t.Fatalf("%s: %v", tail, err)
	}
	if answer.Error != nil {
		return nil, answer.Error.Description
	}
	return answer.Config, ""
}

func (w *warden) config(resource string) map[string]any {
	w.t.Helper()
	config, refused := w.api(w.s.Home(w.t, resource), "STREAM.INFO."+w.s.Stream(w.t, resource), nil)
	if refused != "" {
		w.t.Fatalf("%s: %s", resource, refused)
	}
	return config
}

// declared compares every setting of every resource with what the broker holds.
func (w *warden) declared() {
	w.t.Helper()
	streams, buckets, compared := 0, 0, 0
	for _, r := range contract.Sorted(w.s.Contract.Resources) {
		stream := w.s.Stream(w.t, r.ID)
		want := maps.Clone(r.Config)
		want["name"], want["num_replicas"] = stream, int64(len(w.s.Servers))
		want["subjects"] = subjectsOf(w.t, w.s, r)
		if r.Bucket {
			buckets++
		} else {
			streams++
		}
		got := w.config(r.ID)
		for _, key := range contract.SortedKeys(want) {
			if d := cmp.Diff(plain(w.t, want[key]), plain(w.t, got[key])); d != "" {
				w.t.Errorf("%s: %s (-declared +held):\n%s", r.ID, key, d)
			}
			compared++
		}
	}
	if streams != 14 || buckets != 9 {
		w.t.Errorf("%d streams and %d buckets, want 14 and 9", streams, buckets)
	}
	w.t.Logf("%d settings of %d streams and %d buckets read back equal, %d replicas", compared, streams, buckets, len(w.s.Servers))
}

// subjectsOf are a resource's subjects, written out beside its name: those of a bucket are its keys'.
func subjectsOf(t *testing.T, s *spacetest.Space, r *contract.Resource) []string {
	if r.Bucket {
		return []string{"$KV." + strings.TrimPrefix(s.Stream(t, r.ID), "KV_") + ".>"}
	}
	var out []string
	for _, text := range r.Subjects {
		out = append(out, strings.Replace(text.String(), "{P}.", wire, 1))
	}
	return out
}

// plain is a value as JSON has it; what a server leaves out is the value of its type that means nothing.
func plain(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	switch text := string(data); text {
	case "null", "false", "0", `""`, "[]", `"default"`:
		return ""
	default:
		return text
	}
}

func (w *warden) unchanged() {
	w.t.Helper()
	for _, a := range w.s.Plan(w.t).Actions {
		if a.Action != provision.None {
			w.t.Errorf("a second run: %s %s %s %v %s", a.Action, a.Kind, a.Name, a.Diff, a.Reason)
		}
	}
}

// other is another value of a setting than the one that stands: a weaker one wherever the setting has a direction.
func other(key string, now any) any {
	switch key {
	case "mirror":
		return map[string]any{"name": "DRIFT"}
	case "sources":
		return []any{map[string]any{"name": "DRIFT"}}
	case "republish", "subject_transform":
		return map[string]any{"src": ">", "dest": "leak.>"}
	case "storage":
		return "memory"
	case "retention":
		if now == "limits" {
			return "interest"
		}
		return "limits"
	case "discard":
		if now == "new" {
			return "old"
		}
		return "new"
	case "max_age", "duplicate_window", "subject_delete_marker_ttl":
		if n := fmt.Sprint(now); n == "0" || n == "<nil>" || len(n) > len("3600000000000") {
			return int64(3_600_000_000_000)
		}
		return int64(50_000_000)
	}
	if strings.HasPrefix(key, "max_") {
		return int64(7)
	}
	on, _ := now.(bool)
	return !on
}

// oneWay are settings that a server does not take back: a hand that changes one has made another stream of it.
var oneWay = []string{"allow_msg_ttl", "allow_msg_schedules", "allow_msg_counter", "deny_delete", "deny_purge", "sealed",
	"subject_delete_marker_ttl"} // which turns allow_msg_ttl on

// drifts changes every protected setting that the server lets a hand change, of all resources at once; each is shown as drift, and a
// plan with a create-or-verify resource in it is refused whole.
func (w *warden) drifts() {
	w.t.Helper()
	for _, account := range w.s.Topology.Accounts {
		w.api(account, "STREAM.CREATE.DRIFT", map[string]any{"name": "DRIFT", "subjects": []string{"drift.source"}, "storage": "memory"})
	}
	seen, total := map[string]int{}, 0
	for _, key := range protected(w.s.Contract) {
		if slices.Contains(oneWay, key) {
			continue
		}
		before := map[string]map[string]any{}
		for _, r := range contract.Sorted(w.s.Contract.Resources) {
			if config, ok := w.change(r, key); ok {
				before[r.ID] = config
				seen[r.ID]++
				total++
			}
		}
		if len(before) > 0 {
			w.reported(key, before)
		}
		for _, id := range contract.SortedKeys(before) {
			if _, refused := w.api(w.s.Home(w.t, id), "STREAM.UPDATE."+w.s.Stream(w.t, id), before[id]); refused != "" {
				w.t.Fatalf("%s: %s cannot be restored: %s", id, key, refused)
			}
		}
	}
	for _, id := range contract.SortedKeys(w.s.Contract.Resources) {
		if seen[id] == 0 {
			w.t.Errorf("%s: no protected setting was changed", id)
		}
	}
	w.t.Logf("%d changes by hand were reported as drift", total)
}

// protected are the settings that any resource protects.
func protected(c *contract.Contract) []string {
	all := map[string]bool{}
	for _, r := range c.Resources {
		for _, key := range r.Protect {
			all[key] = true
		}
	}
	return contract.SortedKeys(all)
}

// change sets one protected setting by hand and returns the configuration before; ok is false where the resource does not protect it
// or the server does not take the change.
func (w *warden) change(r *contract.Resource, key string) (before map[string]any, ok bool) {
	w.t.Helper()
	if !slices.Contains(r.Protect, key) {
		return nil, false
	}
	before = w.config(r.ID)
	edited := maps.Clone(before)
	edited[key] = other(key, before[key])
	if key == "subjects" { // beside its own: another stream's would collide
		edited[key] = append(slices.Clone(before[key].([]any)), "drift."+r.ID)
	}
	if _, refused := w.api(w.s.Home(w.t, r.ID), "STREAM.UPDATE."+w.s.Stream(w.t, r.ID), edited); refused != "" {
		return nil, false
	}
	return before, plain(w.t, w.config(r.ID)[key]) != plain(w.t, before[key])
}

// reported: each changed resource is in the plan with that field, and nothing of a plan with a refusal is applied.
func (w *warden) reported(key string, changed map[string]map[string]any) {
	w.t.Helper()
	plan := w.s.Plan(w.t)
	shown := map[string]provision.Action{}
	for _, a := range plan.Actions {
		if a.Action != provision.None {
			shown[a.Name] = a
		}
	}
	if len(shown) != len(changed) {
		w.t.Errorf("%s: %d of the plan differ, want %d", key, len(shown), len(changed))
	}
	for _, id := range contract.SortedKeys(changed) {
		a := shown[w.s.Stream(w.t, id)]
		if !slices.ContainsFunc(a.Diff, func(d string) bool { return strings.HasPrefix(d, key+": ") }) {
			w.t.Errorf("%s: %s changed by hand, and the plan shows %s %v", id, key, a.Action, a.Diff)
		}
		if !w.s.Contract.Resources[id].Update && a.Action != provision.Refuse {
			w.t.Errorf("%s: %s: got %s, want create-or-verify to refuse", id, key, a.Action)
		}
	}
	w.refusal(plan, key)
}

func (w *warden) refusal(plan *provision.Plan, key string) {
	w.t.Helper()
	if len(plan.Refused()) == 0 {
		return
	}
	var refused *provision.RefusedError
	if err := plan.Apply(w.t.Context(), func(a provision.Action) { w.t.Errorf("%s: applied %s %s", key, a.Action, a.Name) }); !errors.As(err, &refused) {
		w.t.Errorf("%s: apply: got %v, want a refusal", key, err)
	}
}

// weakened plans with a contract that has every protected setting weakened, one setting of all resources at a time: each is refused,
// and the broker holds what it held.
func (w *warden) weakened() {
	w.t.Helper()
	refused := 0
	for _, key := range protected(w.s.Contract) {
		edited, edits := weaker(w.t, w.s.Contract, key)
		s := *w.s
		s.Contract = edited
		plan := s.Plan(w.t)
		verdicts := map[string]provision.Action{}
		for _, a := range plan.Actions {
			verdicts[a.Name] = a
		}
		for _, id := range edits {
			a := verdicts[w.s.Stream(w.t, id)]
			if a.Action != provision.Refuse || a.Reason == "" || !slices.ContainsFunc(a.Diff, func(d string) bool { return strings.HasPrefix(d, key+": ") }) {
				w.t.Errorf("%s: a contract with another %s: %s %v, want a refusal", id, key, a.Action, a.Diff)
			}
			refused++
		}
		w.refusal(plan, key)
	}
	if refused == 0 {
		w.t.Error("nothing was weakened")
	}
	w.t.Logf("%d weakened settings were refused", refused)
	w.unchanged()
}

// weaker is the contract with one setting weakened wherever it is protected, and the resources in which it is.
func weaker(t *testing.T, c *contract.Contract, key string) (edited *contract.Contract, resources []string) {
	out := *c
	out.Resources = maps.Clone(c.Resources)
	for _, r := range contract.Sorted(c.Resources) {
		if !slices.Contains(r.Protect, key) {
			continue
		}
		weak := *r
		weak.Config = maps.Clone(r.Config)
		if key == "subjects" {
			more, err := contract.ParseTemplate("drift.more")
			if err != nil {
				t.Fatal(err)
			}
			weak.Subjects = append(slices.Clone(r.Subjects), more)
		} else {
			weak.Config[key] = other(key, r.Config[key])
		}
		out.Resources[r.ID], resources = &weak, append(resources, r.ID)
	}
	return &out, resources
}
