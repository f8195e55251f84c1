package audit

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// Deputy is one class of bytes that a holder can have the server publish with its own authority, on subjects that no grant of the
// holder's names: the reply subject of a request and the subject of a delivery are not confined by permissions.
type Deputy struct {
	Subject   string   `json:"subject"` // who can: a profile, else the name or public key of a credential
	Profile   string   `json:"profile"` // a profile of the contract, or ""
	Topology  string   `json:"topology"`
	Account   string   `json:"account"`   // in which the bytes are published; "" where no contract says
	Class     string   `json:"class"`     // of the contract format's deputy classes
	Rows      []string `json:"rows"`      // that confer it, sorted; empty where unknown
	Targets   []string `json:"targets"`   // patterns of the subjects that the bytes can be sent to
	Except    []string `json:"except"`    // patterns that the server refuses among them
	Stores    []string `json:"stores"`    // resources of the contract that store the bytes there
	FreeOnly  []string `json:"free_only"` // those of them in which a subject that has a message keeps it
	Residuals []string `json:"residuals"` // of the rows, that declare the class
	File      string   `json:"file"`      // of a credential
}

// The codes of the confused deputy.
const (
	codeUndeclared  = "A070"
	codeStaleDeputy = "A071"
	codeRedirect    = "A072"
)

func deputyChecks() []Check {
	const cite = "broker-facts: Redirected replies (the confused deputy)"
	return []Check{
		{Code: codeUndeclared, Severity: Error, Title: "the server can be made to place bytes that nothing declares", Cite: cite,
			Hint: "give the row a residual that declares the class (deputy:), take the entry away, or place the stores in an account without the holder"},
		{Code: codeStaleDeputy, Severity: Warning, Title: "a declared deputy class that no entry of the row confers", Cite: cite,
			Hint: "take the residual off the row, or the class off the residual"},
		{Code: codeRedirect, Severity: Warning, Title: "an API grant places stored bytes on any subject of the account", Cite: cite,
			Hint: "read through a trusted service, or keep what must not be written by this holder in another account"},
	}
}

// deputize computes what a principal can have the server place where, and holds it to what its rows declare.
func (a *auditor) deputize(p *Principal) {
	if a.cfg.Contract == nil {
		a.redirects(p)
		return
	}
	if !a.concerned(p) {
		a.redirects(p)
		return
	}
	for _, space := range a.spaces(p) {
		w := a.world(space)
		if w == nil {
			continue
		}
		powers := a.powersIn(p, w)
		for i := range powers {
			a.tally(p, w, &powers[i])
		}
		a.undeclared(p, w, powers)
	}
}

// powers are those of a principal in every account that it may stand in, computed once for a space.
func (a *auditor) powersIn(p *Principal, w *world) []deputyPower {
	if p.powersOf != w {
		p.powersOf, p.powers = w, nil
		for _, account := range a.accountsOf(p, w) {
			p.powers = append(p.powers, p.powersIn(w, account)...)
		}
	}
	return p.powers
}

// accountsOf are the accounts that a principal may stand in: its own where that is known, else the only one of its profile, else
// those whose stores its entries speak of. A user JWT does not say which account of a contract its issuer is.
func (a *auditor) accountsOf(p *Principal, w *world) []string {
	if p.Account != "" {
		return []string{p.Account}
	}
	var own []string
	if profile := a.profile(p.Profile); profile != nil {
		if own = compile.Accounts(a.cfg.Contract, a.topology, profile); len(own) == 1 {
			return own
		}
	}
	if touched := p.touches(w); len(touched) > 0 || own == nil {
		return touched
	}
	return own[:1]
}

// undeclared reports powers that no residual of their rows declares (A070): of a compiled profile row by row, and of a credential
// once, where it is untrusted and something of the contract would store the bytes.
func (a *auditor) undeclared(p *Principal, w *world, powers []deputyPower) {
	type fault struct {
		first   *deputyPower
		classes []string
	}
	faults := map[string]*fault{}
	allows := p.Pub.allows()
	for i := range powers {
		q := &powers[i]
		rows := a.undeclaredRows(p, allows[q.entry], q.class)
		if rows == nil || !p.Sampled && (p.Trust != contract.TrustUntrusted || len(w.reachOf(q).landings) == 0) {
			continue
		}
		for _, row := range rows {
			f := faults[row]
			if f == nil {
				f = &fault{first: q}
				faults[row] = f
			}
			if !slices.Contains(f.classes, q.class) {
				f.classes = append(f.classes, q.class)
			}
		}
	}
	for _, row := range slices.Sorted(maps.Keys(faults)) {
		f := faults[row]
		e := allows[f.first.entry]
		e.Rows = []string{}
		about := "a declared row"
		if row != "" {
			e.Rows, about = []string{row}, "a residual of row "+row
		}
		slices.Sort(f.classes)
		a.report(p, codeUndeclared, e, p.target(w.reachOf(f.first)),
			"can have the server place "+strings.Join(f.classes, ", ")+" on any subject of its account ("+
				w.reachOf(f.first).summary()+"), which "+about+" would have to declare")
	}
}

