package embedded_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/embedded"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// anyPort writes a configuration outside the directory, so that nothing in it says where its server listens.
func anyPort(t *testing.T, d *trust.Dir) string {
	t.Helper()
	text, err := d.ServerConfig(trust.ServerOptions{Port: -1, ServerName: "site-1"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "k.conf")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStockServerHoldsDirectory: wherever a stock server listens, no second broker starts on its stores; killed, it leaves
// them to the next, and it does not start beside an embedded one.
func TestStockServerHoldsDirectory(t *testing.T) {
	d := newDir(t)
	account(t, d, "main", nil)
	config, me := anyPort(t, d), user(t, d, "main")
	for _, tidy := range []bool{false, true} { // kill -9, then SIGTERM
		s := natstest.StartStock(t, config)
		found(t, d, s)
		_, err := embedded.Start(bounded(t), embedded.Options{Dir: d, Silent: true})
		var running *embedded.RunningError
		if !errors.As(err, &running) || running.Running.URL != s.URL() {
			t.Errorf("embedded: got %v, want the server at %s", err, s.URL())
		}
		if tidy {
			s.Stop()
		} else {
			s.Kill()
		}
		if n := len(claimFiles(t, d)); n == 0 {
			t.Error("the server left no file: nothing stale was judged")
		}
		beside(t, config, d, me)
	}
}

// found waits until the server is known by its files: it writes the ports file a moment after it is ready.
func found(t *testing.T, d *trust.Dir, s *natstest.Process) {
	t.Helper()
	held, running, err := d.AcquireBroker(bounded(t), patience)
	if held != nil || running == nil || running.URL != s.URL() || running.PID != s.PID() || running.ServerID == "" {
		t.Fatalf("acquire: got %v, %+v, %v, want the server at %s", held, running, err, s.URL())
	}
}

// beside runs an embedded broker for a while, and shows that no stock server starts beside it.
func beside(t *testing.T, config string, d *trust.Dir, me nats.Option) {
	t.Helper()
	e, err := embedded.Start(bounded(t), embedded.Options{Dir: d, Config: trust.ServerOptions{Port: -1}})
	if err != nil {
		t.Fatalf("after the stock server: %v", err)
	}
	bin, err := natstest.BuildStock()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(bounded(t), bin, "-c", config).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "Could not write pidfile") || strings.Contains(string(out), "Starting JetStream") {
		t.Errorf("stock server beside an embedded one: got %v\n%s", err, out)
	}
	if n := store(t, connect(t, e.ClientURL(), me)); n == 0 {
		t.Error("the embedded broker stored nothing")
	}
	if err := e.Shutdown(); err != nil {
		t.Error(err)
	}
	if files := claimFiles(t, d); slices.Contains(files, filepath.Join(d.Path(), "nats-server.pid")) {
		t.Errorf("after the embedded broker: %v", files)
	}
}

func claimFiles(t *testing.T, d *trust.Dir) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(d.Path(), "nats-server*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
