//go:build unix

package natstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Freeze stops the process from running without ending it: its connections stay open and nothing answers. The signal comes to each
// thread in its own time, and one that still runs would answer: where /proc tells, it returns once all of them have stopped.
func (p *Process) Freeze() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	p.frozen = true
	Await(p.t, func() string {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.PID()))
		if err != nil {
			return err.Error()
		}
		for _, file := range threads {
			text, err := os.ReadFile(file)
			if _, state, _ := strings.Cut(string(text), ") "); err == nil && !strings.HasPrefix(state, "T") {
				return "a thread to stop"
			}
		}
		return ""
	})
}

// Thaw lets a frozen process run on.
func (p *Process) Thaw() {
	p.t.Helper()
	p.signal(syscall.SIGCONT)
	p.frozen = false
}

// Reload makes the server read its configuration again, and returns when it has.
func (p *Process) Reload() {
	p.t.Helper()
	const done = "Reloaded server configuration"
	before := strings.Count(p.Log(), done)
	p.signal(syscall.SIGHUP)
	Await(p.t, func() string {
		if strings.Count(p.Log(), done) == before {
			return "the reload of " + p.config + ":\n" + p.Log()
		}
		return ""
	})
}

func (p *Process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("signal %v: %v", sig, err)
	}
}
