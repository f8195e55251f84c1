package doctor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// system is an unrestricted system-account connection: it can see each request's inbox, and answer it.
func system(t *testing.T, s *natstest.Server, answer func(nc *nats.Conn, m *nats.Msg)) {
	t.Helper()
	nc := s.Connect(t, s.System.User(t, jwt.Permissions{}))
	if _, err := nc.Subscribe("$SYS.REQ.SERVER.PING.VARZ", func(m *nats.Msg) { answer(nc, m) }); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestForeignAnswers(t *testing.T) {
	forged := func(id, name string, control int) []byte {
		body, err := json.Marshal(map[string]any{
			"server": map[string]any{"id": id, "name": name, "ver": "2.15.3"},
			"data":   map[string]any{"server_id": id, "version": "2.15.3", "now": time.Now(), "max_control_line": control, "max_payload": 1 << 20},
		})
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	cases := []struct {
		name string
		body func(s *natstest.Server) []byte
		want []string
		got  string
	}{
		{"a second, differing answer", func(s *natstest.Server) []byte { return forged(s.ID(), "test", 1<<20) },
			append([]string{"fail D001 -"}, unread("test", "D007", "D020")...), "gave two differing answers"},
		{"a server too many", func(*natstest.Server) []byte { return forged("NFORGED", "other", 1<<20) },
			append([]string{"fail D001 -"}, unread("other", "D007")...),
			"other answered, but no route, gateway or leaf node connection leads to it"},
		{"not JSON", func(*natstest.Server) []byte { return []byte("\x00hello") },
			[]string{"fail D001 -"}, "a reply of 6 bytes is malformed: not a JSON answer"},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			s := natstest.Start(t)
			system(t, s, func(_ *nats.Conn, m *nats.Msg) {
				if err := m.Respond(tt.body(s)); err != nil {
					t.Error(err)
				}
			})
			// Two servers are awaited, so that the forged answer cannot come too late to be seen.
			snap := gather(t, doctorUser(t, s), doctor.Options{Timeout: 300 * time.Millisecond, Servers: 2})
			r := doctor.Judge(snap, floors, doctor.Expect{Servers: 1})
			if diff := cmp.Diff(tt.want, brief(r)); diff != "" {
				t.Error(diff)
			}
			if got := find(t, r, "D001").Got; !strings.Contains(got, tt.got) {
				t.Errorf("got %q, want it to say %q", got, tt.got)
			}
		})
	}
}

// TestLateContradiction: a second answer counts that comes after the set is complete, as the true one does where somebody answers for a
// server that is slower than he is.
func TestLateContradiction(t *testing.T) {
	s := natstest.Start(t)
	system(t, s, func(nc *nats.Conn, m *nats.Msg) {
		time.AfterFunc(50*time.Millisecond, func() {
			_ = nc.Publish(m.Reply, fmt.Appendf(nil, `{"server":{"id":%q,"name":"test","ver":"2.15.3"},"error":{"code":500,"description":"x"}}`, s.ID()))
		})
	})
	// The clock of this gathering says that the answers of the server took a second.
	begun, calls := time.Now(), 0
	now := func() time.Time {
		calls++
		return begun.Add(time.Duration(min(1, calls-1)) * time.Second)
	}
	snap := gather(t, doctorUser(t, s), doctor.Options{Timeout: 5 * time.Second, Servers: 1, Now: now})
	if got := find(t, doctor.Judge(snap, floors, doctor.Expect{Servers: 1}), "D001"); !strings.Contains(got.Got, "gave two differing answers") {
		t.Errorf("got %s %q, want two differing answers", got.Status, got.Got)
	}
}

