package doctor_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// A principal of the tests.
const owner, uid = "u_abcdefghijklmnopqrstuvwxyz", "a1b2c3d4e5f6g7h8i9j0k1l2m3"

// hand changes a space as nobody may: as an allow-all user of an account.
type hand struct {
	*site
	nc map[string]*spacetest.Holder
}

// api asks the JetStream API in the account of a resource, and returns the configuration in the answer.
func (h *hand) api(resource, tail string, body any) map[string]any {
	h.t.Helper()
	account := h.Home(h.t, resource)
	if h.nc[account] == nil {
		h.nc[account] = h.Unlimited(h.t, account)
	}
	var out struct {
		Config map[string]any `json:"config"`
	}
	h.nc[account].API(tail, body, &out)
	return out.Config
}

// edit changes settings of a resource's stream, and returns what puts them back.
func (h *hand) edit(resource string, changes map[string]any) (undo func()) {
	h.t.Helper()
	name := h.Stream(h.t, resource)
	before := h.api(resource, "STREAM.INFO."+name, nil)
	after := map[string]any{}
	for _, from := range []map[string]any{before, changes} {
		for k, v := range from {
			after[k] = v
		}
	}
	h.api(resource, "STREAM.UPDATE."+name, after)
	return func() { h.api(resource, "STREAM.UPDATE."+name, before) }
}

// consumer makes a consumer on a resource's stream, and returns what deletes it.
func (h *hand) consumer(resource, name, config string) (undo func()) {
	h.t.Helper()
	stream := h.Stream(h.t, resource)
	h.api(resource, "CONSUMER.CREATE."+stream+"."+name, map[string]any{"stream_name": stream, "config": json.RawMessage(config)})
	return func() { h.api(resource, "CONSUMER.DELETE."+stream+"."+name, nil) }
}

// provision puts back what the contract declares.
func (h *hand) provision() {
	h.t.Helper()
	if err := h.Plan(h.t).Apply(h.t.Context(), nil); err != nil {
		h.t.Fatal(err)
	}
}

// spaceFault is one change of a live space on the server "test", and everything that is then no pass.
type spaceFault struct {
	name string
	do   func(h *hand) (undo func())
	want []string
}

