package doctor_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// TestForgedInspection: whoever may do everything in an account of the space answers its inspector faster than the broker does, with a list
// that leaves a consumer out, and with the state of a stream that is gone. The servers tell otherwise.
func TestForgedInspection(t *testing.T) {
	s := newSite(t, "split", 1)
	evil := s.Servers[0].Connect(t, s.Account(t, "space").User(t, jwt.Permissions{}))
	record := func(subject string) []byte {
		m, err := evil.Request(subject, nil, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return m.Data
	}
	const list, info = "$JS.API.CONSUMER.LIST.CHAT_main", "$JS.API.STREAM.INFO.TASK_main"
	forged := map[string][]byte{list: record(list), info: record(info)}
	do := func(subject, body string) {
		m, err := evil.Request(subject, []byte(body), 5*time.Second)
		if err != nil || strings.Contains(string(m.Data), `"error"`) {
			t.Fatalf("%s: %s, %v", subject, m.Data, err)
		}
	}
	do("$JS.API.CONSUMER.DURABLE.CREATE.CHAT_main.stray",
		`{"stream_name":"CHAT_main","config":{"durable_name":"stray","ack_policy":"none","deliver_subject":"elsewhere"}}`)
	do("$JS.API.CONSUMER.DELETE.CHAT_main.fanout", "")
	do("$JS.API.STREAM.DELETE.TASK_main", "")
	for subject, body := range forged {
		natstest.Forge(t, evil, subject, func(*nats.Msg) [][]byte { return [][]byte{body} })
	}
	for range 10 { // who answers first is a matter of luck
		rows := spaceRows(s.judge(s.inspectors()))
		for _, id := range []string{"fail D030 ", "fail D034 ", "fail D036 "} {
			if !slices.ContainsFunc(rows, func(row string) bool { return strings.HasPrefix(row, id) }) {
				t.Errorf("got %v, want %s", rows, id)
			}
		}
	}
}

// TestScratchIsNamed: the stream of a killed proof is a failure whose hint says how it goes away.
func TestScratchIsNamed(t *testing.T) {
	s, e := recordedSpace(t)
	streams := &s.Accounts[0].Streams.Answers[0].Data.Streams
	*streams = append(*streams, doctor.Stream{Name: "DOCTOR_main"})
	e.Scratch = "DOCTOR_main"
	if !slices.ContainsFunc(doctor.Judge(s, floors, e).Checks, func(r doctor.Result) bool {
		return r.ID == "D033" && r.Status == doctor.Fail && strings.Contains(r.Hint, "doctor --active once")
	}) {
		t.Error("no failure of D033 with the way out")
	}
}

// TestSnapshotAndMore: what follows a snapshot is not passed over.
func TestSnapshotAndMore(t *testing.T) {
	s, _ := recordedSpace(t)
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	for more, fails := range map[string]bool{"": false, " \n": false, "{}": true, "x": true, b.String(): true} {
		if _, err := doctor.ReadSnapshot(strings.NewReader(b.String() + more)); (err != nil) != fails {
			t.Errorf("%.10q: got %v, want an error %v", more, err, fails)
		}
	}
}
