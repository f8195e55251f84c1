package audit

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// wantJudged says what a file of a directory is where the audit passes over it.
const wantJudged = "neither credentials nor compiled sets nor configurations"

// WriteText writes the report for a person: the verdict, then what counts by severity and code, each code with its title and what to do
// once, and each residual once; then what is waived or of a baseline, and a last line that says what was looked at. Notes are counted
// alone. Text from a credential is written with its control characters escaped. The JSON form has one finding per row that carries a
// residual.
func (r *Report) WriteText(w io.Writer) error { return r.writeText(w, Render{}) }

func (r *Report) writeText(w io.Writer, o Render) error {
	t := &textWriter{Writer: bufio.NewWriter(w), color: o.Color, rules: map[string]*Rule{}}
	for _, rule := range r.allRules() {
		t.rules[rule.Code] = &rule
	}
	t.verdict(r, o)
	for _, severity := range []string{Error, Warning, Note} {
		group := r.of(severity)
		if severity == Note && !o.notes() {
			t.countNotes(group)
			continue
		}
		t.severity(severity, r.apart(group, byItself))
		t.powers(r.apart(group, ofPower))
		r.writeResiduals(t, severity, r.apart(group, ofResidual))
	}
	r.writeDeputies(t, o.notes())
	t.accepted(r)
	if r.Skipped > 0 {
		fmt.Fprintf(t, "skipped %d files that are %s\n", r.Skipped, wantJudged)
	}
	t.summary(r)
	return t.Flush()
}

// The sorts of findings that the text form writes each in its way.
const (
	byItself   = iota
	ofPower    // a power that a residual declares
	ofResidual // A100
)

// sort tells how the text form writes a finding.
func (f *Finding) sort() int {
	switch {
	case len(f.residuals) > 0:
		return ofResidual
	case f.declaredBy != "":
		return ofPower
	}
	return byItself
}

// apart are the findings of one sort.
func (r *Report) apart(group []*Finding, sort int) []*Finding {
	var out []*Finding
	for _, f := range group {
		if f.sort() == sort {
			out = append(out, f)
		}
	}
	return out
}

// verdict is the first line: whether anything fails, and how much there is.
func (t *textWriter) verdict(r *Report, o Render) {
	word, as := "clean", "title"
	if r.Failing(cmp.Or(o.FailOn, Error)) > 0 || len(r.problems) > 0 {
		word, as = "failed", Error
	}
	fmt.Fprintf(t, "%s: %s", t.paint(as, word), r.counts())
	if !o.notes() && len(r.of(Note)) > 0 {
		fmt.Fprint(t, " (--notes shows them)")
	}
	if len(r.problems) > 0 {
		fmt.Fprintf(t, "; %d could not be judged", len(r.problems))
	}
	fmt.Fprint(t, "\n\n")
}

func (r *Report) counts() string {
	return fmt.Sprintf("%d errors, %d warnings, %d notes", len(r.of(Error)), len(r.of(Warning)), len(r.of(Note)))
}

// countNotes writes a line per family of notes: how many, and of which codes.
func (t *textWriter) countNotes(notes []*Finding) {
	if len(notes) == 0 {
		return
	}
	codes := map[string]map[string]int{}
	for _, f := range notes {
		family := "other"
		switch rule := t.rules[f.Code]; {
		case f.sort() == ofResidual:
			family = "declared residuals"
		case f.sort() == ofPower:
			family = "powers that a residual declares"
		case rule != nil:
			family = rule.Family
		}
		if codes[family] == nil {
			codes[family] = map[string]int{}
		}
		codes[family][f.Code]++
	}
	fmt.Fprintf(t, "%s\n", t.paint(Note, fmt.Sprintf("note (%d)", len(notes))))
	for _, family := range slices.Sorted(maps.Keys(codes)) {
		var said []string
		for _, code := range slices.Sorted(maps.Keys(codes[family])) {
			said = append(said, fmt.Sprintf("%d %s", codes[family][code], code))
		}
		fmt.Fprintf(t, "  %s\n", wrapped(clean(family+": "+strings.Join(said, ", ")), "    "))
	}
	fmt.Fprintln(t)
}

// of are the findings of a severity that count.
func (r *Report) of(severity string) []*Finding {
	return r.those(func(f *Finding) bool { return f.Severity == severity && f.Counts() })
}

func (r *Report) those(want func(*Finding) bool) []*Finding {
	var out []*Finding
	for i := range r.Findings {
		if f := &r.Findings[i]; want(f) {
			out = append(out, f)
		}
	}
	return out
}

// textWriter writes the text form; rules are what a code's heading says.
type textWriter struct {
	*bufio.Writer
	color bool
	rules map[string]*Rule
}

// sgr are the ANSI attributes of headings, by severity.
var sgr = map[string]string{Error: "1;31", Warning: "1;33", Note: "1;36", "title": "1"}