func liveFaults() []spaceFault {
	return []spaceFault{
		{"none", func(*hand) func() { return func() {} }, []string{}},
		{"edited stream setting", func(h *hand) func() { return h.edit("CHAT", map[string]any{"max_msgs": 5}) },
			[]string{"fail D031 test stream CHAT_main"}},
		{"a protected setting", func(h *hand) func() { return h.edit("EPF", map[string]any{"max_msgs": 9}) },
			[]string{"fail D031 test stream EPF_main"}},
		{"a republish", func(h *hand) func() {
			return h.edit("CHAT", map[string]any{"republish": map[string]any{"src": ">", "dest": "copy.>"}})
		}, []string{"fail D031 test stream CHAT_main"}},
		{"a stray push durable", func(h *hand) func() {
			return h.consumer("EPF", "stray", `{"durable_name":"stray","ack_policy":"none","deliver_subject":"elsewhere"}`)
		}, []string{"fail D036 test consumer EPF_main/stray"}},
		{"a stray push ephemeral to an inbox", func(h *hand) func() {
			return h.consumer("EPF", "stray", `{"ack_policy":"none","deliver_subject":"_INBOX.x.y","inactive_threshold":3600000000000}`)
		}, []string{"fail D036 test consumer EPF_main/stray"}},
		{"a watch that delivers elsewhere", func(h *hand) func() {
			return h.consumer("presence", "stray", `{"ack_policy":"none","deliver_subject":"elsewhere","inactive_threshold":3600000000000}`)
		}, []string{"fail D036 test consumer KV_cotal_presence_main/stray"}},
		{"an undeclared durable", func(h *hand) func() {
			return h.consumer("EPJ", "stray", `{"durable_name":"stray","ack_policy":"explicit"}`)
		}, []string{"fail D035 test consumer EPJ_main/stray"}},
		{"an undeclared durable where names are free", func(h *hand) func() {
			return h.consumer("presence", "stray", `{"durable_name":"stray","ack_policy":"explicit"}`)
		}, []string{"fail D035 test consumer KV_cotal_presence_main/stray"}},
		{"an undeclared ephemeral", func(h *hand) func() {
			return h.consumer("EPJ", "stray", `{"ack_policy":"none","inactive_threshold":3600000000000}`)
		}, []string{"fail D035 test consumer EPJ_main/stray"}},
		{"a deleted durable", func(h *hand) func() {
			h.api("CHAT", "CONSUMER.DELETE.CHAT_main.fanout", nil)
			return h.provision
		}, []string{"fail D034 - consumer CHAT_main/fanout"}},
		{"a durable with a ceiling", func(h *hand) func() {
			h.api("CHAT", "CONSUMER.DELETE.CHAT_main.fanout", nil)
			h.consumer("CHAT", "fanout.cotal.main.chat.>",
				`{"name":"fanout","durable_name":"fanout","ack_policy":"explicit","filter_subject":"cotal.main.chat.>","max_deliver":5}`)
			return func() {
				h.api("CHAT", "CONSUMER.DELETE.CHAT_main.fanout", nil)
				h.provision()
			}
		}, []string{"fail D034 test consumer CHAT_main/fanout"}},
		{"a deleted stream", func(h *hand) func() {
			h.api("TASK", "STREAM.DELETE.TASK_main", nil)
			return h.provision
		}, []string{"fail D030 - stream TASK_main"}},
		{"a deleted stream with a durable", func(h *hand) func() {
			h.api("INBOX", "STREAM.DELETE.INBOX_main", nil)
			return h.provision
		}, []string{"fail D030 - stream INBOX_main", "skip D034 - consumer INBOX_main/reader"}},
		{"a deleted bucket", func(h *hand) func() {
			h.api("records", "STREAM.DELETE.KV_cotal_records_main", nil)
			return h.provision
		}, []string{"fail D030 - stream KV_cotal_records_main"}},
		{"an undeclared stream", func(h *hand) func() {
			h.api("CHAT", "STREAM.CREATE.STRAY", map[string]any{"name": "STRAY", "subjects": []string{"stray.>"}})
			return func() { h.api("CHAT", "STREAM.DELETE.STRAY", nil) }
		}, []string{"fail D033 test stream STRAY"}},
		{"a mirror that nobody declared", func(h *hand) func() {
			h.api("records", "STREAM.CREATE.STRAY", map[string]any{"name": "STRAY", "mirror": map[string]any{"name": "KV_cotal_records_main"}})
			return func() { h.api("records", "STREAM.DELETE.STRAY", nil) }
		}, []string{"fail D033 test stream STRAY"}},
	}
}

// TestLiveSpaceFaults: each fault alone is the only failure, whether the servers tell of consumers or the inspectors see them.
func TestLiveSpaceFaults(t *testing.T) {
	t.Parallel()
	s := newSite(t, "split", 1)
	h := &hand{site: s, nc: map[string]*spacetest.Holder{}}
	for _, f := range liveFaults() {
		undo := f.do(h)
		for name, o := range map[string]doctor.Options{"servers": s.opts, "inspectors": s.inspectors()} {
			want := append([]string{}, f.want...)
			got := spaceRows(s.judge(o))
			if name == "inspectors" { // whom a consumer's leader tells, and no server
				want, got = noServers(want), noServers(got)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (%s): %s", f.name, name, d)
			}
		}
		undo()
	}
	if d := cmp.Diff([]string{}, spaceRows(s.judge(s.opts))); d != "" {
		t.Errorf("after all: %s", d)
	}
}

