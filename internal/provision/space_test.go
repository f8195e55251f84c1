package provision_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/provision"
)

func TestSpaceIsMadeOnce(t *testing.T) {
	t.Parallel()
	for topology, order := range map[string][]string{
		"joint":  {"stream LOG_main", "kv KV_tiny_main", "consumer LOG_main/index", "record tiny_main/=defaults"},
		"parted": {"stream LOG_main", "consumer LOG_main/index", "kv KV_tiny_main", "record tiny_main/=defaults"},
	} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			w, c := newWorld(t, topology), load(t)
			fresh, err := w.session(t, c).Plan(bounded(t), []string{"main", "store"})
			if err != nil {
				t.Fatal(err)
			}
			first := w.plan(t, c)
			var want []string
			for _, name := range order {
				want = append(want, "create "+name)
			}
			wantLines(t, fresh, want...)
			wantLines(t, first, want...)
			var heard []string
			if err := first.Apply(bounded(t), func(a provision.Action) { heard = append(heard, a.Kind+" "+a.Name) }); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(order, heard); d != "" {
				t.Errorf("applied (-want +got):\n%s", d)
			}
			wantNone(t, w.plan(t, c))
			store := "main"
			if topology == "parted" {
				store = "store"
			}
			if got := w.raw(t, store, "STREAM.INFO.KV_tiny_main")["max_msgs_per_subject"]; got != 1.0 {
				t.Errorf("history of the bucket in account %s, got %v, want 1", store, got)
			}
		})
	}
}

// TestPlanChangesNothing: planning an empty account leaves it empty.
func TestPlanChangesNothing(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	if p := w.plan(t, c); p.Pending() != len(p.Actions) || p.Pending() == 0 {
		t.Fatalf("got %d of %d pending, want all", p.Pending(), len(p.Actions))
	}
	for name := range w.admin(t, "main").StreamNames() {
		t.Errorf("stream %s exists", name)
	}
}

// TestDriftIsRepaired: what somebody changed by hand on an updatable stream is shown field by field and put back.
func TestDriftIsRepaired(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t, edit{"resources.yaml", "protect: [deny_delete]", "protect: [deny_delete, republish, sources, allow_direct]"})
	w.apply(t, c)
	before := w.raw(t, "main", "STREAM.INFO.LOG_main")
	if _, err := w.admin(t, "main").AddStream(&nats.StreamConfig{Name: "OTHER", Subjects: []string{"other"}, MaxMsgs: 1}); err != nil {
		t.Fatal(err)
	}
	for _, drift := range []struct {
		change map[string]any
		want   string
	}{
		{map[string]any{"max_msgs": 7, "description": "mine"}, `description: "mine" → unset; max_msgs: 7 → -1`},
		{map[string]any{"allow_direct": true}, "allow_direct: true → false"},
		{map[string]any{"republish": map[string]any{"src": "tiny.main.log.>", "dest": "leak.>"}},
			`republish: {"dest":"leak.>","src":"tiny.main.log.>"} → unset`},
		{map[string]any{"sources": []any{map[string]any{"name": "OTHER"}}}, `sources: [{"name":"OTHER"}] → unset`},
		{map[string]any{"metadata": map[string]any{"x": "y"}}, `metadata: {"x":"y"} → unset`},
	} {
		w.update(t, "main", "LOG_main", drift.change)
		p := w.plan(t, c)
		wantLines(t, p, "update stream LOG_main; "+drift.want, "none kv KV_tiny_main", "none consumer LOG_main/index", "none record tiny_main/=defaults")
		if err := p.Apply(bounded(t), nil); err != nil {
			t.Fatalf("%v: %v", drift.change, err)
		}
		wantNone(t, w.plan(t, c))
		if d := cmp.Diff(before, w.raw(t, "main", "STREAM.INFO.LOG_main")); d != "" {
			t.Errorf("repaired (-before +after):\n%s", d)
		}
	}
}

