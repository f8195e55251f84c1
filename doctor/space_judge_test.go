package doctor_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/shape"
	"github.com/cotalctl/cotalctl/matrix"
)

// spaceChecks are the checks that the faults here make fire.
var spaceChecks = map[string]bool{"D011": true, "D030": true, "D031": true, "D032": true, "D033": true, "D034": true, "D035": true, "D036": true,
	"D037": true, "D040": true}

// TestRecordSpace records a space of two accounts on three servers, with a principal at work.
func TestRecordSpace(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	s := newSite(t, "split", 3)
	s.Provision(t, "principal", map[string]any{"owner": owner, "actor": "ann", "uid": uid, "role": "builder"})
	o := s.inspectors()
	o.Identify = true
	var b bytes.Buffer
	if err := gather(t, s.doctor, o).Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "space.json"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// declaredSpace is what the contract declares for the recorded space.
var declaredSpace = sync.OnceValues(func() (*shape.Space, error) {
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		return nil, err
	}
	topology, _ := c.Topology("split")
	return shape.Declare(c, topology, "main", 3)
})

// recordedSpace is what TestRecordSpace saw, and what is expected of it.
func recordedSpace(t testing.TB) (*doctor.Snapshot, doctor.Expect) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "space.json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := doctor.ReadSnapshot(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	e := doctor.Expect{Servers: 3, Keys: map[string]string{}, Proof: true}
	if e.Shape, err = declaredSpace(); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.Accounts {
		e.Keys[a.Name] = a.Key
	}
	return s, e
}

// snapshot is a recorded one that a fault edits.
type snapshot struct {
	*doctor.Snapshot
	e *doctor.Expect
}

func (s snapshot) account(name string) *doctor.AccountView {
	return &s.Accounts[slices.IndexFunc(s.Accounts, func(a doctor.AccountView) bool { return a.Name == name })]
}

// copies calls edit for the copy of a stream on every server, with the server's name.
func (s snapshot) copies(account, stream string, edit func(server string, st *doctor.Stream)) {
	for _, a := range s.account(account).Streams.Answers {
		for i := range a.Data.Streams {
			if a.Data.Streams[i].Name == stream {
				edit(a.Server.Name, &a.Data.Streams[i])
			}
		}
	}
}

// leader makes a server the leader of a stream by the word of all, with replicas that are fit.
func (s snapshot) leader(account, stream, name string) {
	s.copies(account, stream, func(server string, st *doctor.Stream) {
		st.Group = &doctor.Group{Leader: name}
		for _, other := range []string{"n1", "n2", "n3"} {
			if other != server {
				st.Group.Replicas = append(st.Group.Replicas, doctor.Replica{Name: other, Current: server == name})
			}
		}
	})
}

// drop takes a stream away everywhere.
func (s snapshot) drop(account, stream string) {
	view := s.account(account)
	for _, a := range view.Streams.Answers {
		a.Data.Streams = slices.DeleteFunc(a.Data.Streams, func(st doctor.Stream) bool { return st.Name == stream })
	}
	for _, a := range view.Consumers.Answers {
		a.Data.Streams = slices.DeleteFunc(a.Data.Streams, func(st doctor.StreamConsumers) bool { return st.Stream == stream })
	}
	for i := range view.Inspection.Streams {
		if in := &view.Inspection.Streams[i]; in.Stream == stream {
			in.Data, in.Consumers, in.Error = nil, nil, &doctor.APIError{Code: 10059, Description: "stream not found"}
		}
	}
}

func (s snapshot) inspected(account, stream string) *doctor.Inspected {
	in := s.account(account).Inspection
	return &in.Streams[slices.IndexFunc(in.Streams, func(i doctor.Inspected) bool { return i.Stream == stream })]
}

func (s snapshot) consumer(account, stream, name string) *doctor.Consumer {
	in := s.inspected(account, stream)
	return &in.Consumers[slices.IndexFunc(in.Consumers, func(c doctor.Consumer) bool { return c.Name == name })]
}

// gone takes a server away, as lose does, with what it said of the accounts.
func (s snapshot) gone(name string) {
	lose(s.Snapshot, name)
	for i := range s.Accounts {
		s.Accounts[i].Streams.Answers = without(s.Accounts[i].Streams.Answers, name)
		s.Accounts[i].Consumers.Answers = without(s.Accounts[i].Consumers.Answers, name)
	}
	s.Identities = slices.DeleteFunc(s.Identities, func(id doctor.Identity) bool { return id.Found.Name == name })
}

