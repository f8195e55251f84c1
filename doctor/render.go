package doctor

import (
	"fmt"
	"io"
)

// The forms of a report.
const (
	FormatText  = "text"
	FormatJSON  = "json"
	FormatJUnit = "junit"
)

// Render says how a report is written. The zero value is text for a pipe: one row a line, without colours.
type Render struct {
	Format  string              // one of Format…; "" is text
	OneLine bool                // JSON: without line breaks, for a stream of reports
	Color   bool                // text: with the colours of a terminal
	Width   int                 // text: columns to wrap at; 0 wraps nothing
	Verbose bool                // text: every row that passed, and every name
	Bare    bool                // text: the rows that are no pass, without verdict, servers and pages
	Since   func(Result) string // text: since when a result that is no pass stands, or ""; nil says it of none
}

// Write writes the report.
func (r *Report) Write(w io.Writer, o Render) error {
	switch o.Format {
	case FormatText, "":
		return r.text(w, o)
	case FormatJSON:
		if o.OneLine {
			return r.json(w, "")
		}
		return r.JSON(w)
	case FormatJUnit:
		return r.junit(w)
	}
	return fmt.Errorf("format, got %q, want one of %s, %s, %s", o.Format, FormatText, FormatJSON, FormatJUnit)
}
