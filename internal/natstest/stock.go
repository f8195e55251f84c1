package natstest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BuildStock builds the nats-server of the module, once per test binary, and returns its path. The program stands beside the test
// binary: go test removes both.
var BuildStock = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(filepath.Dir(self), "stock")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "nats-server")
	if out, err := exec.Command("go", "build", "-o", bin, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build nats-server: %w\n%s", err, out)
	}
	return bin, nil
})

// Process is a stock nats-server in a process of its own.
type Process struct {
	t            testing.TB
	name, config string

	mu     sync.Mutex
	cmd    *exec.Cmd
	url    string
	said   []string      // the log so far
	ready  chan struct{} // closed when the server is ready
	ended  chan struct{} // closed when the process is reaped
	frozen bool
}

// StartStock runs nats-server on a configuration file until the test ends, and returns when it is ready.
func StartStock(t testing.TB, config string) *Process {
	t.Helper()
	p := &Process{t: t, config: config}
	if err := p.launch(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := p.awaitReady(); err != nil {
		t.Fatal(err)
	}
	return p
}

// launch starts the process and follows its log.
func (p *Process) launch() error {
	bin, err := BuildStock()
	if err != nil {
		return err
	}
	cmd := exec.Command(bin, "-c", p.config)
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	p.mu.Lock()
	p.cmd, p.url, p.said, p.ready, p.ended = cmd, "", nil, ready, ended
	p.mu.Unlock()
	go func() {
		defer close(ended)
		isReady := sync.OnceFunc(func() { close(ready) })
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if p.heard(lines.Text()) {
				isReady()
			}
		}
		_ = cmd.Wait()
	}()
	return nil
}

// heard takes a line of the log, and reports whether the server says that it is ready.
func (p *Process) heard(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, line)
	if _, address, ok := strings.Cut(line, "Listening for client connections on "); ok {
		p.url = "nats://" + address
	}
	return strings.Contains(line, "Server is ready")
}

func (p *Process) awaitReady() error {
	select {
	case <-p.ready:
		return nil
	case <-p.ended:
		return fmt.Errorf("nats-server on %s ended:\n%s", p.config, p.Log())
	case <-time.After(ready):
		return fmt.Errorf("nats-server on %s is not ready within %v:\n%s", p.config, ready, p.Log())
	}
}

// URL is the client URL. A server on port -1 has another one after Restart.
func (p *Process) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.url
}

// Name is the server's name in a fleet.
func (p *Process) Name() string { return p.name }

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log is what the server has logged since it was started.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.said, "\n")
}

// Stop ends the server in order and waits for its end.
func (p *Process) Stop() {
	p.t.Helper()
	p.end(syscall.SIGTERM)
}

// Kill ends the server as kill -9 does, whether it runs, is frozen or has ended, and waits for its end. The end of the test does
// it too.
func (p *Process) Kill() {
	p.t.Helper()
	p.end(os.Kill)
}

func (p *Process) end(sig os.Signal) {
	p.t.Helper()
	if p.frozen {
		p.Thaw() // a frozen process takes no signal but this and kill -9, and its peers should see the end
	}
	_ = p.cmd.Process.Signal(sig) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(ready):
		_ = p.cmd.Process.Kill()
		<-p.ended
		p.t.Errorf("nats-server on %s did not end within %v of %v", p.config, ready, sig)
	}
}

// Restart starts the server again after Stop or Kill, on the same configuration, and returns when it is ready.
func (p *Process) Restart() {
	p.t.Helper()
	if err := p.launch(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.awaitReady(); err != nil {
		p.t.Fatal(err)
	}
}