// spaceJudgement is one edit of the recorded space, and everything in its report that is no pass.
type spaceJudgement struct {
	name string
	edit func(s snapshot)
	want []string // nil: skips of some kind
}

// says is what some row of a judgement says.
var says = map[string]string{
	"a server gone":                 "n3 has not answered",
	"no grant":                      "no grant",
	"endless":                       "cut off",
	"another space's accounts":      "does not look into the account",
	"an answer for another account": "n1 answers for another account",
	"a durable not told":            "2 did not answer",
}

// accounts is a row for every account, with the account's name behind it.
func accounts(row string, names ...string) []string {
	var out []string
	for _, n := range names {
		out = append(out, row+" account "+n)
	}
	return out
}

// all are rows of skips on every account that a check lists, where some server was not heard.
func all(ids ...string) []string {
	var out []string
	for _, id := range ids {
		names := []string{"authority", "space"} // nothing is declared in the third one
		switch id {
		case "D011":
			names = names[:1]
		case "D033", "D036":
			names = []string{"authority", "callout", "space"}
		}
		out = append(out, accounts("skip "+id+" -", names...)...)
	}
	return out
}

// perServer are the skips of the checks that look at every server.
func onServer(name string) []string {
	var out []string
	for _, id := range perServer {
		out = append(out, "skip "+id+" "+name+" ")
	}
	return out
}

// space are skips on the account space.
func space(ids ...string) []string {
	var out []string
	for _, id := range ids {
		out = append(out, "skip "+id+" - account space")
	}
	return out
}

func spaceJudgements() []spaceJudgement {
	return slices.Concat(streamJudgements(), replicaJudgements(), consumerJudgements(), blindJudgements(), proofJudgements())
}

func streamJudgements() []spaceJudgement {
	return []spaceJudgement{
		{"healthy", func(snapshot) {}, []string{}},
		{"schedules off", func(s snapshot) {
			s.leader("authority", "EPT_main", "n2")
			s.copies("authority", "EPT_main", func(_ string, st *doctor.Stream) { delete(st.Config, "allow_msg_schedules") })
		}, []string{"fail D011 n2 stream EPT_main"}},
		{"an API level below the schedules'", func(s snapshot) { s.Varz.Answers[1].Data.JetStream.APILevel = 1 }, []string{"fail D011 n2 stream EPT_main"}},
		{"a stream absent", func(s snapshot) { s.drop("authority", "EPF_main") }, []string{"fail D030 - stream EPF_main"}},
		{"the stream of schedules absent", func(s snapshot) { s.drop("authority", "EPT_main") },
			[]string{"skip D011 - stream EPT_main", "fail D030 - stream EPT_main"}},
		{"a setting of the leader's", func(s snapshot) {
			s.leader("authority", "EPF_main", "n3")
			s.copies("authority", "EPF_main", func(_ string, st *doctor.Stream) { st.Config["max_age"] = json.Number("3600000000000") })
		}, []string{"fail D031 n3 stream EPF_main"}},
		{"fewer replicas", func(s snapshot) {
			s.leader("authority", "EPF_main", "n3")
			s.copies("authority", "EPF_main", func(_ string, st *doctor.Stream) { st.Config["num_replicas"] = json.Number("1") })
		}, []string{"fail D031 n3 stream EPF_main"}},
		{"a stale copy", func(s snapshot) {
			s.leader("authority", "EPF_main", "n3")
			s.copies("authority", "EPF_main", func(server string, st *doctor.Stream) {
				if server == "n1" {
					st.Config["subjects"] = []any{"other.>"}
				}
			})
		}, []string{"fail D031 n1 stream EPF_main"}},
		{"an undeclared stream", func(s snapshot) {
			d := s.account("callout").Streams.Answers[1].Data
			d.Streams = append(d.Streams, doctor.Stream{Name: "X", Config: shape.Config{"name": "X", "subjects": []any{"$SYS.>"}}})
		}, []string{"fail D033 n2 stream X"}},
	}
}

