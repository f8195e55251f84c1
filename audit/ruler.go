package audit

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// Ruler judges principals by rules that are no part of this package, such as those of a policy engine.
type Ruler interface {
	// Rules lists what it judges by.
	Rules() []PolicyRule
	// Judge judges a batch of principals. An error means that nothing of the batch counts as judged.
	Judge(*Input) ([]RuleFinding, error)
}

// PolicyRule describes one rule of a Ruler.
type PolicyRule struct {
	Check
	// Twin: it restates the generic check of its code, or the invariants of its Kind under their codes. What it finds is compared
	// with what the check itself finds, and never reported.
	Twin bool
	Kind string
	Pos  contract.Pos
}

// PolicyRules lists what a ruler finds of its own, as [Rules] lists what this package finds. A twin's findings are the checks'. The
// ruler may be nil.
func PolicyRules(r Ruler) []Rule {
	if r == nil {
		return nil
	}
	var out []Rule
	for _, p := range r.Rules() {
		if !p.Twin {
			out = append(out, Rule{Code: p.Code, Severity: p.Severity, Family: PolicyFamily, Title: p.Title, Cite: p.Cite, Help: p.Hint})
		}
	}
	return out
}

// PolicyFamily is the family of rules that a [Ruler] brings.
const PolicyFamily = "rules"

// RuleFinding is what a rule found. It is about a principal of the input, or about a row.
type RuleFinding struct {
	Rule      PolicyRule
	Code      string // of a twin of a kind: the invariant's
	Severity  string
	Message   string
	Principal int    // id, or -1
	Entry     string // text of an entry of the principal, or ""
	Witness   string
	Row       string // id, where Principal is -1
}

// ruleBatch is how many principals are judged at a time: it bounds the memory of an input document.
const ruleBatch = 128

// ruling is the state of a Ruler's part in an audit.
type ruling struct {
	in     *Input
	batch  []*Principal
	native map[ruleKey]string // what this package found about the batch → its witness
	twins  map[string]bool    // codes that twins restate
	rows   map[string]bool    // findings about rows that were reported
}

// ruleKey is what a finding and its twin agree on.
type ruleKey struct {
	principal   int
	code, entry string
}

// rulesCode is the form of a rule's code; codes of A and digits are the generic checks'.
var (
	rulesCode   = regexp.MustCompile(`^[A-Z][A-Z0-9]*(-[A-Z0-9]+)*$`)
	genericCode = regexp.MustCompile(`^A[0-9]+$`)
)

// newRuling holds the codes of a Ruler's rules against those that are taken.
func (a *auditor) newRuling() error {
	a.ruling = &ruling{native: map[ruleKey]string{}, twins: map[string]bool{}, rows: map[string]bool{}}
	taken := map[string]string{}
	if c := a.cfg.Contract; c != nil {
		for _, inv := range c.Invariants {
			taken[inv.Code] = "an invariant of the contract has it"
		}
	}
	var probs contract.Problems
	for _, r := range a.cfg.Rules.Rules() {
		switch {
		case r.Twin:
			a.twin(r)
			continue
		case !rulesCode.MatchString(r.Code):
			probs = append(probs, &contract.Problem{Pos: r.Pos, What: "code of the rule", Got: fmt.Sprintf("%q", r.Code),
				Want: "upper case letters, digits and -, such as R001"})
		case genericCode.MatchString(r.Code):
			probs = append(probs, &contract.Problem{Pos: r.Pos, What: "code " + r.Code + ": A and digits are the generic checks'",
				Hint: "take another letter, such as R001"})
		case taken[r.Code] != "":
			probs = append(probs, &contract.Problem{Pos: r.Pos, What: "code " + r.Code + " is taken: " + taken[r.Code], Hint: "a code is never reused"})
		}
		taken[r.Code] = "another rule has it"
		a.out.Checked.Invariants++
	}
	return probs.Err()
}

func (a *auditor) twin(r PolicyRule) {
	if r.Kind == "" {
		a.ruling.twins[r.Code] = true
		return
	}
	if a.cfg.Contract == nil {
		return
	}
	for _, inv := range a.cfg.Contract.Invariants {
		if inv.Kind == r.Kind && restated(inv) {
			a.ruling.twins[inv.Code] = true
		}
	}
}

// rule puts a judged principal before the rules, a batch at a time.
func (a *auditor) rule(p *Principal) {
	if a.ruling == nil {
		return
	}
	r := a.ruling
	if r.in == nil {
		r.in = a.newInput()
	}
	a.describe(r.in, p)
	r.batch = append(r.batch, p)
	p.powersOf, p.powers = nil, nil // a batch keeps no world
	if len(r.batch) == ruleBatch || len(r.in.Spaces) >= maxCached {
		a.applyRules()
	}
}

