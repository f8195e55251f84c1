package source

import "github.com/cotalctl/cotalctl/internal/contract"

// Error is one thing that is wrong in a file: "file:line:col: row ID: what, got X, want Y".
type Error = contract.Problem

// Errors are the errors of a whole load, sorted by position and without repeats once returned by [Report.Err].
type Errors = contract.Problems

// maxErrors bounds what one load collects, so that hostile input cannot fill memory with messages.
const maxErrors = 2000

// Report collects the errors of one load. The zero value is ready; it is not safe for concurrent use.
type Report struct {
	errs Errors
}

// Add records one error.
func (r *Report) Add(e Error) {
	switch {
	case len(r.errs) < maxErrors:
		r.errs = append(r.errs, &e)
	case len(r.errs) == maxErrors:
		r.errs = append(r.errs, &Error{Pos: e.Pos, What: "too many errors, the rest is not shown"})
	}
}

// Err returns all errors sorted by position as [Errors], or nil.
func (r *Report) Err() error { return r.errs.Err() }