func replicaJudgements() []spaceJudgement {
	replica := func(edit func(r *doctor.Replica)) func(s snapshot) {
		return func(s snapshot) {
			s.leader("space", "CHAT_main", "n1")
			s.copies("space", "CHAT_main", func(server string, st *doctor.Stream) {
				if server == "n1" {
					edit(&st.Group.Replicas[1])
				}
			})
		}
	}
	bad := []string{"fail D032 n1 stream CHAT_main"}
	return []spaceJudgement{
		{"no leader", func(s snapshot) {
			s.copies("space", "EPJ_main", func(_ string, st *doctor.Stream) { st.Group.Leader = "" })
			s.inspected("space", "EPJ_main").Data = nil
		}, []string{"fail D032 - stream EPJ_main"}},
		{"a leader that does not lead", func(s snapshot) {
			s.copies("space", "EPJ_main", func(server string, st *doctor.Stream) {
				st.Group.Leader = map[string]string{"n1": "n2", "n2": "n1", "n3": "n1"}[server]
			})
			s.inspected("space", "EPJ_main").Data = nil
		}, []string{"skip D032 - account space"}},
		{"offline", func(s snapshot) {
			s.drop("space", "EPJ_main")
			s.inspected("space", "EPJ_main").Error = &doctor.APIError{Code: 10194, Description: "stream is offline: unsupported"}
		}, append([]string{"fail D032 - stream EPJ_main"}, space("D034", "D035", "D036", "D037")...)},
		{"offline, with copies", func(s snapshot) {
			s.copies("authority", "EPT_main", func(_ string, st *doctor.Stream) { st.Config = shape.Config{"name": "EPT_main"} })
			in := s.inspected("authority", "EPT_main")
			in.Data, in.Error, in.Partial = nil, &doctor.APIError{Code: 10194, Description: "stream is offline: unsupported"}, "offline"
		}, []string{"skip D011 - stream EPT_main", "fail D032 - stream EPT_main", "skip D034 - account authority", "skip D035 - account authority",
			"skip D036 - account authority", "skip D037 - account authority"}},
		{"an offline replica", replica(func(r *doctor.Replica) { r.Offline, r.Current = true, false }), bad},
		{"a lagging replica", replica(func(r *doctor.Replica) { r.Lag, r.Current = 1001, false }), bad},
		{"a silent replica", replica(func(r *doctor.Replica) { r.Active, r.Current = time.Minute, false }), bad},
		{"a replica at work", replica(func(r *doctor.Replica) { r.Lag, r.Current, r.Active = 1000, false, time.Second }), []string{}},
		{"a replica that its leader never heard", replica(func(r *doctor.Replica) { r.Current, r.Active = false, 0 }),
			[]string{"skip D032 - account space"}},
		{"a replica too few", func(s snapshot) {
			s.leader("space", "CHAT_main", "n1")
			s.copies("space", "CHAT_main", func(_ string, st *doctor.Stream) { st.Group.Replicas = st.Group.Replicas[:1] })
		}, bad},
		{"a leader alone", func(s snapshot) { // a follower's view of the others proves nothing
			s.leader("space", "CHAT_main", "n1")
			s.copies("space", "CHAT_main", func(server string, st *doctor.Stream) {
				if server != "n1" {
					st.Group.Replicas[1].Offline, st.Group.Replicas[1].Lag = true, 1<<20
				}
			})
		}, []string{}},
	}
}

