package audit

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// Config says what an audit judges by.
type Config struct {
	Contract *contract.Contract // nil: generic hygiene only
	// Unnamed says that nobody asked for Contract: [Paths] judges without one where nothing that it reads speaks of it.
	Unnamed  bool
	Topology string    // of the contract; "" is its default
	Space    string    // that the contract itself is compiled for; "" picks a sample
	Now      time.Time // the clock; zero: nothing is judged by it
	Stdin    io.Reader // what [Paths] reads for the path "-"; nil: that is a file's name
	// ControlLine is the max_control_line of the servers that the credentials connect to; 0: sizes are not judged.
	ControlLine int
	// Provisioned are the JWTs of the operator and the accounts that this tool keeps for the spaces of a directory: [Paths] joins users to
	// them, as to those that it reads, and judges none of them. What provisioning always does is said to be that where it is found.
	Provisioned []string
	Rules       Ruler // judges the same principals beside the checks of this package; nil: nobody
}

// auditor collects the findings of one audit.
type auditor struct {
	cfg      Config
	topology *contract.Topology
	rows     map[string]*contract.Row
	rules    map[string]*ruleset                    // of a space, once resolved
	compares map[[2]string]bool                     // of a profile's parameter: whether a condition compares it
	noted    map[residualKey]bool                   // residuals that were noted, of the contract or of one file
	accounts map[string]string                      // of a profile: where all its credentials stand, "" where there are several
	bounds   map[heldTo]map[int][]boundary          // of confined rules, resolved
	shapes   map[string]*shape                      // of a profile in a space, once compiled
	tags     map[string]map[string]*compile.TagRule // of a profile, once asked for
	trust    *trust
	stores   map[string]*stores
	noteOf   map[sharedNote]int             // which finding says it of all
	verdicts map[string]*verdict            // of a class of credentials that are alike
	meanings meanings                       // words that no mask may hide, once asked for
	alone    bool                           // everybody is judged for itself
	alike    int                            // how many were judged by their class
	words    map[*contract.Row]residualText // of a row's residuals
	partly   map[string][]*contract.Row     // by id: a row that gives some holders only some of its residuals, then what it gives those
	out      Report
	seen     map[string]int      // what was reported of the contract or of one file, and as which finding
	shared   map[string]int      // the same of files that configurations include
	copies   map[string][]string // of a file that holds one JWT: the others that hold it too
	users    map[digest]string   // of a user's JWT → the file that it was judged in
	read     map[string]bool     // files that were judged
	profiles map[string]bool
	looks    *look        // what speaks of the contract; nil without one
	untagged []*Principal // judged, and of no stated profile
	probs    contract.Problems

	ruling        *ruling // nil without Config.Rules
	inputContract *InputContract
	inputSpaces   map[string]*InputSpace

	worlds    map[string]*world          // of a space, once resolved
	tallies   map[tallyKey]*tallied      // lines of the table of deputies
	conferred map[string]map[string]bool // row → classes, as the samples show them
	forbids   map[string]*forbidden      // what violates no-deputy rules
	granted   map[string]bool            // rows that some sample makes a publish entry of
}

