package trust_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// greeter listens and greets as a NATS server of an id and name does.
func greeter(t *testing.T, greeting string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(conn, "%s\r\n", greeting)
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

func info(id, name string) string {
	return fmt.Sprintf(`INFO {"server_id":%q,"server_name":%q}`, id, name)
}

func TestAcquireBroker(t *testing.T) {
	d := ensure(t, fresh(t))
	held, running, err := d.AcquireBroker(t.Context(), 0)
	if err != nil || held == nil || running != nil {
		t.Fatalf("first: %v %v %v, want the lock", held, running, err)
	}
	other, err := trust.Open(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string) {
		t.Helper()
		lock, running, err := other.AcquireBroker(t.Context(), 0)
		if lock != nil || running != nil || !errors.Is(err, trust.ErrLocked) || trust.HintOf(err) == "" {
			t.Errorf("%s: got %v %v %v, want %v with a hint", what, lock, running, err, trust.ErrLocked)
		}
	}
	refused("held and not announced")
	want := trust.Running{PID: os.Getpid(), URL: "nats://" + greeter(t, info("ID1", "n")), ServerID: "ID1"}
	if err := held.Announce(want); err != nil {
		t.Fatal(err)
	}
	_, running, err = other.AcquireBroker(t.Context(), 0)
	if diff := cmp.Diff(&want, running); err != nil || diff != "" {
		t.Errorf("announced: %v\n%s", err, diff)
	}
	for what, url := range map[string]string{
		"another server on its port": "nats://" + greeter(t, info("ID2", "n")),
		"no NATS server":             "nats://" + greeter(t, "220 smtp"),
		"nothing listens":            "nats://127.0.0.1:1",
		"no URL":                     ":",
	} {
		if err := held.Announce(trust.Running{PID: 1, URL: url, ServerID: "ID1"}); err != nil {
			t.Fatal(err)
		}
		refused(what)
	}
	if err := errors.Join(held.Release(), held.Release()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(d.Path(), "broker.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("record after release: %v", err)
	}
	again, _, err := other.AcquireBroker(t.Context(), 0)
	if err != nil {
		t.Fatalf("control: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestAcquireBrokerWaits(t *testing.T) {
	d := ensure(t, fresh(t))
	held, _, err := d.AcquireBroker(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = held.Release() })
	next, _, err := d.AcquireBroker(t.Context(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Release(); err != nil {
		t.Error(err)
	}
}

// A stock nats-server takes no lock; it is known by the name in server.conf.
func TestAcquireBrokerSeesStockServer(t *testing.T) {
	d := ensure(t, fresh(t))
	lock(t, d)
	for name, refuse := range map[string]bool{"mine": true, "other": false} {
		host, port, err := net.SplitHostPort(greeter(t, info("ID1", name)))
		if err != nil {
			t.Fatal(err)
		}
		o := trust.ServerOptions{Host: host, ServerName: "mine"}
		if _, err := fmt.Sscan(port, &o.Port); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.WriteServerConfig(o); err != nil {
			t.Fatal(err)
		}
		held, _, err := d.AcquireBroker(t.Context(), 0)
		if errors.Is(err, trust.ErrLocked) != refuse {
			t.Errorf("server %s: got %v, want refusal %v", name, err, refuse)
		}
		if held != nil {
			if err := held.Release(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A killed process leaves its record and lock file behind, and neither stops the next broker.
func TestKilledHolder(t *testing.T) {
	const mark = "TRUST_TEST_HOLD"
	if path := os.Getenv(mark); path != "" {
		holdForever(t, path)
		return
	}
	d := ensure(t, fresh(t))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledHolder$")
	cmd.Env = append(os.Environ(), mark+"="+d.Path())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	if _, _, err := d.AcquireBroker(t.Context(), 0); !errors.Is(err, trust.ErrLocked) {
		t.Errorf("while held: got %v, want %v", err, trust.ErrLocked)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	held, _, err := d.AcquireBroker(t.Context(), 0)
	if err != nil {
		t.Fatalf("after the kill: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.Path(), "broker.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stale record: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Error(err)
	}
}

func holdForever(t *testing.T, path string) {
	t.Helper()
	d, err := trust.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	held, _, err := d.AcquireBroker(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Announce(trust.Running{PID: os.Getpid(), URL: "nats://127.0.0.1:1", ServerID: "gone"}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	select {}
}