func consumerJudgements() []spaceJudgement {
	add := func(account, stream string, config shape.Config) func(s snapshot) {
		return func(s snapshot) {
			in := s.inspected(account, stream)
			in.Consumers = append(in.Consumers, doctor.Consumer{Name: "x", Config: config})
		}
	}
	fanout := func(edit func(c *doctor.Consumer)) func(s snapshot) {
		return func(s snapshot) { edit(s.consumer("space", "CHAT_main", "fanout")) }
	}
	const stray = " - consumer CHAT_main/x"
	return []spaceJudgement{
		{"a durable absent", func(s snapshot) { s.inspected("space", "CHAT_main").Consumers = nil }, []string{"fail D034 - consumer CHAT_main/fanout"}},
		{"a ceiling", fanout(func(c *doctor.Consumer) { c.Config["max_deliver"] = json.Number("3") }), []string{"fail D034 - consumer CHAT_main/fanout"}},
		{"a principal's durable with another filter", func(s snapshot) {
			s.consumer("space", "DM_main", "dm_"+owner+"-ann-"+uid).Config["filter_subject"] = "cotal.main.inst.>"
		}, []string{"fail D034 - consumer DM_main/dm_" + owner + "-ann-" + uid}},
		{"an undeclared durable", add("space", "CHAT_main", shape.Config{"durable_name": "x"}), []string{"fail D035" + stray}},
		{"an ephemeral where names are free", add("space", "CHAT_main", shape.Config{}), []string{}},
		{"an ephemeral where they are not", add("space", "EPJ_main", shape.Config{}), []string{"fail D035 - consumer EPJ_main/x"}},
		{"a watch", add("space", "CHAT_main", shape.Config{"deliver_subject": "_INBOX_x.y"}), []string{}},
		{"a watch that delivers elsewhere", add("space", "CHAT_main", shape.Config{"deliver_subject": "y"}), []string{"fail D036" + stray}},
		{"a durable that pushes", add("space", "CHAT_main", shape.Config{"durable_name": "x", "deliver_subject": "_INBOX.y"}),
			[]string{"fail D036" + stray}},
		{"a declared durable that pushes", fanout(func(c *doctor.Consumer) { c.Config["deliver_subject"] = "y" }),
			[]string{"fail D036 - consumer CHAT_main/fanout"}},
		{"a durable without a leader", fanout(func(c *doctor.Consumer) { c.Group.Leader = "" }), []string{"fail D037 - consumer CHAT_main/fanout"}},
		{"a lagging durable", fanout(func(c *doctor.Consumer) { c.Group.Replicas[0].Lag = 1001 }), []string{"fail D037 - consumer CHAT_main/fanout"}},
		{"a consumer that only a server shows", func(s snapshot) {
			d := s.account("authority").Consumers.Answers[2].Data
			x := []doctor.Consumer{{Name: "x", Config: shape.Config{}}}
			d.Streams = append(d.Streams, doctor.StreamConsumers{Stream: "KV_cotal_auth_main", Consumers: x})
		}, []string{"fail D035 n3 consumer KV_cotal_auth_main/x"}},
	}
}

func blindJudgements() []spaceJudgement {
	after := all("D011", "D031", "D032", "D033", "D034", "D035", "D036", "D037")
	return []spaceJudgement{
		{"a server gone", func(s snapshot) {
			s.leader("space", "CHAT_main", "n1")
			s.copies("space", "CHAT_main", func(_ string, st *doctor.Stream) { st.Group.Replicas[1].Offline = true })
			s.gone("n3")
		}, slices.Concat([]string{"fail D001 - "}, after)},
		{"a server gone, with the only copy", func(s snapshot) {
			s.gone("n3")
			s.drop("authority", "EPF_main")
		}, slices.Concat([]string{"fail D001 - "}, all("D011"), []string{"skip D030 - stream EPF_main"}, after[1:])},
		{"JetStream off on one", func(s snapshot) {
			s.Varz.Answers[1].Data.JetStream = nil
			for i := range s.Accounts {
				*s.Accounts[i].Streams.Answers[1].Data = doctor.Jsz{Disabled: true}
				if a := &s.Accounts[i].Consumers; len(a.Answers) > 0 {
					*a.Answers[1].Data = doctor.Consumerz{Disabled: true}
				}
			}
			s.leader("space", "CHAT_main", "n1")
			s.copies("space", "CHAT_main", func(_ string, st *doctor.Stream) { st.Group.Replicas[0].Offline = true })
		}, slices.Concat([]string{"fail D006 n2 "}, after)},
		{"no answer of one about an account", func(s snapshot) {
			a := s.account("callout")
			a.Streams.Answers = without(a.Streams.Answers, "n2")
		}, append(accounts("skip D033 -", "callout"), accounts("skip D036 -", "callout")...)},
		{"an answer for another account", func(s snapshot) {
			s.account("space").Streams.Answers[0].Data.Account = "AX"
		}, nil},
		{"another space's accounts", func(s snapshot) { s.e.Keys["space"] = "AX" }, nil},
		{"a second, differing answer about an account", func(s snapshot) {
			a := s.account("space")
			twin, data := a.Streams.Answers[1], *a.Streams.Answers[1].Data
			data.Streams = nil
			twin.Data = &data
			a.Streams.Answers = append(a.Streams.Answers, twin)
		}, inOrder(slices.Concat([]string{"fail D001 - "}, onServer("n2"), after))},
		{"a malformed answer about an account", func(s snapshot) {
			a := &s.account("space").Streams.Answers[1]
			a.Data, a.Malformed = nil, &doctor.Malformed{Reason: "not a JSON answer"}
		}, slices.Concat([]string{"fail D001 - "}, space("D031", "D032", "D033", "D034", "D035", "D036", "D037"))},
		{"no grant", func(s snapshot) {
			a := s.account("callout")
			a.Streams.Answers, a.Streams.Refused = nil, "no grant"
		}, nil},
		{"endless", func(s snapshot) { s.account("callout").Streams.Endless = "cut off" }, nil},
		{"a durable not told", func(s snapshot) {
			in := s.inspected("space", "CHAT_main")
			in.Consumers, in.Partial = nil, "2 did not answer"
		}, append([]string{"skip D034 - consumer CHAT_main/fanout"}, space("D034", "D035", "D036", "D037")...)},
		{"consumers not all told", func(s snapshot) {
			s.inspected("space", "CHAT_main").Partial = "2 did not answer"
		}, space("D034", "D035", "D036", "D037")},
	}
}