// found keeps a native finding that a twin must find too.
func (a *auditor) found(code, entry, witness string) {
	if r := a.ruling; r != nil && r.twins[code] {
		r.native[ruleKey{len(r.batch), code, entry}] = witness
	}
}

// applyRules judges the batch and begins another.
func (a *auditor) applyRules() {
	r := a.ruling
	if r == nil || len(r.batch) == 0 {
		return
	}
	found, err := a.cfg.Rules.Judge(r.in)
	if err != nil {
		a.problem(err)
	} else {
		a.ruled(found)
	}
	r.in, r.batch = nil, nil
	clear(r.native)
}

func (a *auditor) ruled(found []RuleFinding) {
	restated := map[ruleKey]string{}
	for _, f := range found {
		if f.Principal < 0 {
			a.ruledRow(f)
			continue
		}
		if f.Principal >= len(a.ruling.batch) {
			a.badFinding(f, fmt.Sprintf("principal, got %d, want the id of one in the input", f.Principal))
			continue
		}
		p := a.ruling.batch[f.Principal]
		e, err := p.entryOf(f)
		if err != nil {
			a.badFinding(f, p.shown(err.Error()))
			continue
		}
		if f.Rule.Twin {
			restated[ruleKey{f.Principal, f.Code, f.Entry}] = f.Witness
			continue
		}
		a.add(p, e, Finding{Code: f.Code, Severity: f.Severity, Cite: f.Rule.Cite, Hint: f.Rule.Hint, Witness: f.Witness, Message: f.Message})
	}
	a.compare(restated)
}

// ruledRow reports a finding about a row of the contract, once whatever the number of batches.
func (a *auditor) ruledRow(f RuleFinding) {
	row := a.rows[f.Row]
	if row == nil {
		a.badFinding(f, fmt.Sprintf("row, got %q, want one of the contract", f.Row))
		return
	}
	key := strings.Join([]string{"row", f.Code, f.Row, f.Message}, "\x00")
	if a.ruling.rows[key] {
		return
	}
	a.ruling.rows[key] = true
	a.out.Findings = append(a.out.Findings, Finding{Code: f.Code, Severity: f.Severity, Subject: strings.Join(row.Profiles, ", "),
		Rows: []string{row.ID},
		Cite: f.Rule.Cite, Hint: f.Rule.Hint, Message: f.Message, Witness: f.Witness, File: row.Pos.File, Line: row.Pos.Line})
}

func (a *auditor) badFinding(f RuleFinding, what string) {
	a.problem(&contract.Problem{Pos: f.Rule.Pos, What: "rule " + cmp.Or(f.Code, f.Rule.Code) + ": finding: " + what})
}

// entryOf finds the entry that a rule's finding is about, which must admit its witness.
func (p *Principal) entryOf(f RuleFinding) (Entry, error) {
	if f.Entry == "" {
		return Entry{}, nil
	}
	held := false
	var found []Entry
	for _, d := range p.directions() {
		for _, e := range slices.Concat(d.allows(), d.Deny) {
			if e.String() != f.Entry {
				continue
			}
			held = true
			wide := e.Pattern
			if d == &p.Sub {
				wide = subject.Widen(wide)
			}
			if f.Witness == "" || wide.Matches(f.Witness) {
				if len(found) == 0 || found[0].dir != e.dir {
					found = append(found, e)
				}
			}
		}
	}
	if len(found) > 0 {
		if len(found) > 1 {
			found[0].dir = "" // the rule does not say which: what holds both is not what held one
		}
		return found[0], nil
	}
	if !held {
		return Entry{}, fmt.Errorf("entry, got %q, want the text of one that principal %d holds", f.Entry, f.Principal)
	}
	return Entry{}, fmt.Errorf("witness, got %q, want a subject that the entry %q admits", f.Witness, f.Entry)
}

// compare holds what twins found against what the checks that they restate found. A difference means that one of the two is
// wrong, and the audit does not say which: it has failed.
func (a *auditor) compare(restated map[ruleKey]string) {
	for key := range a.ruling.native {
		if _, ok := restated[key]; !ok {
			a.differ(key, "the check finds it, its Rego twin does not")
		}
	}
	for key := range restated {
		if _, ok := a.ruling.native[key]; !ok {
			a.differ(key, "its Rego twin finds it, the check does not")
		}
	}
}

func (a *auditor) differ(key ruleKey, what string) {
	p := a.ruling.batch[key.principal]
	a.problem(&contract.Problem{What: p.shown(fmt.Sprintf("%s of %s, entry %q: %s", key.code, p.Name, key.entry, what)),
		Hint: "this is a fault of cotalctl: report it with the output of audit --print-input"})
}