// TestDriftOfCreateOrVerify: a resource without "update: true" is never updated, and nothing else of the plan is applied.
func TestDriftOfCreateOrVerify(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	w.apply(t, c)
	w.update(t, "main", "KV_tiny_main", map[string]any{"max_bytes": 1 << 20})
	w.update(t, "main", "LOG_main", map[string]any{"max_msgs": 7})
	p := w.plan(t, c)
	wantLines(t, p, "update stream LOG_main; max_msgs: 7 → -1", "refuse kv KV_tiny_main; max_bytes: 1048576 → -1",
		"none consumer LOG_main/index", "none record tiny_main/=defaults")
	wantRefused(t, p, "kv KV_tiny_main: ")
	if got := w.raw(t, "main", "STREAM.INFO.LOG_main")["max_msgs"]; got != 7.0 {
		t.Errorf("the other change of a refused plan was applied: max_msgs %v, want 7 still", got)
	}
	w.update(t, "main", "KV_tiny_main", map[string]any{"max_bytes": -1})
	w.apply(t, c) // control: without the refusal the rest is applied
	wantNone(t, w.plan(t, c))
}

func wantRefused(t *testing.T, p *provision.Plan, named string) {
	t.Helper()
	err := p.Apply(bounded(t), func(a provision.Action) { t.Errorf("applied %s %s", a.Action, a.Name) })
	var refused *provision.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), named) || !strings.Contains(err.Error(), "nothing was applied") {
		t.Errorf("apply, got %v, want a refusal of %s", err, named)
	}
}

// TestWeakeningIsRefused: a contract that was edited to weaken a protected setting is refused; the same edit of an unprotected
// one is applied.
func TestWeakeningIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "joint")
	w.apply(t, load(t, edit{"resources.yaml", "deny_delete: true,", "allow_direct: false,"},
		edit{"resources.yaml", "protect: [deny_delete]", "protect: [allow_direct]"}))
	before := w.raw(t, "main", "STREAM.INFO.LOG_main")
	weak := load(t, edit{"resources.yaml", "deny_delete: true,", "allow_direct: true,"},
		edit{"resources.yaml", "protect: [deny_delete]", "protect: [allow_direct]"})
	p := w.plan(t, weak)
	wantLines(t, p, "refuse stream LOG_main; allow_direct: false → true", "none kv KV_tiny_main", "none consumer LOG_main/index",
		"none record tiny_main/=defaults")
	wantRefused(t, p, "protected setting allow_direct")
	if d := cmp.Diff(before, w.raw(t, "main", "STREAM.INFO.LOG_main")); d != "" {
		t.Errorf("refused, and changed:\n%s", d)
	}

	unprotected := load(t, edit{"resources.yaml", "deny_delete: true,", "allow_direct: true,"},
		edit{"resources.yaml", "protect: [deny_delete]", "protect: [storage]"})
	p = w.plan(t, unprotected)
	if got := lines(p)[0]; got != "update stream LOG_main; allow_direct: false → true" {
		t.Errorf("control, got %q", got)
	}
	if err := p.Apply(bounded(t), nil); err != nil {
		t.Fatal(err)
	}
	if got := w.raw(t, "main", "STREAM.INFO.LOG_main")["allow_direct"]; got != true {
		t.Errorf("control: allow_direct, got %v, want true", got)
	}
	wantNone(t, w.plan(t, unprotected))
}

// TestReadBack: a setting that the broker takes and silently changes is an error, not a success.
func TestReadBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "joint")
	// A marker TTL turns roll-up on and deny_purge off, whatever the request says.
	c := load(t, edit{"resources.yaml", "deny_delete: true,", "deny_delete: true, allow_msg_ttl: true, subject_delete_marker_ttl: 60s,"})
	err := w.plan(t, c).Apply(bounded(t), nil)
	if err == nil || !strings.Contains(err.Error(), "create stream LOG_main: the broker changed what it was given: [allow_rollup_hdrs: true → false") {
		t.Errorf("got %v, want a read-back error", err)
	}
	control := newWorld(t, "joint")
	control.apply(t, load(t))
}