func proofJudgements() []spaceJudgement {
	return []spaceJudgement{
		{"a proof that is required", func(s snapshot) { s.e.SingleServer = true }, []string{"fail D040 - "}},
	}
}

// TestEverySpaceFaultAlone: each edit of the recorded space gives exactly the rows that it should, and every check fires.
func TestEverySpaceFaultAlone(t *testing.T) {
	failed := map[string]bool{}
	for _, f := range spaceJudgements() {
		s, e := recordedSpace(t)
		f.edit(snapshot{s, &e})
		r := judgeSpace(s, e)
		got := spaceRows(r)
		if f.want != nil {
			if d := cmp.Diff(f.want, got); d != "" {
				t.Errorf("%s: %s", f.name, d)
			}
		} else if len(got) == 0 || r.Count(doctor.Fail) > 0 {
			t.Errorf("%s: got %v, want skips", f.name, got)
		}
		said := says[f.name] == ""
		for _, c := range r.Checks {
			if c.Status == doctor.Pass {
				continue
			}
			said = said || strings.Contains(c.Got, says[f.name])
			if slices.Contains(got, "fail D001 - ") && c.Status == doctor.Skip && c.Hint != "see D001" {
				t.Errorf("%s: %s says %q to a skip that follows from D001", f.name, c.ID, c.Hint)
			}
			if c.Hint == "" || c.Got == "" || c.Want == "" {
				t.Errorf("%s: %s has an empty column: %+v", f.name, c.ID, c)
			}
			failed[c.ID] = failed[c.ID] || c.Status == doctor.Fail
			if strings.Contains(c.Hint, c.ID) {
				t.Errorf("%s: %s says to see itself", f.name, c.ID)
			}
		}
		if !said {
			t.Errorf("%s: no row says %q: %v", f.name, says[f.name], got)
		}
	}
	for id := range spaceChecks {
		if !failed[id] {
			t.Errorf("%s: no fault makes it fire", id)
		}
	}
}

// TestDurableAtItsBound: a holder that acknowledges nothing more is noted, and is no failure.
func TestDurableAtItsBound(t *testing.T) {
	for pending, noted := range map[int]bool{999: false, 1000: true} {
		s, e := recordedSpace(t)
		c := snapshot{s, &e}.consumer("space", "CHAT_main", "fanout")
		c.Config["max_ack_pending"], c.AckPending = json.Number("1000"), pending
		r := judgeSpace(s, e)
		got := slices.ContainsFunc(r.Checks, func(c doctor.Result) bool {
			return c.ID == "D037" && c.Object == "consumer CHAT_main/fanout" && c.Status == doctor.Pass && c.Hint != ""
		})
		if got != noted || r.ExitCode() != 0 {
			t.Errorf("%d pending: noted %v, exit %d; want %v", pending, got, r.ExitCode(), noted)
		}
	}
}

// inOrder are rows in the order of a report.
func inOrder(rows []string) []string {
	slices.SortStableFunc(rows, func(a, b string) int { return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
	return rows
}

// judgeSpace leaves out what is judged of accounts, which TestEveryFaultAloneIsReported has.
func judgeSpace(s *doctor.Snapshot, e doctor.Expect) *doctor.Report {
	r := doctor.Judge(s, floors, e)
	r.Checks = slices.DeleteFunc(r.Checks, func(c doctor.Result) bool { return c.ID == "D019" || c.ID >= "D021" && c.ID <= "D027" })
	return r
}
