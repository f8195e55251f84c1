package shape_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/shape"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// broker asks a real one as an allow-all user of each account.
type broker struct {
	t  *testing.T
	s  *spacetest.Space
	nc map[string]*nats.Conn
}

func newBroker(t *testing.T, s *spacetest.Space) *broker {
	return &broker{t: t, s: s, nc: map[string]*nats.Conn{}}
}

// api returns the configuration in an answer; refused is its error.
func (b *broker) api(account, tail string, body any) (config shape.Config, refused string) {
	b.t.Helper()
	if b.nc[account] == nil {
		b.nc[account] = b.s.Servers[0].Connect(b.t, b.s.Account(b.t, account).User(b.t, jwt.Permissions{}))
	}
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			b.t.Fatal(err)
		}
	}
	msg, err := b.nc[account].Request("$JS.API."+tail, data, spacetest.Patience)
	if err != nil {
		b.t.Fatalf("%s: %v", tail, err)
	}
	var answer struct {
		Config shape.Config
		Error  *struct{ Description string }
	}
	if err := shape.Unmarshal(msg.Data, &answer); err != nil {
		b.t.Fatalf("%s: %v", tail, err)
	}
	if answer.Error != nil {
		return nil, answer.Error.Description
	}
	return answer.Config, ""
}

func (b *broker) must(account, tail string, body any) shape.Config {
	b.t.Helper()
	config, refused := b.api(account, tail, body)
	if refused != "" {
		b.t.Fatalf("%s: %s", tail, refused)
	}
	return config
}

// consumer makes a consumer anew from a configuration, and reads it back.
func (b *broker) consumer(account, stream string, config shape.Config) shape.Config {
	b.t.Helper()
	name := config["name"].(string)
	b.api(account, "CONSUMER.DELETE."+stream+"."+name, nil)
	tail := "CONSUMER.CREATE." + stream + "." + name
	if filter, ok := config["filter_subject"].(string); ok {
		tail += "." + filter
	}
	b.must(account, tail, map[string]any{"stream_name": stream, "config": config, "action": "create"})
	return b.must(account, "CONSUMER.INFO."+stream+"."+name, nil)
}

// edited is a configuration with changes; nil takes a setting away.
func edited(config shape.Config, changes map[string]any) shape.Config {
	out := maps.Clone(config)
	for k, v := range changes {
		if out[k] = v; v == nil {
			delete(out, k)
		}
	}
	return out
}

func texts(changes []shape.Change) []string {
	out := []string{}
	for _, c := range changes {
		out = append(out, c.String())
	}
	return out
}

// one is the consumer that a name is of.
func one(t *testing.T, s *shape.Space, account, stream, name string) *shape.Consumer {
	t.Helper()
	got := s.Recognize(account, stream, name)
	if len(got) != 1 {
		t.Fatalf("%s/%s: %d declared consumers, want 1", stream, name, len(got))
	}
	return &got[0]
}

type oneEdit struct {
	changes map[string]any
	want    []string
}

// TestProvisioned: what provisioning makes is what is declared, and each edit by hand is told as what it is.
func TestProvisioned(t *testing.T) {
	t.Parallel()
	c := load(t)
	s := spacetest.New(t, c, "split", 1)
	s.Provision(t, "principal", map[string]any{"owner": owner, "actor": "ann", "uid": uid, "role": "builder", "readers": []any{
		map[string]any{"dec": map[string]any{"endpoint": "manager"}},
		map[string]any{"events": map[string]any{"endpoint": "com.acme.x", "gid": "g1", "n": "0", "topic": "a.>"}},
		map[string]any{"progress": map[string]any{"endpoint": "com.acme.x", "gid": "g1", "n": "1"}},
		map[string]any{"record": map[string]any{"gid": "g2", "n": "0", "subtree": "svc.>"}}}})
	declared, b := declare(t, c, "split"), newBroker(t, s)
	b.unchanged(declared)
	b.ephemerals(declared)
	b.consumerEdits(declared)
	b.streamEdits(declared)
}

func (b *broker) unchanged(declared *shape.Space) {
	b.t.Helper()
	streams, consumers := 0, 0
	for _, st := range declared.Streams {
		if d := texts(shape.Diff(b.must(st.Account, "STREAM.INFO."+st.Name, nil), st.Config)); len(d) > 0 {
			b.t.Errorf("stream %s: %v", st.Name, d)
		}
		streams++
		js, err := b.nc[st.Account].JetStream()
		if err != nil {
			b.t.Fatal(err)
		}
		for name := range js.ConsumerNames(st.Name) {
			consumer := one(b.t, declared, st.Account, st.Name, name)
			if d := texts(consumer.Diff(b.must(st.Account, "CONSUMER.INFO."+st.Name+"."+name, nil))); len(d) > 0 {
				b.t.Errorf("consumer %s/%s: %v", st.Name, name, d)
			}
			consumers++
		}
	}
	if want := len(declared.Durables) + 7; streams != len(declared.Streams) || consumers != want {
		b.t.Errorf("compared %d streams and %d consumers, want %d and %d", streams, consumers, len(declared.Streams), want)
	}
}

