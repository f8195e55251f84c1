package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// Deputies computes the confused deputy of every profile of cfg.Contract in cfg.Topology, from every sample of its parameters:
// sorted by profile, account and class. What cannot be compiled is returned as [contract.Problems] beside the rest.
func Deputies(cfg Config) ([]Deputy, error) {
	if cfg.Contract == nil {
		return nil, &contract.Problem{What: "deputies", Got: "no contract", Want: "one"}
	}
	a, err := newAuditor(cfg)
	if err != nil {
		return nil, err
	}
	for _, profile := range contract.Sorted(cfg.Contract.Profiles) {
		for n := range 2 {
			for _, s := range compile.Samples(cfg.Contract, profile, a.sampleSpace(), n) {
				a.samplePrincipals(profile, s.Input, n > 0, a.deputize)
			}
		}
	}
	return a.deputies(), a.probs.Err()
}

// SetDeputies computes the confused deputy of one compiled set of cfg.Contract in cfg.Topology.
func SetDeputies(cfg Config, set *compile.PermissionSet) ([]Deputy, error) {
	if cfg.Contract == nil {
		return nil, &contract.Problem{What: "deputies", Got: "no contract", Want: "one"}
	}
	a, err := newAuditor(cfg)
	if err != nil {
		return nil, err
	}
	p := a.setPrincipal(set)
	a.place(p, set.Profile)
	a.deputize(p)
	return a.deputies(), a.probs.Err()
}

// tallyKey is what one line of the table is about.
type tallyKey struct{ file, subject, account, class string }

// tallied collects a line of the table.
type tallied struct {
	profile string
	rows    []string
	targets map[string]bool
	except  []string        // what all do not reach; nil: none was open yet
	stores  map[string]bool // id → keeps what exists
}

// add adds what a power reaches, by name: the reach itself is of a space that may be forgotten. What one may not another may, so
// that the line excepts what all do.
func (t *tallied) add(r *reach) {
	for _, p := range r.targets {
		t.targets[string(p)] = true
	}
	for _, l := range r.landings {
		t.stores[l.id] = l.keeps
	}
	if r.except == nil {
		return
	}
	if t.except == nil {
		t.except = []string{}
		for _, p := range r.except {
			insert(&t.except, string(p))
		}
		return
	}
	t.except = slices.DeleteFunc(t.except, func(text string) bool { return !slices.Contains(r.except, subject.Pattern(text)) })
}

// tally adds a power to the table.
func (a *auditor) tally(p *Principal, w *world, q *deputyPower) {
	key := tallyKey{p.File, p.shown(p.Name), q.account, q.class}
	t := a.tallies[key]
	if t == nil {
		t = &tallied{profile: p.Profile, targets: map[string]bool{}, stores: map[string]bool{}}
		a.tallies[key] = t
	}
	for _, row := range p.Pub.allows()[q.entry].Rows {
		if !slices.Contains(t.rows, row) {
			t.rows = append(t.rows, row)
		}
		if p.Sampled {
			if a.conferred[row] == nil {
				a.conferred[row] = map[string]bool{}
			}
			a.conferred[row][q.class] = true
		}
	}
	t.add(w.reachOf(q))
}

// deputies are the lines of the table, sorted.
func (a *auditor) deputies() []Deputy {
	out := make([]Deputy, 0, len(a.tallies))
	for key, t := range a.tallies {
		slices.Sort(t.rows)
		d := Deputy{Subject: key.subject, Profile: t.profile, Account: key.account, Class: key.class, File: key.file,
			Rows: append([]string{}, t.rows...), Residuals: []string{}}
		if a.topology != nil {
			d.Topology = a.topology.Name
		}
		for _, row := range t.rows {
			d.Residuals = append(d.Residuals, a.declaring(row, key.class)...)
		}
		slices.Sort(d.Residuals)
		d.Residuals = slices.Compact(d.Residuals)
		d.Targets, d.Except = slices.AppendSeq([]string{}, slices.Values(contract.SortedKeys(t.targets))), append([]string{}, t.except...)
		d.Stores, d.FreeOnly = storesOf(t.stores)
		out = append(out, d)
	}
	slices.SortFunc(out, func(x, y Deputy) int {
		return cmp.Or(strings.Compare(x.Subject, y.Subject), strings.Compare(x.File, y.File), strings.Compare(x.Account, y.Account),
			strings.Compare(x.Class, y.Class))
	})
	return out
}

// storesOf are the ids of stores, and of those of them that keep what exists.
func storesOf(keeps map[string]bool) (stores, free []string) {
	stores, free = []string{}, []string{}
	for _, id := range slices.Sorted(maps.Keys(keeps)) {
		stores = append(stores, id)
		if keeps[id] {
			free = append(free, id)
		}
	}
	return stores, free
}

