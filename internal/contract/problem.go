package contract

import (
	"cmp"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a contract or with the input of a compile: where, in which row, what, and what to do.
type Problem struct {
	Pos  Pos
	Row  string // row id, or ""
	What string
	Got  string // as found, or ""
	Want string // as required, or ""
	Hint string // what to do next, or ""
}

// Error renders "file:line:col: row ID: what, got X, want Y", leaving out the parts that are empty. The hint is not part of it.
func (p *Problem) Error() string {
	var b strings.Builder
	if p.Pos != (Pos{}) {
		b.WriteString(p.Pos.String())
		b.WriteString(": ")
	}
	if p.Row != "" {
		b.WriteString("row ")
		b.WriteString(p.Row)
		b.WriteString(": ")
	}
	b.WriteString(p.What)
	if p.Got != "" {
		b.WriteString(", got ")
		b.WriteString(p.Got)
	}
	if p.Want != "" {
		b.WriteString(", want ")
		b.WriteString(p.Want)
	}
	return Redact(b.String())
}

// Problems are several problems, reported together. A nil or empty value is no error: return it through [Problems.Err].
type Problems []*Problem

// Err sorts the problems by position, row and text, drops repeats, and returns them as an error, or nil where there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	sorted := slices.Clone(ps)
	slices.SortFunc(sorted, func(a, b *Problem) int {
		return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Error(), b.Error()))
	})
	return slices.CompactFunc(sorted, func(a, b *Problem) bool { return *a == *b })
}

// Error is one line per problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}
