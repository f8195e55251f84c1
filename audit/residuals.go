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

// bearers are the rows and holders of what a block is about.
type bearers struct{ rows, subjects map[string]bool }

// carriers gathers rows and holders by what a finding is about.
type carriers map[string]bearers

func (c carriers) add(key string, f *Finding) {
	if c[key].rows == nil {
		c[key] = bearers{map[string]bool{}, map[string]bool{}}
	}
	c[key].subjects[f.Subject] = true
	for _, row := range f.Rows {
		c[key].rows[row] = true
	}
}

// write writes one block: what it is about, and below it who carries it.
func (c carriers) write(w io.Writer, key, heading string) {
	fmt.Fprintf(w, "  %s\n", wrapped(clean(heading), "    "))
	said := "held by " + listed(c[key].subjects, maxSubjects)
	if n := len(c[key].rows); n > 0 {
		said = "rows " + listed(c[key].rows, n) + "; " + said
	}
	fmt.Fprintf(w, "    %s\n", wrapped(clean(said), "    "))
}

// powers writes a block for each code and the residual that declares it.
func (t *textWriter) powers(notes []*Finding) {
	if len(notes) == 0 {
		return
	}
	blocks := carriers{}
	for _, f := range notes {
		blocks.add(f.Code+" declared by "+f.declaredBy, f)
	}
	fmt.Fprintf(t, "%s\n", t.paint(Note, fmt.Sprintf("note (%d): powers that residuals of their rows declare", len(notes))))
	code := ""
	for _, key := range slices.Sorted(maps.Keys(blocks)) {
		if c, _, _ := strings.Cut(key, " "); c != code {
			code = c
			title, page := t.titled(code)
			fmt.Fprintf(t, "  %s%s\n", t.paint(Note, code), title)
			t.fields("    ", [][2]string{{"page", page}})
		}
		blocks.write(t, key, key)
	}
	fmt.Fprintln(t)
}

// writeResiduals writes a block for each residual that the findings name: what it is, and the rows and holders that carry it.
func (r *Report) writeResiduals(t *textWriter, severity string, found []*Finding) {
	if len(found) == 0 {
		return
	}
	blocks := carriers{}
	for _, f := range found {
		for _, id := range f.residuals {
			blocks.add(id, f)
		}
	}
	fmt.Fprintf(t, "%s\n", t.paint(severity, fmt.Sprintf("%s (%d): A100, the %d declared residuals of these rows", severity, len(found), len(blocks))))
	for _, id := range slices.Sorted(maps.Keys(blocks)) {
		blocks.write(t, id, cmp.Or(r.residuals[id], id))
	}
	fmt.Fprintln(t)
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
