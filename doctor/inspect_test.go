package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// TestInspectionIsPaged: a stream with more consumers than one page of the API holds is told whole.
func TestInspectionIsPaged(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("makes 260 consumers")
	}
	const n = 260
	s := newSite(t, "split", 1)
	h := &hand{site: s, nc: map[string]*spacetest.Holder{}}
	for i := range n {
		h.consumer("presence", fmt.Sprintf("w%03d", i), `{"ack_policy":"none","inactive_threshold":3600000000000}`)
	}
	for name, o := range map[string]doctor.Options{"servers": s.opts, "inspectors": s.inspectors()} {
		r := s.judge(o)
		if d := cmp.Diff([]string{}, spaceRows(r)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		got := []string{}
		for _, c := range r.Checks {
			if c.ID == "D035" && c.Object == "account space" {
				got = append(got, c.Got)
			}
		}
		if d := cmp.Diff([]string{"none; 260 ephemerals under names of client libraries"}, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestInspectorsThatCannotLook: what no inspector tells, the servers are asked for, and the gathering ends in time.
func TestInspectorsThatCannotLook(t *testing.T) {
	s := newSite(t, "single", 1)
	narrow := func(o nats.Option) *nats.Conn {
		var p jwt.Permissions
		p.Pub.Allow.Add("$JS.API.STREAM.INFO.CHAT_main", "$JS.API.CONSUMER.LIST.CHAT_main")
		p.Sub.Allow.Add("_INBOX.>")
		return s.Servers[0].Connect(t, s.Account(t, "space").User(t, p), o)
	}
	allowed, deaf := narrow(nats.Name("")), narrow(nats.CustomInboxPrefix("_OTHER"))
	for _, tt := range []struct {
		name    string
		inspect func(ctx context.Context, a doctor.Account) (*nats.Conn, error)
		why     string // of the inspection, or of DM_main's
	}{
		{"refused", func(context.Context, doctor.Account) (*nats.Conn, error) { return allowed, nil },
			"the broker refuses the publish to $JS.API.STREAM.INFO.DM_main"},
		{"deaf", func(context.Context, doctor.Account) (*nats.Conn, error) { return deaf, nil }, "the broker refuses the subscription to the reply inbox"},
		{"no credential", func(context.Context, doctor.Account) (*nats.Conn, error) { return nil, errors.New("no credential") }, "no credential"},
		{"a dial without end", func(ctx context.Context, _ doctor.Account) (*nats.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "the server did not answer in time"},
	} {
		o := s.opts
		o.Inspect, o.Timeout = tt.inspect, 2*time.Second
		start := time.Now()
		snap := gather(t, s.doctor, o)
		if d := time.Since(start); d > o.Timeout+100*time.Millisecond {
			t.Errorf("%s: took %v", tt.name, d)
		}
		in := snap.Accounts[0].Inspection
		got := in.Error
		for _, st := range in.Streams {
			if st.Stream == "DM_main" {
				got += st.Refused
			}
			if tt.name == "refused" && st.Stream == "CHAT_main" && (st.Data == nil || len(st.Consumers) != 1) {
				t.Errorf("control: CHAT_main was not told: %+v", st)
			}
		}
		if !strings.Contains(got, tt.why) {
			t.Errorf("%s: got %q, want it to say %q", tt.name, got, tt.why)
		}
		if d := cmp.Diff([]string{}, spaceRows(doctor.Judge(snap, floors, s.expect))); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

// TestInspectionWithoutEnd: somebody who answers for JetStream in an account without it never says that a list is whole.
func TestInspectionWithoutEnd(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.JetStream = false })
	forger := s.Connect(t, s.User(t, jwt.Permissions{}))
	page := strings.TrimSuffix(strings.Repeat(`{"name":"x","config":{"durable_name":"x"}},`, 1000), ",")
	if _, err := forger.Subscribe("$JS.API.CONSUMER.LIST.*", func(m *nats.Msg) {
		if err := m.Respond([]byte(`{"total":1000000000,"consumers":[` + page + `]}`)); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := forger.Subscribe("$JS.API.STREAM.INFO.*", func(m *nats.Msg) {
		if err := m.Respond([]byte("hello")); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := forger.Flush(); err != nil {
		t.Fatal(err)
	}
	key := s.Account.PublicKey()
	nc := s.Connect(t, s.User(t, jwt.Permissions{}))
	start := time.Now()
	at := &site{Space: &spacetest.Space{Servers: []*natstest.Server{s}}, t: t}
	snap := gather(t, at.connect(), doctor.Options{Timeout: 2 * time.Second, Servers: 1,
		Accounts: []doctor.Account{{Name: "space", Key: key}}, Streams: map[string][]string{key: {"ONE"}},
		Inspect: func(context.Context, doctor.Account) (*nats.Conn, error) { return nc, nil }})
	if d := time.Since(start); d > 2100*time.Millisecond {
		t.Errorf("took %v", d)
	}
	in := snap.Accounts[0].Inspection.Streams[0]
	if in.Partial == "" || in.Refused != "the answer is not readable" {
		t.Errorf("got partial %q, refused %q", in.Partial, in.Refused)
	}
}

// TestAccountAnswersThatDoNotCount: a credential without the grant, a garbled answer about an account, and one for a server that has
// answered already. Nothing of it is a verdict on the space.
func TestAccountAnswersThatDoNotCount(t *testing.T) {
	s := newSite(t, "single", 1)
	forge := func(body func(m *nats.Msg) string) (undo func()) {
		nc := s.Servers[0].Connect(t, s.Servers[0].System.User(t, jwt.Permissions{}))
		if _, err := nc.Subscribe("$SYS.REQ.SERVER.PING.JSZ", func(m *nats.Msg) {
			if err := m.Respond([]byte(body(m))); err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		return nc.Close
	}
	self := s.Servers[0].ID()
	envelope := func(data string) func(*nats.Msg) string {
		return func(*nats.Msg) string {
			return fmt.Sprintf(`{"server":{"name":"test","id":%q,"ver":"2.15.3"},"data":%s}`, self, data)
		}
	}
	empty := fmt.Sprintf(`{"server_id":%q}`, self)
	for _, tt := range []struct {
		name   string
		nc     *nats.Conn
		forged func(*nats.Msg) string
		fails  string // what D001 says, or ""
	}{
		{"no grant", doctorUser(t, s.Servers[0]), nil, ""},
		{"not JSON", s.doctor, func(*nats.Msg) string { return "hello" }, "a reply of 5 bytes is malformed: not a JSON answer"},
		{"a second answer", s.doctor, envelope(empty), "gave two differing answers"},
		{"of another server", s.doctor, envelope(`{"server_id":"NX"}`), "malformed: JSZ data is of server id"},
		{"two accounts", s.doctor, envelope(fmt.Sprintf(`{"server_id":%q,"account_details":[{"id":"A"},{"id":"B"}]}`, self)), "is of 2 accounts"},
		{"no configuration", s.doctor, envelope(fmt.Sprintf(`{"server_id":%q,"account_details":[{"id":"A","stream_detail":[{"name":"X"}]}]}`, self)),
			"without a configuration"},
	} {
		undo := func() {}
		if tt.forged != nil {
			undo = forge(tt.forged)
		}
		o := s.opts
		o.Timeout = 2 * time.Second
		if tt.forged != nil {
			o.Timeout, o.Servers = 300*time.Millisecond, 2 // so that the forged answer cannot come too late to be seen
		}
		r := doctor.Judge(gather(t, tt.nc, o), floors, s.expect)
		undo()
		d1 := find(t, r, "D001")
		if tt.fails == "" && d1.Status != doctor.Pass || !strings.Contains(d1.Got, tt.fails) {
			t.Errorf("%s: D001 is %s, %q; want it to say %q", tt.name, d1.Status, d1.Got, tt.fails)
		}
		for _, c := range r.Checks {
			switch {
			case c.Status == doctor.Fail && c.ID != "D001":
				t.Errorf("%s: %s fails: %+v", tt.name, c.ID, c)
			case c.ID >= "D033" && c.ID <= "D037" && c.Status != doctor.Skip && tt.name != "not JSON": // that one is of no server
				t.Errorf("%s: %s %s is a %s, want a skip: %s", tt.name, c.ID, c.Object, c.Status, c.Got)
			}
		}
	}
}