// undeclaredRows are the rows behind an entry that confer a class and do not declare it; [""] where no row is known, nil where
// all is declared. Of several rows behind an entry of a credential one that declares it is enough.
func (a *auditor) undeclaredRows(p *Principal, e Entry, class string) []string {
	rows := e.Rows
	if len(rows) == 0 && p.Profile == "" {
		rows = a.untrustedRows(p, e)
	}
	var missing []string
	for _, id := range rows {
		if a.declares(id, class) {
			if !p.Sampled {
				return nil
			}
		} else if !p.Sampled || len(rows) == 1 || p.confers(id, class) {
			missing = append(missing, id)
		}
	}
	if len(rows) == 0 {
		return []string{""}
	}
	return missing
}

// declares reports whether a residual of the row declares the class.
func (a *auditor) declares(row, class string) bool {
	return len(a.declaring(row, class)) > 0
}

// declaring are the residuals of the row that declare the class.
func (a *auditor) declaring(row, class string) []string {
	var out []string
	if r := a.rows[row]; r != nil {
		for _, id := range r.Residuals {
			if residual := a.cfg.Contract.Residuals[id]; residual != nil && slices.Contains(residual.Deputy, class) {
				out = append(out, id)
			}
		}
	}
	return out
}

// confers reports whether a row of a compiled profile confers a class by a grant of its own: an entry may stand for several rows
// of which one alone is captured.
func (p *Principal) confers(row, class string) bool {
	if p.byRow == nil {
		p.byRow = p.rowPowers()
	}
	return p.unsure || p.byRow[row][class]
}

// untrustedRows are the rows of untrusted profiles that give the entry, whoever holds them: a credential that does not say what it
// is has no more by them than they declare.
func (a *auditor) untrustedRows(p *Principal, e Entry) []string {
	var out []string
	for _, profile := range contract.Sorted(a.cfg.Contract.Profiles) {
		if profile.Trust != contract.TrustUntrusted {
			continue
		}
		origins, _, err := a.origins(profile, nil, cmp.Or(p.Space, a.sampleSpace()))
		if err != nil {
			continue // the profile asks for what is not stated: nothing of it vouches
		}
		if rows, ok := grouped(origins).rowsOf(compile.Pub, false, e.Entry); ok {
			out = append(out, rows...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// target is a subject that would be stored, one that the principal may not publish itself where there is such.
func (p *Principal) target(r *reach) string {
	var own []subject.Pattern
	for _, e := range p.Pub.allows() {
		own = append(own, e.Pattern)
	}
	for _, l := range r.landings {
		for _, s := range l.subjects {
			if w, ok := subject.WitnessOutside(s, slices.Concat(r.except, own)); ok {
				return w
			}
		}
	}
	if len(r.landings) > 0 {
		return r.landings[0].witness
	}
	return ""
}

// redirects reports API grants whose answer is what a stream holds, where no contract says what that can reach (A072).
func (a *auditor) redirects(p *Principal) {
	var classes []string
	first := -1
	request := ""
	for _, q := range p.powersIn(nil, "") {
		pull := q.class == contract.DeputyStored && !strings.Contains(q.request, ".CREATE")
		if q.class == contract.DeputyAPI || q.class == contract.DeputyStatus || q.class == contract.DeputySystem || pull {
			continue
		}
		if first < 0 {
			first, request = q.entry, q.request
		}
		if !slices.Contains(classes, q.class) {
			classes = append(classes, q.class)
		}
	}
	if first >= 0 {
		slices.Sort(classes)
		a.report(p, codeRedirect, p.Pub.allows()[first], request, "can have the server place "+strings.Join(classes, ", ")+
			" on any subject of the account, by the reply subject or the body of the request")
	}
}