// TestConnectedHolders: what a healthy space has while agents and hosts are at work is no failure.
func TestConnectedHolders(t *testing.T) {
	t.Parallel()
	s := newSite(t, "split", 1)
	s.Provision(t, "principal", map[string]any{"owner": owner, "actor": "ann", "uid": uid, "role": "builder"})
	agent := s.Open(t, "agent", map[string]any{"owner": owner, "actor": "ann", "uid": uid, "role": "builder", "connId": uid,
		"allowSubscribe": []any{"team"}, "allowPublish": []any{"team"}})
	js, err := agent.JetStream(nats.MaxWait(spacetest.Patience))
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue("cotal_presence_main")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.WatchAll(); err != nil {
		t.Fatal(err)
	}
	history, filter := "chathist_"+owner+"-ann-"+uid, "cotal.main.chat.*.*.team"
	agent.API("CONSUMER.CREATE.CHAT_main."+history+"."+filter, map[string]any{"stream_name": "CHAT_main", "config": map[string]any{"name": history,
		"filter_subject": filter, "deliver_policy": "all", "ack_policy": "none", "mem_storage": true, "inactive_threshold": spacetest.Patience}}, nil)
	r := s.judge(s.opts)
	if d := cmp.Diff([]string{}, spaceRows(r)); d != "" {
		t.Error(d)
	}
	got := []string{}
	for _, c := range r.Checks {
		if c.ID >= "D034" && c.Object == "account space" {
			got = append(got, c.ID+" "+c.Got)
		}
	}
	want := []string{"D034 6 consumers as declared", "D035 none", "D036 none; 1 watcher of client libraries", "D037 5 durables led and current"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func noServers(in []string) []string {
	out := []string{}
	for _, row := range in {
		var f [4]string
		n := 0
		for i, c := range row {
			if c == ' ' && n < 3 {
				n++
				continue
			}
			f[n] += row[i : i+1]
		}
		out = append(out, f[0]+" "+f[1]+" "+f[3])
	}
	return out
}

// TestLiveClusterFaults: what a lost server takes with it is not a second failure.
func TestLiveClusterFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	s := newSite(t, "split", 3)
	s.expect.Proof = true
	// 1. Healthy, idle and at work.
	for name, o := range map[string]doctor.Options{"servers": s.opts, "inspectors": s.inspectors()} {
		r := s.judge(o)
		if d := cmp.Diff([]string{}, spaceRows(r)); d != "" {
			t.Fatalf("healthy (%s): %s", name, d)
		}
		if got := find(t, r, "D040"); got.Got != "cluster test; 3 servers (n1, n2, n3)" || got.Hint == "" {
			t.Errorf("the proof: got %+v, want a note", got)
		}
	}
	s.busy(t)

	// 2. A consumer of one replica stands on one server of the three, and not on the stream's leader alone: all of them are found.
	h := &hand{site: s, nc: map[string]*spacetest.Holder{}}
	var undo []func()
	want := []string{}
	for i := range 9 {
		name := "stray" + string(rune('1'+i))
		undo = append(undo, h.consumer("EPJ", name, `{"ack_policy":"none","inactive_threshold":3600000000000,"num_replicas":1,"mem_storage":true}`))
		want = append(want, "fail D035 consumer EPJ_main/"+name)
	}
	for name, o := range map[string]doctor.Options{"servers": s.opts, "inspectors": s.inspectors()} {
		if d := cmp.Diff(want, slices.Sorted(slices.Values(noServers(spaceRows(s.judge(o)))))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for _, f := range undo {
		f()
	}

	// 3. A server stops.
	s.Servers[2].Shutdown()
	s.Servers[2].WaitForShutdown()
	awaitMesh(t, s.Servers[:2])
	for name, o := range map[string]doctor.Options{"servers": s.opts, "inspectors": s.inspectors()} {
		o.Timeout = 2 * time.Second
		r := s.judge(o)
		for _, c := range r.Checks {
			switch {
			case c.Status == doctor.Fail && c.ID != "D001":
				t.Errorf("%s, n3 down: %s fails: %+v", name, c.ID, c)
			case c.Status == doctor.Skip && c.Hint != "see D001":
				t.Errorf("%s, n3 down: %s is skipped for another reason: %+v", name, c.ID, c)
			}
		}
		if find(t, r, "D001").Status != doctor.Fail || r.Count(doctor.Skip) == 0 {
			t.Errorf("%s, n3 down: got %v", name, spaceRows(r))
		}
	}
}

// TestLiveJetStreamOff: a server whose JetStream is off takes the replicas on it away, and that is D006's to say.
func TestLiveJetStreamOff(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	s := newSite(t, "split", 3)
	if err := s.Servers[1].DisableJetStream(); err != nil {
		t.Fatal(err)
	}
	r := s.judge(s.opts)
	for _, c := range r.Checks {
		switch {
		case c.Status == doctor.Fail && (c.ID != "D006" || *c.Server != "n2"):
			t.Errorf("%s fails: %+v", c.ID, c)
		case c.Status == doctor.Skip && c.Hint != "see D006":
			t.Errorf("%s is skipped for another reason: %+v", c.ID, c)
		}
	}
	if r.Count(doctor.Fail) != 1 {
		t.Errorf("got %v, want one failure", spaceRows(r))
	}
}

// TestLiveProof: one server alone holds the proof; a leaf node on an account of the space, a gateway and a second server break it.
func TestLiveProof(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a supercluster; TestEverySpaceFaultAlone judges recorded answers")
	}
	s := newSite(t, "single", 1)
	s.expect.SingleServer = true
	if got := find(t, s.judge(s.opts), "D040"); got.Status != doctor.Pass || got.Hint != "" || got.Got != "holds: test alone" {
		t.Errorf("got %+v, want it to hold", got)
	}
	hub := natstest.Start(t, natstest.LeafListener)
	hub.StartLeaf(t, hub.Account, func(o *server.Options) { o.ServerName = "edge" })
	leaf := gather(t, doctorUser(t, hub), doctor.Options{Timeout: time.Second, Servers: 1})
	wide := gather(t, doctorUser(t, natstest.StartSupercluster(t, []natstest.Cluster{{Name: "east", Size: 1}, {Name: "west", Size: 1}})[0][0]),
		doctor.Options{Timeout: 5 * time.Second})
	keys := map[string]string{"space": hub.Account.PublicKey()}
	const broken = "cluster east; cluster west; 2 servers (east1, west1); a gateway on east1; a gateway on west1"
	for _, tt := range []struct {
		name   string
		snap   *doctor.Snapshot
		e      doctor.Expect
		status doctor.Status
		got    string
	}{
		{"a leaf node of the account", leaf, doctor.Expect{Servers: 1, SingleServer: true, Keys: keys}, doctor.Fail,
			"a leaf node connection of test to edge"},
		{"the same, noted", leaf, doctor.Expect{Servers: 1, Proof: true}, doctor.Pass, "a leaf node connection of test to edge"},
		{"a leaf node of another account", leaf, doctor.Expect{Servers: 1, SingleServer: true, Keys: map[string]string{"space": "AX"}}, doctor.Pass,
			"holds: test alone"},
		{"a server that nobody names", leaf, doctor.Expect{Servers: 2, SingleServer: true, Keys: map[string]string{"space": "AX"}}, doctor.Skip,
			"who answered is not proven"},
		{"a supercluster", wide, doctor.Expect{SingleServer: true}, doctor.Fail, broken},
		{"the same, noted", wide, doctor.Expect{Proof: true}, doctor.Pass, broken},
	} {
		got := find(t, doctor.Judge(tt.snap, floors, tt.e), "D040")
		if got.Status != tt.status || got.Got != tt.got {
			t.Errorf("%s: got %+v, want %s %q", tt.name, got, tt.status, tt.got)
		}
	}
}

// busy: while a stream is written to as fast as it takes messages, its replicas are behind by some of them at any moment.
func (s *site) busy(t *testing.T) {
	js, err := s.Unlimited(t, "space").JetStream(nats.PublishAsyncMaxPending(512))
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				done <- n
				return
			default:
			}
			if _, err := js.PublishAsync("cotal.main.chat.a.b.team", make([]byte, 256)); err == nil {
				n++
			}
		}
	}()
	behind := uint64(0)
	for range 20 {
		snap := gather(t, s.doctor, s.opts)
		for _, a := range snap.Accounts {
			for _, answer := range a.Streams.Answers {
				for _, st := range answer.Data.Streams {
					if st.Group.Leader != answer.Server.Name {
						continue
					}
					for _, r := range st.Group.Replicas {
						behind = max(behind, r.Lag)
					}
				}
			}
		}
		if d := cmp.Diff([]string{}, spaceRows(doctor.Judge(snap, floors, s.expect))); d != "" {
			t.Error(d)
		}
	}
	close(stop)
	if n := <-done; n < 100 {
		t.Errorf("published %d messages meanwhile, want at least 100", n)
	} else {
		t.Logf("published %d messages; the most that a replica was behind: %d", n, behind)
	}
}
