package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// report adds the finding of a generic check.
func (a *auditor) report(p *Principal, code string, e Entry, witness, message string) {
	severity := check(code).Severity
	if check(code).power && a.cfg.Contract != nil && a.touched(p, e) {
		severity = Error
	}
	a.reportAs(p, code, severity, e, witness, message)
}

// reportAs adds the finding with a severity of its own, or as a note where a residual of the entry's row declares it.
func (a *auditor) reportAs(p *Principal, code, severity string, e Entry, witness, message string) {
	c := check(code)
	residual, row := a.excused(e.Rows, code)
	if residual != "" {
		severity = Note
		message += fmt.Sprintf("; declared by residual %s of row %s", residual, row)
	}
	a.add(p, e, Finding{Code: code, Severity: severity, Cite: c.Cite, Hint: c.Hint, Witness: witness, Message: contract.Redact(message), declaredBy: residual})
}

// unknown reports what could not be judged and might be anything: that is no pass.
func (a *auditor) unknown(p *Principal, message, hint string) {
	n := len(a.out.Findings)
	a.reportAs(p, codeUnjudged, Error, Entry{}, "", message)
	if len(a.out.Findings) > n && hint != "" {
		a.out.Findings[n].Hint = hint
	}
}

// hinted is report with a hint of the finding's own.
func (a *auditor) hinted(p *Principal, code string, e Entry, witness, message, hint string) {
	n := len(a.out.Findings)
	a.report(p, code, e, witness, message)
	if len(a.out.Findings) > n {
		a.out.Findings[n].Hint = hint
	}
}

// excused returns the residual of one of the rows that says what a code is about.
func (a *auditor) excused(rows []string, code string) (residual, row string) {
	for _, id := range rows {
		if r := a.rows[id]; r != nil {
			for _, name := range r.Residuals {
				if known := a.cfg.Contract.Residuals[name]; known != nil && slices.Contains(known.Covers, code) {
					return name, id
				}
			}
		}
	}
	return "", ""
}

// add completes a finding with what it is about and keeps it once.
func (a *auditor) add(p *Principal, e Entry, f Finding) {
	a.lasting(p, e, &f)
	f.Subject, f.Rows, f.File = p.Name, append([]string{}, e.Rows...), p.File
	if at := cmp.Or(e.at, p.at); at != (spot{}) {
		f.File, f.Line = at.file, at.line
	}
	if e.Pattern != "" {
		f.Entry, f.Dir = e.String(), e.dir
	}
	a.found(f.Code, f.Entry, f.Witness)
	if p.conf != nil { // a rule's finding comes after its configuration was judged
		for _, text := range []*string{&f.Subject, &f.Entry, &f.Message, &f.Witness, &f.Hint} {
			*text = p.shown(*text)
		}
	}
	if f.File == "" && len(f.Rows) > 0 && a.rows[f.Rows[0]] != nil {
		pos := a.rows[f.Rows[0]].Pos
		f.File, f.Line = pos.File, pos.Line
	}
	if profile := a.profile(p.Profile); f.File == "" && profile != nil {
		f.File, f.Line = profile.Pos.File, profile.Pos.Line
	}
	byEntry := strings.Join([]string{f.Code, f.File, f.Subject, f.Entry, f.Dir, messageKey(f)}, "\x00")
	if f.Entry == "" && f.Line > 0 {
		byEntry += fmt.Sprint("\x00", f.Line)
	}
	seen := a.seen
	if e.at.file != "" && e.at.file != p.File || e.at.file == "" && p.at.file != "" && p.at.file != p.File {
		seen = a.shared // another configuration may include it too
	}
	if _, twice := seen[byEntry]; twice {
		return
	}
	seen[byEntry] = len(a.out.Findings)
	if p.Sampled && len(f.Rows) > 0 && a.sampledBefore(p, f) {
		return
	}
	if !a.saidBefore(p, &f) {
		a.out.Findings = append(a.out.Findings, f)
	}
}

// sampledBefore reports whether a row of a sampled profile has shown this already: its other entries and identities differ in
// sample values alone, or in the elements that the row iterates over. Those of the first identity are counted.
func (a *auditor) sampledBefore(p *Principal, f Finding) bool {
	byRows := strings.Join(append([]string{"rows", f.Code, f.Subject, f.Dir}, f.Rows...), "\x00")
	first, before := a.seen[byRows]
	if !before {
		a.seen[byRows] = len(a.out.Findings)
		return false
	}
	if !p.repeat {
		a.out.Findings[first].more++
	}
	return true
}

// messageKey tells findings about no entry apart.
func messageKey(f Finding) string {
	if f.Entry != "" {
		return ""
	}
	return f.Message
}