// summary says what stores the bytes of a reach.
func (r *reach) summary() string {
	var ids []string
	for _, l := range r.landings {
		insert(&ids, l.id)
	}
	switch {
	case len(ids) == 0:
		return "stored by nothing of the contract"
	case len(ids) > maxStores:
		return fmt.Sprintf("stored by %s and %d more", strings.Join(ids[:maxStores], ", "), len(ids)-maxStores)
	}
	return "stored by " + strings.Join(ids, ", ")
}

// maxStores is how many stores a message names.
const maxStores = 6

// stale reports deputy classes that a residual declares on a row and that no entry of the row confers, in any sample of any holder
// (A071). A row that no sample reaches is left out.
func (a *auditor) stale() {
	for _, row := range a.cfg.Contract.Rows {
		if !a.granted[row.ID] {
			continue
		}
		for _, id := range row.Residuals {
			residual := a.cfg.Contract.Residuals[id]
			if residual == nil {
				continue
			}
			for _, class := range residual.Deputy {
				if a.conferred[row.ID][class] {
					continue
				}
				c := check(codeStaleDeputy)
				a.out.Findings = append(a.out.Findings, Finding{Code: c.Code, Severity: c.Severity, Subject: strings.Join(row.Profiles, ", "),
					Rows: []string{row.ID},
					Cite: c.Cite, Hint: c.Hint, File: row.Pos.File, Line: row.Pos.Line,
					Message: "its residual " + id + " declares that the server can be made to place " + class + "; no entry of the row does that"})
			}
		}
	}
}

// forbidden collects how a holder violates a no-deputy rule, over all its entries and samples.
type forbidden struct {
	at                    int // of the findings
	rows, classes, stores []string
}

// noDeputy reports a holder whose entries have the server place bytes into a store of the rule: once, with all that do.
func (a *auditor) noDeputy(p *Principal, r *rule, world *world) {
	if world == nil {
		return // said already
	}
	allows := p.Pub.allows()
	for _, q := range a.powersIn(p, world) {
		if len(r.Classes) > 0 && !slices.Contains(r.Classes, q.class) {
			continue
		}
		for _, l := range world.reachOf(&q).landings {
			if slices.Contains(r.On, l.id) {
				a.forbid(p, r, &q, allows[q.entry], l)
			}
		}
	}
}

func (a *auditor) forbid(p *Principal, r *rule, q *deputyPower, e Entry, l placed) {
	key := strings.Join([]string{r.Code, p.File, p.Name}, "\x00")
	f := a.forbids[key]
	if _, again := a.seen[key]; !again {
		f = &forbidden{at: len(a.out.Findings)}
		a.seen[key], a.forbids[key] = f.at, f
		found := Finding{Code: r.Code, Severity: severityOf(r), Subject: p.Name, Entry: e.String(), Dir: e.dir, Cite: r.Cite, Hint: kindHint(r.Kind),
			Witness: l.witness, File: p.File}
		a.lasting(p, e, &found)
		a.out.Findings = append(a.out.Findings, found)
	}
	changed := insert(&f.classes, q.class)
	changed = insert(&f.stores, l.id) || changed
	for _, row := range e.Rows {
		changed = insert(&f.rows, row) || changed
	}
	if !changed {
		return
	}
	found := &a.out.Findings[f.at]
	found.Rows, found.denies = append([]string{}, f.rows...), nil // which of its entries they limit would depend on the order
	found.reach = slices.Concat(f.classes, f.stores)
	found.Message = "can have the server place " + strings.Join(f.classes, ", ") + " in " + strings.Join(f.stores, ", ") +
		", by the reply subject or the body of a request such as " + q.request
	if row := a.rows[first(f.rows)]; row != nil && p.File == "" {
		found.File, found.Line = row.Pos.File, row.Pos.Line
	}
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// insert adds a text to a sorted set, and reports whether it was new.
func insert(set *[]string, text string) bool {
	at, found := slices.BinarySearch(*set, text)
	if !found {
		*set = slices.Insert(*set, at, text)
	}
	return !found
}

// rowPowers are the classes that each row of a sampled principal confers by its own grants.
func (p *Principal) rowPowers() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	grants, ok := p.sampled()
	p.unsure = !ok
	for _, g := range grants {
		if g.Dir != compile.Pub || g.Deny {
			continue
		}
		one := &Principal{Pub: Direction{Allow: []Entry{{Entry: subject.Entry{Pattern: g.Entry.Pattern}}}, Deny: p.Pub.Deny}}
		for _, q := range one.powersIn(p.powersOf, p.Account) {
			for _, row := range g.Rows {
				if out[row] == nil {
					out[row] = map[string]bool{}
				}
				out[row][q.class] = true
			}
		}
	}
	return out
}