func TestRepliesThatNeverEnd(t *testing.T) {
	s := natstest.Start(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	system(t, s, func(nc *nats.Conn, m *nats.Msg) {
		defer close(ended)
		for ctx.Err() == nil {
			if nc.Publish(m.Reply, []byte(`{}`)) != nil {
				return
			}
		}
	})
	start := time.Now()
	// One server would be a complete set before the flood starts; with two awaited only a bound can end it.
	snap := gather(t, doctorUser(t, s), doctor.Options{Timeout: 5 * time.Second, Servers: 2})
	took := time.Since(start)
	stop()
	<-ended
	if n := len(snap.Varz.Answers); n == 0 || n > 1<<14 || took > 10*time.Second {
		t.Errorf("kept %d answers in %v", n, took)
	}
	r := doctor.Judge(snap, floors, doctor.Expect{Servers: 1})
	if got := find(t, r, "D001"); got.Status != doctor.Skip || r.ExitCode() != 1 {
		t.Errorf("exit %d, got %s %s", r.ExitCode(), got.Status, got.Got[:min(200, len(got.Got))])
	}
}

func TestConnectionLost(t *testing.T) {
	s := natstest.Start(t)
	nc := doctorUser(t, s)
	system(t, s, func(*nats.Conn, *nats.Msg) { go s.Shutdown() })
	snap := gather(t, nc, doctor.Options{Timeout: time.Minute, Servers: 2})
	if snap.Interrupted == "" {
		t.Error("got no interruption")
	}
	if r := doctor.Judge(snap, floors, doctor.Expect{Servers: 2}); r.ExitCode() != 1 || r.Complete {
		t.Errorf("exit %d: %v", r.ExitCode(), brief(r))
	}
	if _, err := doctor.Gather(t.Context(), nc, doctor.Options{}); err == nil {
		t.Error("gather on a lost connection: got nil, want an error")
	}
}

// TestNamedAddresses: a server at one of several addresses that were given, to which nothing leads from the other, is missed; an address
// where nobody is, or where a server that answered is, is not.
func TestNamedAddresses(t *testing.T) {
	s, other := natstest.Start(t), natstest.Start(t, func(o *server.Options) { o.ServerName = "other" })
	var perms jwt.Permissions
	perms.Sub.Allow.Add(inbox + ".>")
	creds := s.System.User(t, perms)
	connect := func(urls string) *nats.Conn {
		nc, err := nats.Connect(urls, creds.Option(), nats.CustomInboxPrefix(inbox), nats.DontRandomize())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	const dead = "nats://127.0.0.1:1"
	for _, tt := range []struct {
		name, urls string
		fails      []string
	}{
		{"an address of another deployment", s.URL() + "," + other.URL(), []string{"fail D001 -"}},
		{"a dead one", s.URL() + "," + dead, []string{}},
		{"the same twice", s.URL() + "," + strings.Replace(s.URL(), "127.0.0.1", "localhost", 1), []string{}},
	} {
		o := doctor.Options{Timeout: 400 * time.Millisecond}
		r := doctor.Judge(gather(t, connect(tt.urls), o), floors, doctor.Expect{})
		if diff := cmp.Diff(tt.fails, brief(r)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if got := find(t, r, "D001").Got; len(tt.fails) > 0 && !strings.Contains(got, "missing: other (by the address ") {
			t.Errorf("%s: got %q, want the server named", tt.name, got)
		}
	}
}

// TestEvidenceIsBounded: what a gathering keeps of a hostile answer, or of what listens at the address that one names, is short and holds
// no key material.
func TestEvidenceIsBounded(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("n", 4096)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "INFO {\"server_id\":\"NEVIL\",\"server_name\":%q}\r\n", long)
			conn.Close()
		}
	}()
	at := listener.Addr().(*net.TCPAddr)
	s := natstest.Start(t)
	system(t, s, func(nc *nats.Conn, m *nats.Msg) {
		for _, body := range []string{
			fmt.Sprintf("seed %s seed", seed),
			strings.Repeat("x", 500) + string(seed),
			"jwt eyJhbGciOiJlZDI1NTE5LW5rZXkifQ.e30.c2ln",
			fmt.Sprintf(`{"server":{"id":"NEVIL","name":%q,"ver":"2.15.3"},"data":{}}`, long),
			fmt.Sprintf(`{"server":{"id":"NEVIL2","name":"e","ver":"2.15.3"},"error":{"code":500,"description":"%s %s"}}`, seed, long),
			fmt.Sprintf(`{"server":{"id":"NEVIL3","name":"f","ver":"2.15.3"},"data":{"server_id":"NEVIL3","version":"2.15.3","now":"2026-01-01T00:00:00Z",
				"max_control_line":1,"max_payload":1,"host":%q,"port":%d}}`, at.IP, at.Port),
		} {
			_ = nc.Publish(m.Reply, []byte(body))
		}
	})
	snap := gather(t, doctorUser(t, s), doctor.Options{Timeout: 500 * time.Millisecond, Servers: 9, Identify: true})
	if len(snap.Varz.Answers) != 7 || len(snap.Identities) != 2 {
		t.Fatalf("%d answers, %d identities, want 7 and 2", len(snap.Varz.Answers), len(snap.Identities))
	}
	var b strings.Builder
	if err := snap.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"eyJ", string(seed[:12]), long[:1024]} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("the snapshot holds %s", secret)
		}
	}
}

// TestManyServers: a hundred servers answer every request at once, and nothing is lost.
func TestManyServers(t *testing.T) {
	const n = 100
	s := natstest.Start(t)
	nc := s.Connect(t, s.System.User(t, jwt.Permissions{}))
	for _, kind := range []string{"VARZ", "ROUTEZ", "GATEWAYZ", "LEAFZ"} {
		var bodies [][]byte
		for i := range n {
			bodies = append(bodies, fmt.Appendf(nil, `{"server":{"id":"N%d","name":"n%d","ver":"2.15.3","cluster":"c"},"data":{"server_id":"N%d",
				"version":"2.15.3","now":"2026-01-01T00:00:00Z","max_control_line":1,"max_payload":1}}`, i, i, i))
		}
		natstest.Forge(t, nc, "$SYS.REQ.SERVER.PING."+kind, func(*nats.Msg) [][]byte { return bodies })
	}
	o := doctor.Options{Timeout: 2 * time.Second, Servers: 2, Progress: func(int, int, string) {}}
	snap := gather(t, doctorUser(t, s), o)
	got := []int{len(snap.Varz.Answers), len(snap.Routez.Answers), len(snap.Gatewayz.Answers), len(snap.Leafz.Answers)}
	if diff := cmp.Diff([]int{n + 1, n + 1, n + 1, n + 1}, got); diff != "" || snap.Varz.Endless != "" {
		t.Errorf("%s: %s", snap.Varz.Endless, diff)
	}
}