// ephemerals are made by whoever uses them, and told from a durable of the same name.
func (b *broker) ephemerals(declared *shape.Space) {
	for _, c := range []struct{ account, stream, name, filter string }{
		{"space", "CHAT_main", "chathist_" + owner + "-ann-" + uid, "cotal.main.chat.*.*.team"},
		{"authority", "KV_cotal_auth_main", "cotal-ledger-scan", "$KV.cotal_auth_main.>"},
	} {
		scan := one(b.t, declared, c.account, c.stream, c.name)
		config := map[string]any{"name": c.name, "filter_subject": c.filter, "ack_policy": "none", "deliver_policy": "all", "mem_storage": true,
			"inactive_threshold": int64(60e9), "max_deliver": -1}
		if d := texts(scan.Diff(b.consumer(c.account, c.stream, config))); len(d) > 0 {
			b.t.Errorf("%s: %v", c.name, d)
		}
		want := []string{`durable_name: "` + c.name + `" → unset`}
		if d := cmp.Diff(want, texts(scan.Diff(b.consumer(c.account, c.stream, edited(config, map[string]any{"durable_name": c.name}))))); d != "" {
			b.t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func (b *broker) consumerEdits(declared *shape.Space) {
	const account, stream = "space", "DM_main"
	dm := one(b.t, declared, account, stream, "dm_"+owner+"-ann-"+uid)
	held := b.must(account, "CONSUMER.INFO."+stream+"."+dm.Name, nil)
	for what, e := range map[string]oneEdit{
		"nothing":             {nil, []string{}},
		"a later start":       {map[string]any{"opt_start_seq": 9}, []string{}},
		"metadata":            {map[string]any{"metadata": map[string]any{"x": "y"}}, []string{}},
		"from the beginning":  {map[string]any{"deliver_policy": "all", "opt_start_seq": nil}, []string{`deliver_policy: "all" → "by_start_sequence"`}},
		"from a time":         {map[string]any{"deliver_policy": "by_start_time", "opt_start_seq": nil, "opt_start_time": "2026-01-01T00:00:00Z"}, []string{`deliver_policy: "by_start_time" → "by_start_sequence"`, `opt_start_time: "2026-01-01T00:00:00Z" → unset`}},
		"push":                {map[string]any{"deliver_subject": "x", "max_waiting": nil}, []string{`deliver_subject: "x" → unset`}},
		"several filters":     {map[string]any{"filter_subject": nil, "filter_subjects": []string{"cotal.main.inst.a.>", "cotal.main.inst.b.>"}}, []string{`filter_subject: unset → "cotal.main.inst.` + owner + `.ann.>"`, `filter_subjects: ["cotal.main.inst.a.>","cotal.main.inst.b.>"] → unset`}},
		"another filter":      {map[string]any{"filter_subject": "cotal.main.inst.>"}, []string{`filter_subject: "cotal.main.inst.>" → "cotal.main.inst.` + owner + `.ann.>"`}},
		"no filter":           {map[string]any{"filter_subject": nil}, []string{`filter_subject: unset → "cotal.main.inst.` + owner + `.ann.>"`}},
		"a ceiling":           {map[string]any{"max_deliver": 5}, []string{`max_deliver: 5 → -1`}},
		"headers only":        {map[string]any{"headers_only": true}, []string{`headers_only: true → false`}},
		"paused":              {map[string]any{"pause_until": "2099-01-01T00:00:00Z"}, []string{`pause_until: "2099-01-01T00:00:00Z" → unset`}},
		"backoff":             {map[string]any{"max_deliver": 5, "backoff": []int64{60e9, 120e9}}, []string{`backoff: [60000000000,120000000000] → unset`, `max_deliver: 5 → -1`}},
		"another wait":        {map[string]any{"ack_wait": int64(5e9)}, []string{`ack_wait: 5s → 1m0s`}},
		"no acknowledgements": {map[string]any{"ack_policy": "none"}, []string{`ack_policy: "none" → "explicit"`}},
		"all acknowledged":    {map[string]any{"ack_policy": "all"}, []string{`ack_policy: "all" → "explicit"`}},
		"in memory":           {map[string]any{"mem_storage": true}, []string{`mem_storage: true → false`}},
		"ends by itself":      {map[string]any{"inactive_threshold": int64(60e9)}, []string{`inactive_threshold: 1m0s → 0s`}},
		"fewer at a time":     {map[string]any{"max_ack_pending": 1}, []string{`max_ack_pending: 1 → 1000`}},
		"ephemeral":           {map[string]any{"durable_name": nil, "inactive_threshold": int64(60e9)}, []string{`durable_name: unset → "` + dm.Name + `"`, `inactive_threshold: 1m0s → 0s`}},
		"sampled":             {map[string]any{"sample_freq": "100%"}, []string{`sample_freq: "100%" → unset`}},
		"replayed":            {map[string]any{"replay_policy": "original"}, []string{`replay_policy: "original" → "instant"`}},
		"pinned":              {map[string]any{"priority_groups": []string{"g"}, "priority_policy": "overflow"}, []string{`priority_groups: ["g"] → unset`, `priority_policy: "overflow" → unset`}},
		"described":           {map[string]any{"description": "mine"}, []string{`description: "mine" → unset`}},
	} {
		got := texts(dm.Diff(b.consumer(account, stream, edited(held, e.changes))))
		if d := cmp.Diff(e.want, got); d != "" {
			b.t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
}

func (b *broker) streamEdits(declared *shape.Space) {
	var chat shape.Stream
	for _, st := range declared.Streams {
		if st.ID == "CHAT" {
			chat = st
		}
	}
	for what, e := range map[string]oneEdit{
		"nothing":         {nil, []string{}},
		"more subjects":   {map[string]any{"subjects": []string{"cotal.main.chat.>", "x"}}, []string{`subjects: ["cotal.main.chat.>","x"] → ["cotal.main.chat.>"]`}},
		"an age":          {map[string]any{"max_age": int64(3600e9)}, []string{`max_age: 1h0m0s → 0s`}},
		"a bound":         {map[string]any{"max_msgs": 5}, []string{`max_msgs: 5 → -1`}},
		"per subject":     {map[string]any{"max_msgs_per_subject": 1}, []string{`max_msgs_per_subject: 1 → 1000`}},
		"deletion":        {map[string]any{"deny_delete": false}, []string{`deny_delete: false → true`}},
		"roll-up":         {map[string]any{"allow_rollup_hdrs": true}, []string{`allow_rollup_hdrs: true → false`}},
		"republishing":    {map[string]any{"republish": map[string]any{"src": "cotal.main.chat.>", "dest": "y.>"}}, []string{`republish: {"dest":"y.>","src":"cotal.main.chat.>"} → unset`}},
		"a source":        {map[string]any{"sources": []any{map[string]any{"name": "DM_main"}}}, []string{`sources: [{"name":"DM_main"}] → unset`}},
		"a transform":     {map[string]any{"subject_transform": map[string]any{"src": "cotal.main.chat.>", "dest": "cotal.main.chat.x.>"}}, []string{`subject_transform: {"dest":"cotal.main.chat.x.>","src":"cotal.main.chat.>"} → unset`}},
		"in memory":       {map[string]any{"storage": "memory"}, []string{`storage: "memory" → "file"`}},
		"interest":        {map[string]any{"retention": "interest"}, []string{`retention: "interest" → "limits"`}},
		"discards new":    {map[string]any{"discard": "new"}, []string{`discard: "new" → "old"`}},
		"no answers":      {map[string]any{"no_ack": true}, []string{`no_ack: true → false`}},
		"no direct gets":  {map[string]any{"allow_direct": false}, []string{`allow_direct: false → true`}},
		"duplicates":      {map[string]any{"duplicate_window": int64(1e9)}, []string{`duplicate_window: 1s → 2m0s`}},
		"consumer limits": {map[string]any{"consumer_limits": map[string]any{"max_ack_pending": 7}}, []string{`consumer_limits: {"max_ack_pending":7} → unset`}},
		"other metadata":  {map[string]any{"metadata": map[string]any{"x": "y"}}, []string{`metadata: {"x":"y"} → unset`}},
		"schedules":       {map[string]any{"allow_msg_schedules": true}, []string{`allow_msg_schedules: true → false`, `allow_rollup_hdrs: true → false`}},
	} {
		b.must(chat.Account, "STREAM.DELETE."+chat.Name, nil)
		b.must(chat.Account, "STREAM.CREATE."+chat.Name, edited(chat.Config, e.changes))
		got := texts(shape.Diff(b.must(chat.Account, "STREAM.INFO."+chat.Name, nil), chat.Config))
		if d := cmp.Diff(e.want, got); d != "" {
			b.t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
}
