//go:build unix

package natstest

import "syscall"

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

func (p *Process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("signal %v: %v", sig, err)
	}
}
