package audit

import (
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// borne is a row with the residuals that a principal has by it: those that say which subjects they are about (reaches) only where an entry
// of the row reaches one. The same residuals of a row are the same value.
func (a *auditor) borne(p *Principal, row *contract.Row) *contract.Row {
	if row == nil || a.partly[row.ID] == nil {
		return row
	}
	ids := slices.DeleteFunc(slices.Clone(row.Residuals), func(id string) bool {
		r := a.cfg.Contract.Residuals[id]
		return r != nil && len(r.Reaches) > 0 && !a.held(p, row.ID, r)
	})
	for _, known := range a.partly[row.ID] {
		if slices.Equal(known.Residuals, ids) {
			return known
		}
	}
	some := *row
	some.Residuals = ids
	a.partly[row.ID] = append(a.partly[row.ID], &some)
	return &some
}

// held reports whether an entry of a row reaches what a residual is about. Where that cannot be told the residual stands.
func (a *auditor) held(p *Principal, row string, r *contract.Residual) bool {
	if !a.isSpace(p.Space) {
		return true
	}
	scope := a.rulesOf(p.Space).scope
	if scope == nil {
		return true
	}
	families, err := patterns(scope, r.Reaches)
	if err != nil {
		return true
	}
	for _, d := range p.directions() {
		for _, e := range d.Allow {
			if slices.Contains(e.Rows, row) && slices.ContainsFunc(families, func(f subject.Pattern) bool { _, ok := p.reaches(d, e, f); return ok }) {
				return true
			}
		}
	}
	return false
}
