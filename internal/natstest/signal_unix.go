//go:build unix

package natstest

import (
	"strings"
	"syscall"
)

// Freeze stops the process from running without ending it: its connections stay open and nothing answers.
func (p *Process) Freeze() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	p.frozen = true
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
