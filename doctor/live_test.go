package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// floors that the servers of natstest meet.
var floors = doctor.Floors{Version: "2.12", Hardened: "2.15.3", ControlLine: 65536, Payload: 512 << 10}

const inbox = "_INBOX_doctor0"

// doctorUser is the narrow system user that a deployment mints for this package, with further publish grants taken away.
func doctorUser(t *testing.T, s *natstest.Server, without ...string) *nats.Conn {
	t.Helper()
	var perms jwt.Permissions
	for _, z := range []string{"VARZ", "ROUTEZ", "GATEWAYZ", "LEAFZ"} {
		if len(without) == 0 || without[0] != z {
			perms.Pub.Allow.Add("$SYS.REQ.SERVER.PING." + z)
		}
	}
	perms.Pub.Allow.Add(doctor.SubjectUserInfo)
	perms.Sub.Allow.Add(inbox + ".>")
	return s.Connect(t, s.System.User(t, perms), nats.CustomInboxPrefix(inbox), nats.MaxReconnects(0))
}

func gather(t *testing.T, nc *nats.Conn, o doctor.Options) *doctor.Snapshot {
	t.Helper()
	s, err := doctor.Gather(t.Context(), nc, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitMesh waits until every server has a route to every other one.
func awaitMesh(t *testing.T, servers []*natstest.Server) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if meshed(t, servers) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no full mesh of %d servers", len(servers))
		}
	}
}

func meshed(t *testing.T, servers []*natstest.Server) bool {
	t.Helper()
	for _, s := range servers {
		z, err := s.Routez(nil)
		if err != nil {
			t.Fatal(err)
		}
		remotes := map[string]bool{}
		for _, r := range z.Routes {
			remotes[r.RemoteID] = true
		}
		if len(remotes) != len(servers)-1 {
			return false
		}
	}
	return true
}

// brief is the report without its passes: "status id server", one a line.
func brief(r *doctor.Report) []string {
	out := []string{}
	for _, c := range r.Checks {
		if c.Status == doctor.Pass {
			continue
		}
		name := "-"
		if c.Server != nil {
			name = *c.Server
		}
		out = append(out, string(c.Status)+" "+c.ID+" "+name)
	}
	return out
}

func find(t *testing.T, r *doctor.Report, id string) doctor.Result {
	t.Helper()
	for _, c := range r.Checks {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no result of %s", id)
	return doctor.Result{}
}

func TestClusterHealthyThenDegraded(t *testing.T) {
	servers := natstest.StartCluster(t, 3)
	awaitMesh(t, servers)
	nc := doctorUser(t, servers[0])

	// 1. Healthy: complete by its own sources, before the timeout.
	start := time.Now()
	snap := gather(t, nc, doctor.Options{Timeout: time.Minute})
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("a complete answer took %v: the gathering waits for its timeout", d)
	}
	for name, e := range map[string]doctor.Expect{"proved": {}, "stated": {Servers: 3}} {
		r := doctor.Judge(snap, floors, e)
		if diff := cmp.Diff([]string{}, brief(r)); diff != "" || r.ExitCode() != 0 || !r.Complete || r.ExpectedServers != 3 {
			t.Errorf("%s: exit %d, complete %v, expected %d: %s", name, r.ExitCode(), r.Complete, r.ExpectedServers, diff)
		}
		if got, want := len(r.Checks), 1+13*3+1; got != want {
			t.Errorf("%s: got %d results, want %d", name, got, want)
		}
	}

	// 2. Without ROUTEZ, JetStream's peers and the configured routes still agree.
	noRoutez := gather(t, doctorUser(t, servers[0], "ROUTEZ"), doctor.Options{Timeout: time.Minute})
	if noRoutez.Routez.Refused == "" {
		t.Error("ROUTEZ without the grant: got no refusal")
	}
	if r := doctor.Judge(noRoutez, floors, doctor.Expect{}); r.ExitCode() != 0 {
		t.Errorf("without ROUTEZ: got %v, want a pass", find(t, r, "D001"))
	}

	// 3. A stopped server is named, whether or not the number is stated.
	servers[2].Shutdown()
	servers[2].WaitForShutdown()
	awaitMesh(t, servers[:2])
	down := gather(t, nc, doctor.Options{Timeout: 500 * time.Millisecond, Servers: 3})
	for name, e := range map[string]doctor.Expect{"proved": {}, "stated": {Servers: 3}} {
		r := doctor.Judge(down, floors, e)
		if diff := cmp.Diff([]string{"fail D001 -"}, brief(r)); diff != "" || r.ExitCode() != 3 || r.Complete {
			t.Errorf("%s, n3 down: exit %d: %s", name, r.ExitCode(), diff)
		}
		if got := find(t, r, "D001").Got; !strings.Contains(got, "missing: n3") {
			t.Errorf("%s, n3 down: got %q, want it to name n3", name, got)
		}
	}
}

