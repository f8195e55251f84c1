package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fault is one thing that is wrong with an artifact: the JSON path and the place of the value, what, and what to do.
type Fault struct {
	Path      string // "grants[0].commands[1].authz"; "" is the document
	Line, Col int    // from 1; 0 where the artifact was not read from text
	What      string
	Got       string // as found, or ""
	Want      string // as required, or ""
	Hint      string // what to do next, or ""
}

// Message is the fault without its place: "path: what, got X, want Y".
func (f Fault) Message() string {
	var b strings.Builder
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.What)
	if f.Got != "" {
		b.WriteString(", got " + f.Got)
	}
	if f.Want != "" {
		b.WriteString(", want " + f.Want)
	}
	return b.String()
}

// Error is "line:col: path: what, got X, want Y".
func (f Fault) Error() string { return fmt.Sprintf("%d:%d: %s", f.Line, f.Col, f.Message()) }

// Faults are all that is wrong with one artifact, in the order of their places.
type Faults []Fault

// Error is one line per fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// maxFaults bounds what one artifact reports: a hostile one must not become a flood.
const maxFaults = 100

// err sorts the faults and returns them as an error, or nil where there are none.
func (fs Faults) err() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Path, b.Path))
	})
	return fs[:min(len(fs), maxFaults)]
}

// short cuts a text for a message.
func short(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

func quoted(s string) string { return fmt.Sprintf("%q", short(s)) }