func newAuditor(cfg Config) (*auditor, error) {
	a := &auditor{cfg: cfg, rows: map[string]*contract.Row{}, rules: map[string]*ruleset{}, shapes: map[string]*shape{}, accounts: map[string]string{},
		bounds: map[heldTo]map[int][]boundary{}, compares: map[[2]string]bool{}, noted: map[residualKey]bool{}, seen: map[string]int{},
		read: map[string]bool{}, shared: map[string]int{}, copies: map[string][]string{}, users: map[digest]string{}, profiles: map[string]bool{},
		trust: newTrust(), tags: map[string]map[string]*compile.TagRule{}, stores: map[string]*stores{}, words: map[*contract.Row]residualText{},
		partly: map[string][]*contract.Row{}, noteOf: map[sharedNote]int{}, verdicts: map[string]*verdict{},
		inputSpaces: map[string]*InputSpace{}, forbids: map[string]*forbidden{}, worlds: map[string]*world{},
		tallies: map[tallyKey]*tallied{}, conferred: map[string]map[string]bool{}, granted: map[string]bool{}}
	a.out = Report{Schema: Schema, Findings: []Finding{}, Deputies: []Deputy{}, residuals: map[string]string{}, rules: AllRules(cfg.Contract, cfg.Rules), now: cfg.Now}
	a.out.Checked.Invariants = len(Checks())
	if err := a.placeContract(); err != nil {
		return nil, err
	}
	if cfg.Rules != nil {
		if err := a.newRuling(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// placeContract finds the topology of the contract, where there is one.
func (a *auditor) placeContract() error {
	cfg, c := a.cfg, a.cfg.Contract
	if c == nil {
		return nil
	}
	var ok bool
	if a.topology, ok = c.Topology(cfg.Topology); !ok {
		var names []string
		for _, t := range c.Topologies {
			names = append(names, t.Name)
		}
		return &contract.Problem{What: "topology of contract " + c.Name, Got: fmt.Sprintf("%q", cfg.Topology), Want: "one of " + strings.Join(names, ", ")}
	}
	for _, r := range c.Rows {
		a.rows[r.ID] = r
		if slices.ContainsFunc(r.Residuals, func(id string) bool { return c.Residuals[id] != nil && len(c.Residuals[id].Reaches) > 0 }) {
			a.partly[r.ID] = []*contract.Row{r}
		}
	}
	a.out.Contract, a.looks = c.Name, a.newLook()
	for _, inv := range c.Invariants {
		if inv.In(a.topology.Name) {
			a.out.Checked.Invariants++
		}
	}
	return nil
}

// done sorts the report and returns it with everything that could not be audited. The report is valid beside an error. Where
// nothing was judged there is no report, which would look like a clean one: only an error.
func (a *auditor) done() (*Report, error) {
	a.applyRules()
	a.out.Checked.Profiles = len(a.profiles)
	if a.out.Checked.Files == 0 && a.out.Checked.Profiles == 0 {
		if len(a.probs) == 0 {
			a.problem(&contract.Problem{What: "nothing to audit", Want: wantAudited})
		}
		return nil, a.probs.Err()
	}
	a.strangers()
	a.noteUntagged()
	a.out.Deputies = a.deputies()
	a.out.problems, a.out.files = a.probs, slices.Sorted(maps.Keys(a.read))
	for i := range a.out.Findings {
		f := &a.out.Findings[i]
		f.read, f.Also = a.read[f.File], append(f.Also, a.copies[f.File]...)
		if f.more > 0 {
			f.Message += fmt.Sprintf(" (and %d more entries of the row)", f.more)
		}
		a.out.Findings[i].redact()
	}
	a.out.Waive(a.cfg)
	a.out.sort()
	return &a.out, a.probs.Err()
}

// nextFile forgets what was said of a file: no other one repeats it.
func (a *auditor) nextFile() {
	clear(a.noted)
	clear(a.seen)
	clear(a.forbids)
}

// judge runs every check on one principal.
func (a *auditor) judge(p *Principal) {
	a.counted(p)
	a.terms(p)
	a.admitted(p)
	for _, b := range a.bearing(p) {
		a.bear(p, b, func(text string) string { return text })
	}
	a.rule(p)
	a.trim()
}

func (a *auditor) counted(p *Principal) {
	if a.profile(p.Profile) != nil {
		a.profiles[p.Profile] = true
	}
	a.out.Checked.Entries += p.entryCount()
}

// terms judges what a credential states beside its entries.
func (a *auditor) terms(p *Principal) {
	a.token(p)
	if a.inContract(p) {
		for _, space := range a.spaces(p) {
			set := a.rulesOf(space)
			(&trial{a: a, p: p, set: set, about: set.about(a, p)}).terms()
		}
	}
}

// admitted judges what the entries of a principal admit, but for the declared residuals of their rows.
func (a *auditor) admitted(p *Principal) {
	a.hygiene(p)
	if a.inContract(p) {
		a.invariants(p)
	}
	if a.isRead(p) {
		a.deputize(p)
	}
}

// isRead reports whether the entries of a principal are known. A stranger's system user is outside what a contract is about, and nothing
// is stored in the system account.
func (a *auditor) isRead(p *Principal) bool {
	return (p.Token == nil || !p.Token.Scoped) && (!p.System || p.Profile != "")
}

// inContract reports whether a principal is held to the invariants of a contract.
func (a *auditor) inContract(p *Principal) bool { return a.cfg.Contract != nil && a.isRead(p) }

// maxCached bounds how many spaces are kept resolved: hostile sets can name any number of them.
const maxCached = 64

// trim forgets what was resolved for spaces, once that is a lot. It is done between principals, which hold parts of it while they are
// judged; the bounds go with the rules that they are kept by.
func (a *auditor) trim() {
	if max(len(a.rules), len(a.bounds), len(a.stores), len(a.inputSpaces), len(a.worlds)) <= maxCached {
		return
	}
	clear(a.rules)
	clear(a.bounds)
	clear(a.stores)
	clear(a.inputSpaces)
	clear(a.worlds)
}

// profile returns the declared profile, or nil.
func (a *auditor) profile(name string) *contract.Profile {
	if a.cfg.Contract == nil {
		return nil
	}
	return a.cfg.Contract.Profiles[name]
}

const wantAudited = "a contract with profiles, credentials or compiled sets"

// problem keeps what could not be audited.
func (a *auditor) problem(err error) {
	var several contract.Problems
	var one *contract.Problem
	switch {
	case errors.As(err, &several):
		a.probs = append(a.probs, several...)
	case errors.As(err, &one):
		a.probs = append(a.probs, one)
	default:
		a.probs = append(a.probs, &contract.Problem{What: err.Error()})
	}
}

// spaceScope binds the names of a contract for a space alone.
func (a *auditor) spaceScope(space string) (*compile.Scope, error) {
	return compile.NewScope(a.cfg.Contract, a.topology, nil, compile.Input{Values: map[string]any{compile.SpaceParam: space}})
}

// sampleSpace is a space name that the contract admits.
func (a *auditor) sampleSpace() string {
	if a.cfg.Space != "" {
		return a.cfg.Space
	}
	if g := a.cfg.Contract.Grammars[compile.SpaceParam]; g != nil {
		return compile.SampleText(g, 0)
	}
	return compile.SpaceParam
}

// names reports whether a list of profiles names the principal's. A credential of no known profile is judged as an untrusted
// one: it is among the named where one of them is untrusted, and never among the holders (by:) of an authority.
func (a *auditor) names(profiles []string, p *Principal) bool {
	if p.Profile != "" {
		return slices.Contains(profiles, p.Profile)
	}
	return slices.ContainsFunc(profiles, func(name string) bool {
		profile := a.profile(name)
		return profile != nil && profile.Trust == contract.TrustUntrusted
	})
}

// allUntrusted reports whether a list names every untrusted profile: what bounds them all bounds a credential of no known profile, which
// may be any of them.
func (a *auditor) allUntrusted(profiles []string) bool {
	for name, profile := range a.cfg.Contract.Profiles {
		if profile.Trust == contract.TrustUntrusted && !slices.Contains(profiles, name) {
			return false
		}
	}
	return true
}
