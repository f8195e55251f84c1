package embedded_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/embedded"
	"github.com/cotalctl/cotalctl/internal/trust"
)

func TestStartServesAndKeeps(t *testing.T) {
	d := newDir(t)
	public := account(t, d, "main", nil).Public
	me := user(t, d, "main")
	s := start(t, embedded.Options{Dir: d})
	if n := store(t, connect(t, s.ClientURL(), me)); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
	if n := store(t, connect(t, "", me, nats.InProcessServer(s))); n != 2 {
		t.Errorf("in process: %d messages, want 2", n)
	}
	if _, err := nats.Connect(s.ClientURL()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without credentials: got %v, want %v", err, nats.ErrAuthorization)
	}
	if _, err := os.Stat(filepath.Join(d.Path(), "jetstream", public, "streams", "S")); err != nil {
		t.Errorf("stores are not in the directory: %v", err)
	}
	if err := errors.Join(s.Shutdown(), s.Shutdown()); err != nil {
		t.Fatal(err)
	}
	again := start(t, embedded.Options{Dir: d, Silent: true})
	if n := store(t, connect(t, "", me, nats.InProcessServer(again))); n != 3 {
		t.Errorf("after a restart: %d messages, want 3", n)
	}
	if url := again.ClientURL(); url != "" {
		t.Errorf("silent broker listens at %s", url)
	}
}

func TestSecondStartIsRefused(t *testing.T) {
	for _, announce := range []bool{false, true} {
		d := newDir(t)
		first := start(t, embedded.Options{Dir: d, Announce: announce})
		second := embedded.Options{Dir: d, Config: trust.ServerOptions{Port: -1}}
		_, err := embedded.Start(bounded(t), second)
		var running *embedded.RunningError
		switch {
		case !announce && (!errors.Is(err, trust.ErrLocked) || trust.HintOf(err) == ""):
			t.Errorf("got %v, want %v with a hint", err, trust.ErrLocked)
		case announce && (!errors.As(err, &running) || !strings.Contains(trust.HintOf(err), first.ClientURL())):
			t.Errorf("got %v, want the running broker with a hint", err)
		case announce:
			got := running.Running
			got.ServerID = ""
			if diff := cmp.Diff(trust.Running{PID: os.Getpid(), URL: first.ClientURL()}, got); diff != "" {
				t.Error(diff)
			}
		}
		if err := first.Shutdown(); err != nil {
			t.Fatal(err)
		}
		start(t, second) // control
	}
}

// What the server itself would end the process for is an error, and the directory is free again.
func TestFailedStart(t *testing.T) {
	d := newDir(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	_, err = embedded.Start(bounded(t), embedded.Options{Dir: d, Config: trust.ServerOptions{Port: taken}})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("taken port: got %v", err)
	}
	if err := os.RemoveAll(filepath.Join(d.Path(), "jetstream")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Path(), "jetstream"), []byte("not a directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Start(bounded(t), embedded.Options{Dir: d, Config: trust.ServerOptions{Port: -1}}); err == nil {
		t.Error("a broker without stores started")
	}
	if _, err := embedded.Start(bounded(t), embedded.Options{Dir: d, Announce: true, Silent: true}); err == nil {
		t.Error("a silent broker was announced")
	}
	if err := os.Remove(filepath.Join(d.Path(), "jetstream")); err != nil {
		t.Fatal(err)
	}
	start(t, embedded.Options{Dir: d}) // control
}
