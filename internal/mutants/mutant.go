package main

import (
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/compile"
)

// The classes of mutants.
const (
	classDeny      = "deny-dropped"
	classWiden     = "token-widened"
	classEpoch     = "epoch-widened"
	classTail      = "tail-opened"
	classQueue     = "queue-changed"
	classInbox     = "inbox-widened"
	classProfile   = "profile-swapped"
	classUntrusted = "to-untrusted"
	classUntagged  = "to-untagged"
	classAccount   = "account-swapped"
	classPlacement = "placed-elsewhere"
	classProtect   = "protect-dropped"
	classSetting   = "setting-weakened"
)

// classes is the closed list, in the order of the report.
var classes = []string{classDeny, classWiden, classEpoch, classTail, classQueue, classInbox, classProfile, classUntrusted, classUntagged,
	classAccount, classPlacement, classProtect, classSetting}

// declaredClasses are those of faults in no row.
var declaredClasses = []string{classPlacement, classProtect, classSetting}

// mutant is one fault put into what a contract gives. Each attempt puts it into another base: it is equivalent where all of them are.
type mutant struct {
	contract, topology string
	row, class         string // row: its id, or the id of a resource or profile that the fault is in
	file               string // where the row stands
	profile            string // who holds the result
	before, after      string
	attempts           []attempt
}

// attempt makes the result of a mutant and what stood there without it.
type attempt interface {
	// judge returns what the mutant admits beyond the unmutated, "" where that is provably nothing, and the codes of the new errors.
	judge(j *judges) (outcome, error)
}

// outcome of one attempt.
type outcome struct {
	gain    string   // what is newly admitted; "" : nothing
	codes   []string // of the new error findings
	refused string   // why the compiler refuses the result, "" where it does not
	lawful  string   // another sample of the profile that admits all of it, ""
}

// Verdicts on a mutant.
const (
	killed     = "killed"
	refused    = "refused"
	survived   = "survived"
	equivalent = "equivalent"
)

// result is the verdict on a mutant with what shows it.
type result struct {
	*mutant
	verdict string
	by      []string // codes that killed it
	witness string   // what is newly admitted; of an equivalent why it is one; of a refused one what the compiler says
	lawful  string   // of a survivor: the sample of the same profile that may hold all of it, ""
}

// run tries the attempts until one is not equivalent.
func (m *mutant) run(j *judges) (result, error) {
	for _, a := range m.attempts {
		o, err := a.judge(j)
		if err != nil {
			return result{}, fmt.Errorf("%s %s, row %s, %s, %s → %s: %w", m.contract, m.topology, m.row, m.class, m.before, m.after, err)
		}
		switch {
		case o.refused != "":
			return result{m, refused, nil, o.refused, ""}, nil
		case o.gain == "":
			continue
		case len(o.codes) > 0:
			return result{m, killed, o.codes, o.gain, ""}, nil
		default:
			return result{m, survived, nil, o.gain, o.lawful}, nil
		}
	}
	return result{m, equivalent, nil, m.proof(), ""}, nil
}

// proof says why a mutant is equivalent.
func (m *mutant) proof() string {
	if _, ok := m.attempts[0].(inContract); ok {
		return "no setting is weaker, and no set of a profile admits more"
	}
	return fmt.Sprintf("the sets with it admit nothing that those without it do not, in each of %d", len(m.attempts))
}

// inSet puts a fault into the set of a base, or of a holder who has no credential in the account yet.
type inSet struct {
	w       *world
	holder  audit.Holder
	profile string // "" states none
	account string
	whole   *compile.PermissionSet // without the mutant; nil: made of had
	had     []compile.Grant
	grants  func() []compile.Grant
	edit    func([]compile.Grant) []compile.Grant // of closed grants
}

func (a inSet) judge(j *judges) (outcome, error) {
	set, err := a.w.seal(a.profile, a.account, a.grants(), a.edit)
	if err != nil {
		return outcome{refused: err.Error()}, nil
	}
	whole := a.whole
	if whole == nil {
		if whole, err = a.w.seal(a.profile, a.account, a.had, nil); err != nil {
			return outcome{}, err
		}
	}
	g, ok := gained(set, whole)
	if !ok {
		return outcome{}, nil
	}
	judge, err := j.of(a.w)
	if err != nil {
		return outcome{}, err
	}
	found, err := judge.Set(a.holder, set)
	if err != nil {
		return outcome{}, err
	}
	if a.whole == nil && len(found) > 0 { // the sets of the bases were found without any
		before, err := judge.Set(a.holder, whole)
		if err != nil {
			return outcome{}, err
		}
		found = slices.DeleteFunc(found, func(f audit.Finding) bool { return has(before, f) })
	}
	out := outcome{gain: g.String(), codes: codesOf(found)}
	if len(found) == 0 {
		out.lawful = a.lawful(set)
	}
	return out, nil
}

// lawful names another sample of the profile that admits all that a set does: then no audit of the set alone can tell it from one that
// was asked for, but only one that knows the parameters.
func (a inSet) lawful(set *compile.PermissionSet) string {
	for _, b := range a.w.bases {
		if b.profile.Name == a.profile && b.account == a.account {
			if _, more := gained(set, b.set); !more {
				return b.sample
			}
		}
	}
	return ""
}

// has reports whether a finding stood before the mutant.
func has(before []audit.Finding, f audit.Finding) bool {
	return slices.ContainsFunc(before, func(b audit.Finding) bool { return b.Code == f.Code && b.Entry == f.Entry && b.Message == f.Message })
}

func codesOf(found []audit.Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, f.Code)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// judges are one goroutine's, one for each world.
type judges struct {
	byWorld map[*world]*audit.Judge
}

func (j *judges) of(w *world) (*audit.Judge, error) {
	if have := j.byWorld[w]; have != nil {
		return have, nil
	}
	judge, err := audit.NewJudge(w.config())
	if err != nil {
		return nil, err
	}
	j.byWorld[w] = judge
	return judge, nil
}
