package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// waiver is one of a contract with the row that it stands beside, or none, and what it met in a report.
type waiver struct {
	*contract.Waiver
	row  *contract.Row
	used bool
}

func waiversOf(c *contract.Contract) []*waiver {
	var out []*waiver
	for _, row := range c.Rows {
		for _, w := range row.Waivers {
			out = append(out, &waiver{Waiver: w, row: row})
		}
	}
	for _, w := range c.Waivers {
		out = append(out, &waiver{Waiver: w})
	}
	return out
}

// Waive marks what the contract's waivers accept at the clock of cfg, and reports what is wrong with them. Without a clock no waiver
// holds. It is done for every report that this package returns; whoever adds findings to one does it again.
func (r *Report) Waive(cfg Config) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		return f.Code == codeExpired || f.Code == codeIdleWaiver || f.Code == codeLongWaiver
	})
	for i := range r.Findings {
		r.Findings[i].Waived = nil
	}
	if cfg.Contract == nil || cfg.Now.IsZero() {
		return
	}
	waivers := waiversOf(cfg.Contract)
	if len(waivers) == 0 {
		return
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, w := range waivers {
			if !w.covers(f) {
				continue
			}
			w.used = true
			if until := w.Until.Format(time.DateOnly); !w.Expired(cfg.Now) && (f.Waived == nil || f.Waived.Until < until) {
				f.Waived = &Waiver{Reason: w.Reason, Until: until}
			}
		}
	}
	for _, w := range waivers {
		r.judgeWaiver(cfg, w)
	}
	r.sort()
}

// covers reports whether the waiver is of a finding. One about a profile or resource is of findings that are about no row; a
// credential's entry that no row gives is nothing that a contract can accept.
func (w *waiver) covers(f *Finding) bool {
	switch {
	case f.Code != w.Code || !acceptable(f.Code):
		return false
	case w.row != nil:
		return slices.Contains(f.Rows, w.row.ID)
	}
	return len(f.Rows) == 0 && (f.Subject == w.About || f.profile == w.About) && (f.Entry == "" || !f.read)
}

// judgeWaiver reports what is wrong with one. An audit of some credentials cannot tell that it matches nothing.
func (r *Report) judgeWaiver(cfg Config, w *waiver) {
	what := "the waiver of " + w.Code
	switch {
	case w.Expired(cfg.Now):
		if w.used || r.whole {
			r.aboutWaiver(codeExpired, w, fmt.Sprintf("%s expired on %s: %s", what, w.Until.Format(time.DateOnly), w.Reason))
		}
		return
	case !r.whole:
		return
	case w.Until.After(cfg.Now.AddDate(1, 0, 0)):
		r.aboutWaiver(codeLongWaiver, w, fmt.Sprintf("%s reaches to %s", what, w.Until.Format(time.DateOnly)))
	}
	rules := r.allRules()
	at := slices.IndexFunc(rules, func(rule Rule) bool { return rule.Code == w.Code })
	switch {
	case w.used || !stands(cfg, w) || at >= 0 && check(w.Code).outside:
	case !acceptable(w.Code):
		r.aboutWaiver(codeIdleWaiver, w, fmt.Sprintf("%s holds for nothing: %s is not to be waived", what, w.Code))
	case at < 0:
		r.aboutWaiver(codeIdleWaiver, w, what+" matches nothing: no rule of this audit has that code")
	default:
		r.aboutWaiver(codeIdleWaiver, w, what+" matches no finding")
	}
}

// stands reports whether what is waived is of the topology that was judged.
func stands(cfg Config, w *waiver) bool {
	t, ok := cfg.Contract.Topology(cfg.Topology)
	if !ok || w.row != nil && !w.row.In(t.Name) {
		return false
	}
	return !slices.ContainsFunc(cfg.Contract.Invariants, func(inv *contract.Invariant) bool { return inv.Code == w.Code && !inv.In(t.Name) })
}

func (r *Report) aboutWaiver(code string, w *waiver, message string) {
	c := check(code)
	f := Finding{Code: code, Severity: c.Severity, Subject: w.About, Rows: []string{}, Cite: c.Cite, Hint: c.Hint, Message: message,
		File: w.Pos.File, Line: w.Pos.Line}
	if w.row != nil {
		f.Subject, f.Rows = w.row.ID, []string{w.row.ID}
	}
	r.Findings = append(r.Findings, f)
}
