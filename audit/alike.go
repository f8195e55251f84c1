package audit

import (
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// A fleet is thousands of credentials that differ in nothing but the names that they state of their holders. Where a name is none that
// anything else speaks of, no check can tell one from another of the same make: what the entries of one come to, the entries of the
// other come to as well. Such names are masked, the masked credential is judged once, and each member of the class is told the verdict
// with its own names put back. What a JWT says beside its entries (times, size, connection types, signer) is judged for each.
//
// The argument is that masking renames. It is one-to-one on everything that the credential holds, because every text is the same
// again when it is undone; it leaves every word of the contract and of this code in place, because no such word is masked or masks; and it
// keeps every length, and what fits a grammar, so that no bound can tell.

// verdict is what the entries of a masked credential come to.
type verdict struct {
	apart  bool      // there is something wrong with them: each is judged for itself, so that no finding is one of a masked credential alone
	found  []Finding // notes
	powers []powerLine
	borne  []borneRow
}

// powerLine is a line of the table of deputies.
type powerLine struct {
	account, class string
	*tallied
}

// borneRow is a row with residuals and the first entry that it gives.
type borneRow struct {
	entry Entry
	row   *contract.Row
}

// maxVerdicts bounds what is kept.
const maxVerdicts = 1024

// maskedName and maskedFile stand for the name and the file of a masked credential.
const (
	maskedName = "\x00name"
	maskedFile = "\x00file"
)

// judgeAlike judges a user's entries by the verdict on its class; false where it is of none.
func (a *auditor) judgeAlike(p *Principal) bool {
	if a.alone {
		return false
	}
	m := a.maskOf(p)
	if m == nil {
		return false
	}
	class, ok := m.class(p, a.spaces(p))
	if !ok {
		return false
	}
	v := a.verdicts[string(class)]
	if v == nil {
		if len(a.verdicts) >= maxVerdicts {
			clear(a.verdicts)
		}
		v = a.verdictOn(m.principal(p))
		a.verdicts[string(class)] = v
	}
	if v.apart {
		return false
	}
	a.alike++
	a.counted(p)
	a.terms(p)
	a.told(p, m, v)
	a.trim()
	return true
}

// verdictOn judges a masked credential and takes what was found out of the report.
func (a *auditor) verdictOn(q *Principal) *verdict {
	before, problems := len(a.out.Findings), len(a.probs)
	a.nextFile()
	a.join(q)
	a.admitted(q)
	v := &verdict{found: slices.Clone(a.out.Findings[before:]), borne: a.bearing(q)}
	v.apart = len(a.probs) > problems || slices.ContainsFunc(v.found, func(f Finding) bool { return f.Severity != Note })
	a.nextFile()
	a.out.Findings, a.probs = a.out.Findings[:before], a.probs[:problems]
	for key, t := range a.tallies {
		if key.file == maskedFile {
			v.powers = append(v.powers, powerLine{key.account, key.class, t})
			delete(a.tallies, key)
		}
	}
	return v
}

// told gives a credential the verdict on its class, in its own names.
func (a *auditor) told(p *Principal, m mask, v *verdict) {
	for _, f := range v.found {
		f.File, f.Subject = p.File, p.Name
		if a.saidBefore(p, &f) {
			continue
		}
		for _, text := range []*string{&f.Entry, &f.Witness, &f.Message, &f.Hint} {
			*text = m.shown(*text)
		}
		denies := f.denies // of the masked entry
		a.lasting(p, Entry{}, &f)
		for _, d := range denies {
			f.denies = append(f.denies, subject.Pattern(m.shown(string(d))))
		}
		a.out.Findings = append(a.out.Findings, f)
	}
	for _, l := range v.powers {
		a.tallies[tallyKey{p.File, p.Name, l.account, l.class}] = m.line(l.tallied)
	}
	for _, b := range v.borne {
		a.bear(p, b, m.shown)
	}
}
