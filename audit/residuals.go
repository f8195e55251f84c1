package audit

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a residual's block in the text form.
const (
	textWidth   = 110 // columns
	maxSubjects = 12  // holders that are named
)

// writeResiduals writes a block for each residual that the notes name: what it is, and the rows and holders that carry it.
func (r *Report) writeResiduals(w io.Writer, notes []*Finding) {
	rows, subjects := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, f := range notes {
		for _, id := range f.residuals {
			if rows[id] == nil {
				rows[id], subjects[id] = map[string]bool{}, map[string]bool{}
			}
			subjects[id][f.Subject] = true
			for _, row := range f.Rows {
				rows[id][row] = true
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "note (%d): A100, the %d declared residuals of these rows\n", len(notes), len(rows))
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(w, "  %s\n", clean(cmp.Or(r.residuals[id], id)))
		fmt.Fprintf(w, "    %s\n", wrapped(clean("rows "+listed(rows[id], len(rows[id]))+"; held by "+listed(subjects[id], maxSubjects)), "    "))
	}
	fmt.Fprintln(w)
}

// listed names the members of a set, at most so many of them.
func listed(set map[string]bool, most int) string {
	names := slices.Sorted(maps.Keys(set))
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// wrapped breaks a line at its spaces, so that each part fits the text width with the indent in front.
func wrapped(line, indent string) string {
	var b strings.Builder
	at := len(indent)
	for i, word := range strings.Split(line, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > textWidth:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
