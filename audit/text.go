package audit

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// WriteText writes the report for a person: errors, warnings and notes in full, then each declared residual once, and a last
// line that says what was looked at. Text from a credential is written with its control characters escaped. The JSON form has
// one finding per row that carries a residual.
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	var residuals []*Finding
	for _, severity := range []string{Error, Warning, Note} {
		group := r.of(severity)
		residuals = append(residuals, withResiduals(group)...)
		group = slices.DeleteFunc(group, func(f *Finding) bool { return len(f.residuals) > 0 })
		if len(group) == 0 {
			continue
		}
		fmt.Fprintf(b, "%s (%d)\n", severity, len(group))
		for _, f := range group {
			f.text(b)
		}
		fmt.Fprintln(b)
	}
	r.writeResiduals(b, residuals)
	r.writeDeputies(b)
	if r.Skipped > 0 {
		fmt.Fprintf(b, "skipped %d files that are neither credentials nor compiled sets\n", r.Skipped)
	}
	c := r.Checked
	fmt.Fprintf(b, "checked %d invariants, %d profiles, %d entries, %d files; %d errors, %d warnings, %d notes",
		c.Invariants, c.Profiles, c.Entries, c.Files, len(r.of(Error)), len(r.of(Warning)), len(r.of(Note)))
	if r.failed > 0 {
		fmt.Fprintf(b, "; %d could not be judged", r.failed)
	}
	fmt.Fprintln(b)
	return b.Flush()
}

func (r *Report) of(severity string) []*Finding {
	var out []*Finding
	for i := range r.Findings {
		if r.Findings[i].Severity == severity {
			out = append(out, &r.Findings[i])
		}
	}
	return out
}

func (f *Finding) text(w io.Writer) {
	fmt.Fprintf(w, "  %s %s: %s\n", f.Code, clean(f.Subject), clean(f.Message))
	where := f.File
	if where != "" && f.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, f.Line)
	}
	waived := ""
	if f.Waived != nil {
		waived = f.Waived.Reason + " (until " + f.Waived.Until + ")"
	}
	for _, line := range [][2]string{
		{"entry", f.Entry}, {"witness", f.Witness}, {"rows", strings.Join(f.Rows, ", ")}, {"at", where}, {"cite", f.Cite},
		{"hint", f.Hint}, {"waived", waived},
	} {
		if line[1] != "" {
			fmt.Fprintf(w, "    %-8s %s\n", line[0], clean(line[1]))
		}
	}
}

// clean keeps text of a hostile credential from steering a terminal.
func clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
