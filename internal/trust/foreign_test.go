package trust_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/trust"
)

const bystanderMark = "TRUST_TEST_BYSTANDER"

// TestBystander is the process that bystander starts: it lives until its standard input ends.
func TestBystander(t *testing.T) {
	if os.Getenv(bystanderMark) == "" {
		t.Skip("started by other tests")
	}
	fmt.Println("up")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// bystander is a live process with the given end of its command line.
func bystander(t *testing.T, args ...string) (pid int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-test.run=^TestBystander$", "--"}, args...)...)
	cmd.Env = append(os.Environ(), bystanderMark+"=1")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("bystander said %q, %v", line, err)
	}
	return cmd.Process.Pid
}

// dead is the id of a process that has ended.
func dead(t *testing.T) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// conf writes what a server of the directory is started with.
func conf(t *testing.T, d *trust.Dir) string {
	t.Helper()
	text, err := d.ServerConfig(trust.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "k.conf")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func brokerName(d *trust.Dir) string { return "broker-" + strings.ToLower(d.OperatorKey()[1:9]) }

// placed is a file that a server has written.
type placed struct {
	name, text string
	old        bool // long before any process that now lives
}

func pidOf(pid int) placed { return placed{name: "nats-server.pid", text: strconv.Itoa(pid)} }

func portsOf(exe string, pid int, urls ...string) placed {
	return placed{name: fmt.Sprintf("%s_%d.ports", exe, pid), text: fmt.Sprintf(`{"nats":["%s"]}`, strings.Join(urls, `","`))}
}

func long(p placed) placed { p.old = true; return p }

func (p placed) write(t *testing.T, d *trust.Dir) {
	t.Helper()
	path := filepath.Join(d.Path(), p.name)
	if err := os.WriteFile(path, []byte(p.text), 0o600); err != nil {
		t.Fatal(err)
	}
	if p.old {
		then := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	free   = "free"
	locked = "locked"
)

// acquired is free, locked, or the URL of the running server; a lock is released again.
func acquired(t *testing.T, d *trust.Dir) (got string, err error) {
	t.Helper()
	held, running, err := d.AcquireBroker(t.Context(), 0)
	switch {
	case held != nil:
		if err := held.Release(); err != nil {
			t.Error(err)
		}
		return free, nil
	case running != nil:
		return running.URL, nil
	case errors.Is(err, trust.ErrLocked):
		return locked, err
	}
	t.Fatal(err)
	return "", nil
}

func TestForeignClaims(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("a process id that is used again is told apart by /proc only")
	}
	d := ensure(t, fresh(t))
	other := ensure(t, fresh(t))
	exe := filepath.Base(os.Args[0])
	unrelated, mine, theirs := bystander(t), bystander(t, "-c", conf(t, d)), bystander(t, "--config="+conf(t, other))
	hidden, gone := bystander(t, "-c", filepath.Join(t.TempDir(), "none.conf")), dead(t)
	named, stranger := "nats://"+greeter(t, info("ID1", brokerName(d))), "nats://"+greeter(t, info("ID2", "dev"))
	const silent = "nats://127.0.0.1:1"
	cases := map[string]struct {
		files []placed
		want  string
	}{
		"nothing":                                  {nil, free},
		"pid of a dead process":                    {[]placed{pidOf(gone)}, free},
		"pid of this process":                      {[]placed{pidOf(os.Getpid())}, free},
		"pid of a process that began later":        {[]placed{long(pidOf(unrelated))}, free},
		"pid of a process that began before":       {[]placed{pidOf(unrelated)}, locked},
		"pid of another directory's, later":        {[]placed{long(pidOf(theirs))}, free},
		"pid of another directory's, before":       {[]placed{pidOf(theirs)}, locked},
		"pid of a hidden configuration, later":     {[]placed{long(pidOf(hidden))}, locked},
		"pid of this directory's":                  {[]placed{pidOf(mine)}, locked},
		"pid of this directory's, clock was set":   {[]placed{long(pidOf(mine))}, locked},
		"pid is being written":                     {[]placed{{name: "nats-server.pid"}}, locked},
		"pid was being written when power failed":  {[]placed{long(placed{name: "nats-server.pid"})}, free},
		"pid of init":                              {[]placed{pidOf(1)}, locked},
		"all processes":                            {[]placed{pidOf(-1)}, locked},
		"serves":                                   {[]placed{pidOf(mine), portsOf(exe, mine, stranger)}, stranger},
		"serves at the second URL":                 {[]placed{pidOf(mine), portsOf(exe, mine, silent, stranger)}, stranger},
		"does not answer":                          {[]placed{pidOf(mine), portsOf(exe, mine, silent)}, locked},
		"no URL of a client":                       {[]placed{pidOf(mine), portsOf(exe, mine, "http://127.0.0.1:1", ":")}, locked},
		"ports are being written":                  {[]placed{pidOf(mine), {name: fmt.Sprintf("%s_%d.ports", exe, mine), text: `{"na`}}, locked},
		"pid overwritten by one that failed":       {[]placed{pidOf(gone), portsOf(exe, mine, stranger)}, stranger},
		"hidden configuration, the broker's name":  {[]placed{pidOf(hidden), portsOf(exe, hidden, named)}, named},
		"hidden configuration, another name":       {[]placed{pidOf(hidden), portsOf(exe, hidden, stranger)}, locked},
		"another directory's, the broker's name":   {[]placed{pidOf(theirs), portsOf(exe, theirs, named)}, locked},
		"another program has the pid, later":       {[]placed{long(portsOf("nats-server", mine, silent))}, free},
		"killed, its port is a stranger's":         {[]placed{pidOf(gone), portsOf(exe, gone, stranger)}, free},
		"not seen, such as in a container, named":  {[]placed{pidOf(gone), portsOf(exe, gone, named)}, locked},
		"killed and started again at the same URL": {[]placed{portsOf("a", gone, named), pidOf(mine), portsOf(exe, mine, named)}, named},
		"names that are none":                      {[]placed{{name: "x.ports"}, {name: "x_y.ports"}, {name: "x_0.ports"}}, free},
	}
	ran := 0
	for name, c := range cases {
		for _, f := range c.files {
			f.write(t, d)
		}
		got, err := acquired(t, d)
		if got != c.want {
			t.Errorf("%s: got %s (%v), want %s", name, got, err, c.want)
		}
		if got == locked && !strings.Contains(trust.HintOf(err), "remove "+d.Path()+string(filepath.Separator)) {
			t.Errorf("%s: hint %q names no file", name, trust.HintOf(err))
		}
		for _, f := range c.files {
			if err := os.Remove(filepath.Join(d.Path(), f.name)); err != nil && !(got == free && errors.Is(err, os.ErrNotExist)) {
				t.Errorf("%s: %v", name, err) // a refusal leaves what it judged
			}
		}
		if got, err := acquired(t, d); got != free {
			t.Errorf("%s: removed: got %s (%v), want %s", name, got, err, free)
		}
		ran++
	}
	if ran == 0 {
		t.Error("no case ran")
	}
}

// While the lock is held, nothing can be written where a stock server writes its pid first.
func TestHeldLockBarsStockServer(t *testing.T) {
	d := ensure(t, fresh(t))
	path := filepath.Join(d.Path(), "nats-server.pid")
	write := func() error { return os.WriteFile(path, []byte("1"), 0o600) }
	pidOf(dead(t)).write(t, d)
	held, _, err := d.AcquireBroker(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(); err == nil {
		t.Error("while the lock is held the pid file was written")
	}
	if err := errors.Join(held.Release(), held.Release()); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Errorf("control: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil { // of a holder that was killed
		t.Fatal(err)
	}
	if got, err := acquired(t, d); got != free {
		t.Errorf("after a kill: got %s, %v", got, err)
	}
	for p := range tree(t, d.Path()) {
		if strings.Contains(p, "pid") {
			t.Errorf("%s is left", p)
		}
	}
}

func TestAcquireBrokerWaitsForForeign(t *testing.T) {
	d := ensure(t, fresh(t))
	pid := placed{name: "nats-server.pid"} // as a server that starts leaves it for a moment
	pid.write(t, d)
	time.AfterFunc(50*time.Millisecond, func() { _ = os.Remove(filepath.Join(d.Path(), pid.name)) })
	held, running, err := d.AcquireBroker(t.Context(), 10*time.Second)
	if err != nil || running != nil {
		t.Fatalf("got %v, %v, want the lock", running, err)
	}
	if err := held.Release(); err != nil {
		t.Error(err)
	}
}

// A found server says all that an announced one says.
func TestForeignRunning(t *testing.T) {
	d := ensure(t, fresh(t))
	pid := bystander(t, "-c", conf(t, d))
	url := "nats://" + greeter(t, info("ID1", brokerName(d)))
	portsOf(filepath.Base(os.Args[0]), pid, url).write(t, d)
	_, running, err := d.AcquireBroker(t.Context(), 0)
	if diff := cmp.Diff(&trust.Running{PID: pid, URL: url, ServerID: "ID1"}, running); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
