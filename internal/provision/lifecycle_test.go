package provision_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/provision"
)

func alice(topics ...any) compile.Input {
	return compile.Input{Values: map[string]any{"space": "main", "user": "alice", "topics": topics}}
}

// activate plans the lifecycle of alice.
func (w *world) activate(t *testing.T, c *contract.Contract) *provision.Plan {
	t.Helper()
	p, err := w.session(t, c).PlanLifecycle(bounded(t), "user", alice("news"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) retire(t *testing.T, c *contract.Contract) *provision.Plan {
	t.Helper()
	p, err := w.session(t, c).PlanRemoval(bounded(t), "user", alice("news"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func apply(t *testing.T, p *provision.Plan) {
	t.Helper()
	if err := p.Apply(bounded(t), nil); err != nil {
		t.Fatal(err)
	}
}

// publish stores n messages in the log.
func (w *world) publish(t *testing.T, n int) {
	t.Helper()
	js := w.admin(t, "main")
	for i := range n {
		if _, err := js.Publish("tiny.main.log.bob.news", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
}

// bucket is the table of the space, by hand.
func (w *world) bucket(t *testing.T, account string) nats.KeyValue {
	t.Helper()
	kv, err := w.admin(t, account).KeyValue("tiny_main")
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

// row is alice's record.
func row(t *testing.T, kv nats.KeyValue) string {
	t.Helper()
	e, err := kv.Get("user.alice")
	if err != nil {
		t.Fatal(err)
	}
	return string(e.Value())
}

func tableAccount(topology string) string {
	if topology == "parted" {
		return "store"
	}
	return "main"
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	ran := 0
	for _, topology := range []string{"joint", "parted"} {
		w, c := newWorld(t, topology), load(t)
		w.apply(t, c)
		w.publish(t, 3)
		p := w.activate(t, c)
		wantLines(t, p, "create record tiny_main/user.alice", "create consumer LOG_main/log_alice")
		w.publish(t, 2) // after the plan: the frontier is the plan's
		apply(t, p)
		if d := cmp.Diff(`{"since":{"LOG":3},"topics":["news"]}`, row(t, w.bucket(t, tableAccount(topology)))); d != "" {
			t.Error(d)
		}
		cfg := w.raw(t, "main", "CONSUMER.INFO.LOG_main.log_alice")
		if cfg["opt_start_seq"] != 4.0 || cfg["deliver_policy"] != "by_start_sequence" {
			t.Errorf("durable starts at %v %v, want by_start_sequence 4", cfg["deliver_policy"], cfg["opt_start_seq"])
		}
		w.publish(t, 2)
		wantNone(t, w.activate(t, c))

		removal := w.retire(t, c)
		wantLines(t, removal, "delete consumer LOG_main/log_alice", "delete record tiny_main/user.alice")
		apply(t, removal)
		wantNone(t, w.retire(t, c))
		wantNone(t, w.plan(t, c))

		apply(t, w.activate(t, c)) // a second life begins where the stream is now
		if got, want := row(t, w.bucket(t, tableAccount(topology))), `{"since":{"LOG":7},"topics":["news"]}`; got != want {
			t.Errorf("second activation, got %s, want %s", got, want)
		}
		wantNone(t, w.activate(t, c))
		ran++
	}
	if ran != 2 {
		t.Errorf("ran %d topologies, want 2", ran)
	}
}

// TestFrontierSurvives: stopped between record and durable, with messages in between, the next run starts where the first
// would have.
func TestFrontierSurvives(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	w.apply(t, c)
	w.publish(t, 5)
	p := w.activate(t, c)
	p.Actions = p.Actions[:1]
	apply(t, p)
	w.publish(t, 4)
	next := w.activate(t, c)
	wantLines(t, next, "none record tiny_main/user.alice", "create consumer LOG_main/log_alice")
	apply(t, next)
	if got := w.raw(t, "main", "CONSUMER.INFO.LOG_main.log_alice")["opt_start_seq"]; got != 6.0 {
		t.Errorf("durable starts at %v, want 6, after the frontier of the first run", got)
	}
	wantNone(t, w.activate(t, c))
}

// TestDurableThatStartsEarlier: a durable that reads what came before its holder is refused, never adopted.
func TestDurableThatStartsEarlier(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	w.apply(t, c)
	w.publish(t, 3)
	js := w.admin(t, "main")
	if _, err := js.AddConsumer("LOG_main", &nats.ConsumerConfig{Durable: "log_alice", FilterSubject: "tiny.main.log.>",
		AckPolicy: nats.AckExplicitPolicy, AckWait: time.Minute}); err != nil {
		t.Fatal(err)
	}
	p := w.activate(t, c)
	if got, want := lines(p)[1], `refuse consumer LOG_main/log_alice; deliver_policy: "all" → "by_start_sequence"; opt_start_seq: 0 → 4`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	wantRefused(t, p, "opt_start_seq")
	if _, err := w.bucket(t, "main").Get("user.alice"); err == nil {
		t.Error("refused, and the record was written")
	}
	if err := js.DeleteConsumer("LOG_main", "log_alice"); err != nil {
		t.Fatal(err)
	}
	apply(t, w.activate(t, c)) // control
}

// TestHostileRow: whoever can place bytes on the record's subject cannot move the frontier silently.
func TestHostileRow(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	w.apply(t, c)
	w.publish(t, 2)
	kv, refused := w.bucket(t, "main"), 0
	for value, want := range map[string]string{
		`{"stream":"LOG_main","seq":2}`:          "is not the record",
		`{"since":{},"topics":["news"]}`:         "holds no number at {{frontier.LOG}}",
		`not json`:                               "is not JSON",
		``:                                       "is not JSON",
		`{"since":{"LOG":2},"topics":["a"]} x`:   "is not JSON",
		`[]`:                                     "is not the record",
		`{"since":{"LOG":9},"topics":["news"]}`:  "beyond the stream's last sequence 2",
		`{"since":{"LOG":-1},"topics":["news"]}`: "holds no sequence",
		`{"since":{"LOG":18446744073709551616},"topics":["a"]}`: "holds no sequence",
	} {
		if _, err := kv.PutString("user.alice", value); err != nil {
			t.Fatal(err)
		}
		_, err := w.session(t, c).PlanLifecycle(bounded(t), "user", alice("news"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "row tiny_main/user.alice") {
			t.Errorf("%q: got %v, want %q", value, err, want)
			continue
		}
		refused++
	}
	if refused == 0 {
		t.Fatal("nothing was refused")
	}
	apply(t, w.retire(t, c)) // what the message advises
	apply(t, w.activate(t, c))
	wantNone(t, w.activate(t, c))
}

// TestChangedParameters: another list of topics is an update of the record that keeps the frontier.
func TestChangedParameters(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	w.apply(t, c)
	w.publish(t, 2)
	apply(t, w.activate(t, c))
	w.publish(t, 2)
	p, err := w.session(t, c).PlanLifecycle(bounded(t), "user", alice("news", "sport"))
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, p, `update record tiny_main/user.alice; topics: ["news"] → ["news","sport"]`, "none consumer LOG_main/log_alice")
	kv := w.bucket(t, "main")
	if _, err := kv.PutString("user.alice", row(t, kv)); err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(bounded(t), nil); err == nil || !strings.Contains(err.Error(), "10071") {
		t.Errorf("row written meanwhile, got %v, want wrong last sequence", err)
	}
	if p, err = w.session(t, c).PlanLifecycle(bounded(t), "user", alice("news", "sport")); err != nil {
		t.Fatal(err)
	}
	apply(t, p)
	if got, want := row(t, kv), `{"since":{"LOG":2},"topics":["news","sport"]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRemovalIsExact: another user's record and durable, and the standing durable, stay.
func TestRemovalIsExact(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	w.apply(t, c)
	bob := compile.Input{Values: map[string]any{"space": "main", "user": "bob", "topics": []any{"news"}}}
	p, err := w.session(t, c).PlanLifecycle(bounded(t), "user", bob)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, p)
	before := w.inventory(t)
	apply(t, w.activate(t, c))
	if got := w.inventory(t); len(got) != len(before)+2 {
		t.Errorf("activation, got %v beside %v, want two more", got, before)
	}
	apply(t, w.retire(t, c))
	if d := cmp.Diff(before, w.inventory(t)); d != "" {
		t.Errorf("after the removal:\n%s", d)
	}
}

// inventory is every durable and row of the joint space.
func (w *world) inventory(t *testing.T) map[string]string {
	t.Helper()
	js, out := w.admin(t, "main"), map[string]string{}
	for info := range js.ConsumersInfo("LOG_main") {
		data, err := json.Marshal(info.Config)
		if err != nil {
			t.Fatal(err)
		}
		out["consumer "+info.Name] = string(data)
	}
	kv := w.bucket(t, "main")
	keys, err := kv.Keys()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		e, err := kv.Get(k)
		if err != nil {
			t.Fatal(err)
		}
		out["row "+k] = string(e.Value())
	}
	return out
}

func TestUnknownLifecycle(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	if _, err := w.session(t, c).PlanLifecycle(bounded(t), "ghost", alice()); err == nil || !strings.Contains(err.Error(), `no lifecycle "ghost"`) {
		t.Errorf("got %v", err)
	}
	_, err := w.session(t, c).PlanLifecycle(bounded(t), "user", compile.Input{Values: map[string]any{"space": "main", "user": "Alice!"}})
	if err == nil || !strings.Contains(err.Error(), "user") {
		t.Errorf("bad parameter, got %v", err)
	}
}
