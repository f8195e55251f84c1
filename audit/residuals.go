package audit

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Bounds of a residual's block in the text form.
const (
	textWidth   = 110 // columns
	maxSubjects = 12  // holders that are named
)

// bearers are the rows and holders of what a block is about.
type bearers struct{ rows, subjects, files map[string]bool }

// carriers gathers rows and holders by what a finding is about.
type carriers map[string]bearers

func (c carriers) add(key string, f *Finding) {
	if c[key].rows == nil {
		c[key] = bearers{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	}
	c[key].subjects[f.Subject] = true
	for _, file := range f.Also {
		c[key].files[file] = true
	}
	for _, row := range f.Rows {
		c[key].rows[row] = true
	}
}

// write writes one block: what it is about, and below it who carries it.
func (c carriers) write(w io.Writer, key, heading string) {
	fmt.Fprintf(w, "  %s\n", wrapped(clean(heading), "    "))
	said := "held by " + listed(c[key].subjects, maxSubjects)
	if n := len(c[key].files); n > 0 {
		said += fmt.Sprintf(" and in %d more files", n)
	}
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

// bearing are the rows with residuals that a principal holds, once each, with the first entry of each.
func (a *auditor) bearing(p *Principal) (out []borneRow) {
	if p.Token != nil && p.Token.Scoped {
		return nil
	}
	met := map[string]bool{}
	for _, d := range p.directions() {
		for _, e := range d.Allow {
			for _, id := range e.Rows {
				if met[id] {
					continue
				}
				if row := a.borne(p, a.rows[id]); row != nil && len(row.Residuals) > 0 {
					met[id] = true
					out = append(out, borneRow{e, row})
				}
			}
		}
	}
	return out
}

// sharedNote is what declared residuals say of a profile's rows, whoever of those that were read holds them.
type sharedNote struct{ profile, code, rows, residuals string }

// saidBefore reports whether a note on what was read says what one of another file says: that one names the file then.
func (a *auditor) saidBefore(p *Principal, f *Finding) bool {
	if declared := f.Code == codeResidual || f.declaredBy != ""; !declared || p.File == "" || p.File == maskedFile || p.Profile == "" {
		return false
	}
	key := sharedNote{p.Profile, f.Code, strings.Join(f.Rows, " "), f.declaredBy + strings.Join(f.residuals, " ")}
	n, met := a.noteOf[key]
	if !met {
		a.noteOf[key] = len(a.out.Findings)
		return false
	}
	first := &a.out.Findings[n]
	if first.File == p.File {
		return false
	}
	if last := len(first.Also) - 1; last < 0 || first.Also[last] != p.File {
		first.Also = append(first.Also, p.File)
	}
	return true
}

type residualKey struct{ file, name, row string }

// bear notes what the contract says that a holder of a row can still do (A100).
func (a *auditor) bear(p *Principal, b borneRow, shown func(string) string) {
	key := residualKey{p.File, p.Name, b.row.ID}
	if a.noted[key] {
		return
	}
	a.noted[key] = true
	words := a.residualWords(b.row)
	f := Finding{Code: codeResidual, Severity: words.severity, Subject: p.Name, Dir: b.entry.dir, Rows: []string{b.row.ID}, Cite: b.row.Cite,
		Message: words.text, File: p.File, residuals: b.row.Residuals}
	if a.saidBefore(p, &f) {
		return
	}
	f.Entry = shown(b.entry.String())
	if f.File == "" {
		f.File, f.Line = b.row.Pos.File, b.row.Pos.Line
	}
	a.lasting(p, b.entry, &f)
	a.out.Findings = append(a.out.Findings, f)
}

// residualText is what A100 says of a row, whoever holds it.
type residualText struct{ text, severity string }

func (a *auditor) residualWords(row *contract.Row) residualText {
	if w, ok := a.words[row]; ok {
		return w
	}
	said := make([]string, len(row.Residuals))
	for i, id := range row.Residuals {
		said[i] = id
		if r := a.cfg.Contract.Residuals[id]; r != nil {
			said[i] = fmt.Sprintf("%s: %s can %s (bounded by %s)", id, r.Who, r.Can, r.Bound)
			a.out.residuals[id] = said[i]
		}
	}
	w := residualText{strings.Join(said, "; "), a.residualSeverity(row.Residuals)}
	a.words[row] = w
	return w
}

// residualSeverity is a warning where the contract says so for one of the residuals in this topology, else a note.
func (a *auditor) residualSeverity(ids []string) string {
	for _, id := range ids {
		if r := a.cfg.Contract.Residuals[id]; r != nil && slices.Contains(r.Warn, a.topology.Name) {
			return Warning
		}
	}
	return Note
}
