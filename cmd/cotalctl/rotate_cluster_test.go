package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// copyCreds keeps a system credential as it is now.
func copyCreds(t testing.TB, dir, name string) (file string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "creds", name+".creds"))
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), name+".creds")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRotateSystemLive: the users of the old key are disconnected and stay out, the directory's new credentials are let in, and
// no restart is needed.
func TestRotateSystemLive(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", dir)
	visit(t, dir, func(d *trust.Dir, url string) {
		account := d.SystemAccount()
		file := copyCreds(t, dir, "doctor")
		_, closed := watched(t, url, file)
		args := []string{"rotate", "system", "--dir", dir, "--timeout", patience.String(), "-o", "json"}
		out, _ := command(t, 0, append(args, "--plan")...)
		if readPlan(t, out).Applied {
			t.Error("the plan was applied")
		}
		creds(t, url, file)
		for range 2 { // a rotation may follow a rotation
			out, _ = command(t, 0, args...)
			if !readPlan(t, out).Applied {
				t.Error("the rotation was not applied")
			}
			wantClosed(t, url, file, closed)
			file = copyCreds(t, dir, "doctor")
			_, closed = watched(t, url, file)
		}
		command(t, 0, "doctor", "--dir", dir)
		plan, _ := command(t, 0, "provision", "space", "main", "--dir", dir, "--plan", "-o", "json")
		wantOnlyNone(t, plan)
		again, err := trust.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := again.SystemAccount(); got != account {
			t.Errorf("system account %s, want %s: JetStream's meta group stands in its name", got, account)
		}
	})
	for _, pattern := range []string{"creds.next", "system.jwt.rotating", "creds/.*"} {
		if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) > 0 {
			t.Errorf("left %v (%v)", left, err)
		}
	}
}

// TestRotateStock: a stock server that is started again on the configuration of before the rotations does not go back to it.
func TestRotateStock(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	dir, config := filepath.Join(tmp, "D"), filepath.Join(tmp, "nats.conf")
	command(t, 0, "provision", "space", "main", "--dir", dir)
	text, _ := command(t, 0, "broker", "config", "--dir", dir, "--listen", "127.0.0.1:-1")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := []string{copyCreds(t, dir, "doctor"), mintAgent(t, dir, "alice")}
	bob := mintAgent(t, dir, "bob")
	var alice string
	outer := t
	t.Run("rotate", func(t *testing.T) {
		url := natstest.StartStock(t, config).URL()
		on := []string{"--dir", dir, "--server", url, "--timeout", patience.String()}
		command(t, 0, append([]string{"rotate", "signing-key"}, on...)...)
		alice = mintAgent(outer, dir, "alice")
		command(t, 0, append([]string{"revoke", bob}, on...)...)
		command(t, 0, append([]string{"rotate", "signing-key", "--remove-old"}, on...)...)
		command(t, 0, append([]string{"rotate", "system"}, on...)...)
		for _, file := range append(gone, bob) {
			wantRefused(t, url, file)
		}
		wantServed(t, creds(t, url, alice))
		wantServed(t, creds(t, url, filepath.Join(dir, "creds", "doctor.creds")))
	})
	t.Run("restart", func(t *testing.T) {
		url := natstest.StartStock(t, config).URL()
		for _, file := range append(gone, bob) {
			wantRefused(t, url, file)
		}
		wantServed(t, creds(t, url, alice))
		wantServed(t, creds(t, url, filepath.Join(dir, "creds", "doctor.creds")))
		out, _ := command(t, 0, "provision", "space", "main", "--dir", dir, "--server", url, "--plan", "-o", "json")
		wantOnlyNone(t, out)
	})
}

// TestClusterRotation: what is taken back is taken back on every node, and with a node missing nothing is.
func TestClusterRotation(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes its time")
	}
	t.Parallel()
	dir, d := provisioned(t, "main")
	servers, urls := cluster(t, d)
	nodes := strings.Split(urls, ",")
	wait := patience
	on := func(want int, args ...string) (string, string) {
		t.Helper()
		return command(t, want, append(args, "--dir", dir, "--server", urls, "--timeout", wait.String())...)
	}
	everywhere := func(file string) (conns []*nats.Conn, closed []<-chan struct{}) {
		t.Helper()
		for _, url := range nodes {
			nc, end := watched(t, url, file)
			conns, closed = append(conns, nc), append(closed, end)
		}
		return conns, closed
	}
	allClosed := func(file string, closed []<-chan struct{}) {
		t.Helper()
		for i, end := range closed {
			wantClosed(t, nodes[i], file, end)
		}
	}
	allServed := func(conns []*nats.Conn) {
		t.Helper()
		for _, nc := range conns {
			wantServed(t, nc)
		}
	}

	old := mintAgent(t, dir, "alice")
	oldConns, oldClosed := everywhere(old)
	on(0, "rotate", "signing-key")
	next := mintAgent(t, dir, "alice")
	nextConns, nextClosed := everywhere(next)
	allServed(oldConns)
	on(0, "rotate", "signing-key", "--remove-old")
	allClosed(old, oldClosed)
	allServed(nextConns)

	doctor := copyCreds(t, dir, "doctor")
	_, doctorClosed := everywhere(doctor)
	on(0, "rotate", "system")
	allClosed(doctor, doctorClosed)
	allServed(nextConns)

	// From here on each command waits for the missing node until its timeout.
	wait = 3 * time.Second
	servers[2].Shutdown()
	servers[2].WaitForShutdown()
	nodes, urls = nodes[:2], strings.Join(nodes[:2], ",")
	nextConns, nextClosed = nextConns[:2], nextClosed[:2]
	for _, args := range [][]string{{"rotate", "signing-key"}, {"rotate", "system"}} {
		if _, stderr := on(3, args...); !strings.Contains(stderr, "missing: n3") {
			t.Errorf("%v with a node down: got %s, want it named", args, stderr)
		}
	}
	allServed(nextConns)
	if _, stderr := on(3, "revoke", next); !strings.Contains(stderr, "missing: n3") { // it is done where it can be
		t.Errorf("revoke with a node down: got %s, want it named", stderr)
	}
	allClosed(next, nextClosed)
	out, _ := on(0, "revoke", next, "--servers", "2", "-o", "json")
	wantOnlyNone(t, out)
	on(0, "rotate", "signing-key", "--servers", "2")
}
