package audit

import (
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Counts reports whether a finding is neither waived nor of a baseline.
func (f *Finding) Counts() bool { return f.Waived == nil && !f.Baselined }

// Failing counts the findings of a severity and of those above it that are neither waived nor of a baseline.
func (r *Report) Failing(severity string) int {
	n := 0
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Counts() && rank(f.Severity) <= rank(severity) {
			n++
		}
	}
	return n
}

// Failed lists what could not be judged: the problems that are returned beside the report.
func (r *Report) Failed() contract.Problems { return slices.Clone(r.problems) }

// acceptable reports whether a waiver or a baseline may hold for a code. What could not be judged has not been accepted by whoever
// accepts what was found, and what is said of a waiver or a baseline is for its author to mend.
func acceptable(code string) bool {
	return !slices.Contains([]string{codeUnjudged, codeExpired, codeIdleWaiver, codeStale, codeLongWaiver}, code)
}