// paint puts text into the colour of a severity, on a terminal.
func (t *textWriter) paint(as, text string) string {
	if !t.color || sgr[as] == "" {
		return text
	}
	return "\x1b[" + sgr[as] + "m" + text + "\x1b[0m"
}

// severity writes the findings of one severity, which are in the order of their codes.
func (t *textWriter) severity(severity string, group []*Finding) {
	if len(group) == 0 {
		return
	}
	fmt.Fprintf(t, "%s\n", t.paint(severity, fmt.Sprintf("%s (%d)", severity, len(group))))
	for len(group) > 0 {
		n := 1
		for n < len(group) && group[n].Code == group[0].Code {
			n++
		}
		t.code(severity, group[:n])
		group = group[n:]
	}
	fmt.Fprintln(t)
}

// code writes what all findings of a code share, then each of them.
func (t *textWriter) code(severity string, group []*Finding) {
	first := group[0]
	title, page := t.titled(first.Code)
	fmt.Fprintf(t, "  %s%s (%d)\n", t.paint(severity, first.Code), title, len(group))
	hint, cite := first.Hint, first.Cite
	for _, f := range group {
		if f.Hint != hint {
			hint = ""
		}
		if f.Cite != cite {
			cite = ""
		}
	}
	t.fields("    ", [][2]string{{"hint", hint}, {"cite", cite}, {"page", page}})
	for _, f := range group {
		fmt.Fprintf(t, "  %s %s: %s\n", f.Code, clean(f.Subject), clean(f.Message))
		own := [][2]string{{"entry", f.Entry}, {"witness", f.Witness}, {"rows", strings.Join(f.Rows, ", ")}, {"at", f.at()}, {"cite", f.Cite},
			{"hint", f.Hint}, {"also", strings.Join(f.Also, ", ")}}
		if cite != "" {
			own[4][1] = ""
		}
		if hint != "" {
			own[5][1] = ""
		}
		t.fields("    ", own)
	}
}

// titled is what a code's heading says behind the code, and the page on which more stands: most citations name texts that a reader of
// the report does not have.
func (t *textWriter) titled(code string) (title, page string) {
	rule := t.rules[code]
	if rule == nil {
		return "", ""
	}
	if rule.Title != rule.Code {
		title = t.paint("title", ": "+clean(rule.Title))
	}
	return title, rule.Page
}

func (t *textWriter) fields(indent string, list [][2]string) {
	for _, field := range list {
		if field[1] != "" {
			fmt.Fprintf(t, "%s%-8s %s\n", indent, field[0], clean(field[1]))
		}
	}
}

// at is where a finding stands: a file, and the line where that is known.
func (f *Finding) at() string {
	if f.File != "" && f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.File
}

// accepted lists what was found and does not count.
func (t *textWriter) accepted(r *Report) {
	waived := r.those(func(f *Finding) bool { return f.Waived != nil })
	if len(waived) > 0 {
		fmt.Fprintf(t, "waived (%d)\n", len(waived))
	}
	for _, f := range waived {
		fmt.Fprintf(t, "  %s %s: %s\n", f.Code, clean(f.Subject), clean(f.Message))
		t.fields("    ", [][2]string{{"entry", f.Entry}, {"at", f.at()}, {"waived", f.Waived.Reason + " (until " + f.Waived.Until + ")"}})
	}
	known := r.those(func(f *Finding) bool { return f.Baselined && f.Waived == nil })
	if len(waived) > 0 {
		fmt.Fprintln(t)
	}
	if len(known) == 0 {
		return
	}
	fmt.Fprintf(t, "baseline (%d): known before, and not counted\n", len(known))
	for i, f := range known {
		if i == maxKnown {
			fmt.Fprintf(t, "  and %d more\n", len(known)-i)
			break
		}
		fmt.Fprintf(t, "  %s %s: %s\n", f.Code, clean(f.Subject), clean(cmp.Or(f.Entry, f.Message)))
	}
	fmt.Fprintln(t)
}

// maxKnown bounds what the text form lists of a baseline: a fleet that adopts the audit wants to see what is new.
const maxKnown = 20

func (t *textWriter) summary(r *Report) {
	c := r.Checked
	fmt.Fprintf(t, "checked %d invariants, %d profiles, %d entries, %d files; %s", c.Invariants, c.Profiles, c.Entries, c.Files, r.counts())
	if n := len(r.those(func(f *Finding) bool { return f.Waived != nil })); n > 0 {
		fmt.Fprintf(t, "; %d waived", n)
	}
	if n := len(r.those(func(f *Finding) bool { return f.Baselined && f.Waived == nil })); n > 0 {
		fmt.Fprintf(t, "; %d of the baseline", n)
	}
	if len(r.problems) > 0 {
		fmt.Fprintf(t, "; %d could not be judged", len(r.problems))
	}
	fmt.Fprintln(t)
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
