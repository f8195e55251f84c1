package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// declared holds what the contract itself declares, beside its rows, to the rules of a space: lifetimes, settings, places. Each finding is
// at the declaration.
func (a *auditor) declared(set *ruleset) {
	for n := range set.rules {
		switch r := &set.rules[n]; r.Kind {
		case KindLifetime:
			a.lifetimes(r)
		case KindSetting:
			for _, id := range r.On {
				a.settings(r, a.cfg.Contract.Resources[id])
			}
		case KindPlacement:
			a.places(r)
		}
	}
}

func (a *auditor) undue(r *rule, name string, pos contract.Pos, message string) {
	a.out.Findings = append(a.out.Findings, Finding{Code: r.Code, Severity: cmp.Or(r.Severity, Error), Subject: name, Rows: []string{},
		Cite: r.Cite, Hint: kindHint(r.Kind), File: pos.File, Line: pos.Line, Message: message})
}

// lifetimes holds the declared lifetimes of the profiles of a class to a rule.
func (a *auditor) lifetimes(r *rule) {
	for _, p := range contract.Sorted(a.cfg.Contract.Profiles) {
		if r.Class != p.Lifetime.Class || len(r.Profiles) > 0 && !slices.Contains(r.Profiles, p.Name) {
			continue
		}
		switch longest := max(p.Lifetime.Default, p.Lifetime.Max); {
		case len(r.By) > 0 && !slices.Contains(r.By, p.Name):
			a.undue(r, p.Name, p.Pos, "is of lifetime class "+r.Class+", which is for "+names(r.By))
		case r.Trust != "" && p.Trust != r.Trust:
			a.undue(r, p.Name, p.Pos, fmt.Sprintf("is of lifetime class %s and of trust %s, want %s", r.Class, p.Trust, r.Trust))
		case r.Max > 0 && longest > r.Max:
			a.undue(r, p.Name, p.Pos, fmt.Sprintf("may live %s, want at most %s", longest, r.Max))
		}
	}
}

// settings holds the configuration of a resource to a rule.
func (a *auditor) settings(r *rule, res *contract.Resource) {
	if res == nil {
		return
	}
	for _, key := range contract.SortedKeys(r.Settings) {
		if got, want := res.Setting(key), r.Settings[key]; got != want {
			a.undue(r, res.ID, res.Pos, fmt.Sprintf("%s is %v, want %v", key, orNothing(got), orNothing(want)))
		}
	}
	for _, key := range r.Protect {
		if !slices.Contains(res.Protect, key) {
			a.undue(r, res.ID, res.Pos, key+" is not protected: nothing refuses that it is weakened")
		}
	}
}

func orNothing(v any) any {
	if v == nil {
		return "none"
	}
	return v
}

// places holds the accounts of resources to a rule, and those of profiles where it is not about what they hold.
func (a *auditor) places(r *rule) {
	for _, id := range r.On {
		if res := a.cfg.Contract.Resources[id]; res != nil {
			if got := a.topology.Account(id, res.Home); !slices.Contains(r.Places(), got) {
				a.undue(r, id, res.Pos, fmt.Sprintf("stands in account %s, want %s", got, strings.Join(r.Places(), " or ")))
			}
		}
	}
	if len(r.Families) > 0 {
		return
	}
	for _, name := range r.Profiles {
		if p := a.profile(name); p != nil {
			if got := a.topology.Account(name, p.Home); !slices.Contains(r.Places(), got) {
				a.undue(r, name, p.Pos, fmt.Sprintf("stands in account %s, want %s", got, strings.Join(r.Places(), " or ")))
			}
		}
	}
}
