package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
)

// progressLine is one line of a terminal that is rewritten in place. Its methods may be called from several goroutines.
type progressLine struct {
	mu      sync.Mutex
	w       io.Writer
	columns int // 0: nobody watches, and nothing is written
	last    string
}

// tell shows that done of known answers are there, and what they are; known 0 is an unknown number.
// It is what gathering takes to report to.
func (p *progressLine) tell(done, known int, what string) {
	if p.columns == 0 {
		return
	}
	of := ""
	if known > 0 {
		of = fmt.Sprintf(" of %d", known)
	}
	line := []rune(strings.Map(printable, fmt.Sprintf("cotalctl: %d%s: %s", done, of, what)))
	text := string(line[:min(len(line), p.columns-1)]) // a full line would wrap, and could not be rewritten
	p.mu.Lock()
	defer p.mu.Unlock()
	if text != p.last {
		fmt.Fprintf(p.w, "\r%s\x1b[K", text)
		p.last = text
	}
}

// end removes the line.
func (p *progressLine) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.last = ""
	}
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// progressOf is the line of a stream: quiet where it is no terminal that can be rewritten.
func progressOf(w io.Writer, env func(string) string) *progressLine {
	p := &progressLine{w: w}
	if steers(w, env) {
		p.columns, _ = terminalSize(w, env)
	}
	return p
}