// TestDenied: a credential that lacks the right is told so at once, not by a timeout.
func TestDenied(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	w.deny = "$JS.API.STREAM.CREATE.LOG_main"
	started := time.Now()
	err := w.plan(t, c).Apply(bounded(t), nil)
	var denied *provision.DeniedError
	if !errors.As(err, &denied) || denied.Subject != w.deny {
		t.Errorf("got %v, want a denial of %s", err, w.deny)
	}
	if took := time.Since(started); took > patience/2 {
		t.Errorf("denied after %v, want at once", took)
	}
	w.deny = ""
	w.apply(t, c) // control
}

// TestNoAnswer: a request that nobody answers ends with the connection's own patience, not with the caller's.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint", func(o *server.Options) { o.JetStream = false }), load(t)
	nc := w.server.Connect(t, w.accounts["main"].User(t, jwt.Permissions{}))
	silent, err := nc.SubscribeSync("$JS.API.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	w.timeout = 200 * time.Millisecond
	if _, err := w.session(t, c).Plan(t.Context(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
	if _, err := silent.NextMsg(patience); err != nil {
		t.Errorf("the request was not sent: %v", err)
	}
}

// TestRecords: a first record is written once; a deleted one is written again, one that was changed is left alone.
func TestRecords(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	w.apply(t, c)
	kv, err := w.admin(t, "main").KeyValue("tiny_main")
	if err != nil {
		t.Fatal(err)
	}
	value := func() string {
		e, err := kv.Get("=defaults")
		if err != nil {
			t.Fatal(err)
		}
		return string(e.Value())
	}
	if got := value(); got != `{"version":1}` {
		t.Errorf("first record, got %s", got)
	}
	if _, err := kv.PutString("=defaults", `{"version":2}`); err != nil {
		t.Fatal(err)
	}
	wantNone(t, w.plan(t, c))
	if err := kv.Delete("=defaults"); err != nil {
		t.Fatal(err)
	}
	p := w.plan(t, c)
	if got := lines(p)[3]; got != "create record tiny_main/=defaults" {
		t.Errorf("deleted record, got %q", got)
	}
	if _, err := kv.PutString("=defaults", `{"version":3}`); err != nil {
		t.Fatal(err)
	}
	var api *provision.APIError
	if err := p.Apply(bounded(t), nil); !errors.As(err, &api) || api.ErrCode != 10071 {
		t.Errorf("record that appeared meanwhile, got %v, want wrong last sequence", err)
	}
	if err := kv.Delete("=defaults"); err != nil {
		t.Fatal(err)
	}
	w.apply(t, c)
	if got := value(); got != `{"version":1}` {
		t.Errorf("record after its deletion, got %s", got)
	}
	wantNone(t, w.plan(t, c))
}

// TestStandingConsumer: a mutable setting of a durable is repaired; what makes it another consumer is refused.
func TestStandingConsumer(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t)
	w.apply(t, c)
	js := w.admin(t, "main")
	index := &nats.ConsumerConfig{Durable: "index", FilterSubject: "tiny.main.log.>", AckPolicy: nats.AckExplicitPolicy, AckWait: time.Second}
	if _, err := js.UpdateConsumer("LOG_main", index); err != nil {
		t.Fatal(err)
	}
	p := w.plan(t, c)
	if got, want := lines(p)[2], "update consumer LOG_main/index; ack_wait: 1s → 1m0s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := p.Apply(bounded(t), nil); err != nil {
		t.Fatal(err)
	}
	wantNone(t, w.plan(t, c))

	index.FilterSubject, index.AckWait = "tiny.main.log.alice.>", time.Minute
	if _, err := js.UpdateConsumer("LOG_main", index); err != nil {
		t.Fatal(err)
	}
	p = w.plan(t, c)
	if got, want := lines(p)[2], `refuse consumer LOG_main/index; filter_subject: "tiny.main.log.alice.>" → "tiny.main.log.>"`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	wantRefused(t, p, "filter_subject")
	if got := w.raw(t, "main", "CONSUMER.INFO.LOG_main.index")["filter_subject"]; got != "tiny.main.log.alice.>" {
		t.Errorf("refused, and changed: %v", got)
	}
}