func TestLowSettingsAreTheOnlyFailures(t *testing.T) {
	servers := natstest.StartCluster(t, 3, func(o *server.Options) {
		switch o.ServerName {
		case "n2":
			o.MaxControlLine = 4096
		case "n3":
			o.MaxPayload = 64 << 10
		}
	})
	awaitMesh(t, servers)
	r := doctor.Judge(gather(t, doctorUser(t, servers[0]), doctor.Options{Servers: 3}), floors, doctor.Expect{Servers: 3})
	if diff := cmp.Diff([]string{"fail D004 n2", "fail D005 n3"}, brief(r)); diff != "" || r.ExitCode() != 3 {
		t.Errorf("exit %d: %s", r.ExitCode(), diff)
	}
	want := doctor.Result{ID: "D004", Title: "max_control_line", Status: doctor.Fail, Got: "4096", Want: ">= 65536",
		Hint: "set max_control_line: 65536 in this server's configuration, then reload or restart it"}
	for _, c := range r.Checks {
		if c.ID == "D004" && c.Status == doctor.Fail {
			c.Server = nil
			if diff := cmp.Diff(want, c); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestStandaloneProvesItself(t *testing.T) {
	s := natstest.Start(t)
	snap := gather(t, doctorUser(t, s), doctor.Options{Timeout: time.Minute})
	r := doctor.Judge(snap, floors, doctor.Expect{})
	if r.ExitCode() != 0 || r.ExpectedServers != 1 {
		t.Errorf("exit %d, expected %d: %v", r.ExitCode(), r.ExpectedServers, find(t, r, "D001"))
	}
	off := natstest.Start(t, func(o *server.Options) { o.JetStream = false })
	r = doctor.Judge(gather(t, doctorUser(t, off), doctor.Options{Timeout: time.Minute}), floors, doctor.Expect{})
	if diff := cmp.Diff([]string{"fail D006 test"}, brief(r)); diff != "" {
		t.Error(diff)
	}
}

func TestWrongCredential(t *testing.T) {
	s := natstest.Start(t)
	narrow := func(subject string) jwt.Permissions {
		var p jwt.Permissions
		p.Pub.Allow.Add("$SYS.REQ.SERVER.PING.*")
		p.Sub.Allow.Add(subject)
		return p
	}
	var nothing jwt.Permissions
	nothing.Pub.Allow.Add("other")
	nothing.Sub.Allow.Add(inbox + ".>")
	cases := []struct {
		name string
		c    natstest.Creds
		want string
	}{
		{"data account", s.User(t, jwt.Permissions{}), "no server listens for $SYS.REQ.SERVER.PING.VARZ in the account of this credential"},
		{"no grant", s.System.User(t, nothing), "the broker refuses the publish to $SYS.REQ.SERVER.PING.VARZ"},
		{"another inbox", s.System.User(t, narrow("_INBOX_other.>")), "the broker refuses the subscription to the reply inbox"},
		{"control: the right one", s.System.User(t, narrow(inbox+".>")), ""},
	}
	for _, tt := range cases {
		nc := s.Connect(t, tt.c, nats.CustomInboxPrefix(inbox))
		r := doctor.Judge(gather(t, nc, doctor.Options{Timeout: time.Minute}), floors, doctor.Expect{Servers: 1})
		if tt.want == "" {
			if r.ExitCode() != 0 {
				t.Errorf("%s: exit %d: %v", tt.name, r.ExitCode(), brief(r))
			}
			continue
		}
		if got := find(t, r, "D001"); r.ExitCode() != 1 || got.Got != tt.want || r.Count(doctor.Skip) != len(r.Checks) {
			t.Errorf("%s: exit %d, got %q, want %q", tt.name, r.ExitCode(), got.Got, tt.want)
		}
	}
}
