//go:build !unix

package natstest

// Freeze skips the test: nothing here stops a process without ending it.
func (p *Process) Freeze() {
	p.t.Helper()
	p.t.Skip("a process can be frozen on Unix only")
}

// Thaw has nothing to do where Freeze skips.
func (p *Process) Thaw() {}

// Reload skips the test: the server is told by a signal.
func (p *Process) Reload() {
	p.t.Helper()
	p.t.Skip("a server reloads by a signal on Unix only")
}
