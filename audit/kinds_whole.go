package audit

import (
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// sideHit is the first entry by which a principal holds a side of a disjoint rule.
type sideHit struct {
	entry   Entry
	witness string
}

func (j *trial) side(at ref, n int, e Entry, witness string) {
	if j.sides == nil {
		j.sides = map[int]*[2]sideHit{}
	}
	held := j.sides[at.rule]
	if held == nil {
		held = &[2]sideHit{}
		j.sides[at.rule] = held
	}
	if held[n].witness == "" {
		held[n] = sideHit{e, witness}
	}
}

// terms runs the rules that are about what a JWT is beside its entries.
func (j *trial) terms() {
	for _, n := range j.set.terms {
		switch r := &j.set.rules[n]; {
		case r.Kind == KindLifetime:
			j.lifetime(r)
		case j.about[n] != uninvolved && j.p.size > r.Bytes:
			j.a.violated(j.p, r, Entry{}, "", fmt.Sprintf("the JWT is of %d bytes, want at most %d", j.p.size, r.Bytes))
		}
	}
}

// whole runs the rules that are about all entries of a principal.
func (j *trial) whole() {
	for n := range j.set.rules {
		r := &j.set.rules[n]
		if j.about[n] == uninvolved {
			continue
		}
		switch r.Kind {
		case KindDenyPresent:
			j.denyPresent(r)
		case KindNoDeputy:
			j.a.noDeputy(j.p, r, j.a.world(j.set.space))
		case KindDisjoint:
			if held := j.sides[n]; held != nil && held[0].witness != "" && held[1].witness != "" {
				j.a.violated(j.p, r, held[1].entry, held[1].witness, fmt.Sprintf("holds this beside %s, such as %s: no credential may hold both",
					held[0].entry, held[0].witness))
			}
		}
	}
}

// lifetime judges what a JWT states; the profile's own declaration is judged once, with the contract.
func (j *trial) lifetime(r *rule) {
	t := j.p.Token
	if t == nil || len(r.Profiles) > 0 && !j.a.names(r.Profiles, j.p) {
		return
	}
	only := len(r.By) > 0 && (j.p.Profile == "" || !slices.Contains(r.By, j.p.Profile))
	if t.Expires == 0 && r.Class == contract.LifetimeNone && (only || r.Trust != "" && j.p.Trust != r.Trust) {
		j.a.violated(j.p, r, Entry{}, "", "never expires, which is for "+holders(r))
		return
	}
	profile := j.a.profile(j.p.Profile)
	if r.Max == 0 || profile == nil || profile.Lifetime.Class != r.Class {
		return
	}
	switch lives := t.Expires - t.Issued; {
	case t.Expires == 0:
		j.a.violated(j.p, r, Entry{}, "", fmt.Sprintf("never expires, want at most %s", r.Max))
	case lives > int64(r.Max.Seconds()):
		j.a.violated(j.p, r, Entry{}, "", fmt.Sprintf("lives %d seconds, want at most %s", lives, r.Max))
	}
}

// holders says for whom a lifetime class is.
func holders(r *rule) string {
	if len(r.By) > 0 {
		return names(r.By)
	}
	return "profiles of trust " + r.Trust
}

// denyPresent finds a subject of a family that the denies of the principal do not withhold. A row's deny stands in the home account of its
// profile, unless the rule names another; where it is not known in which one a credential stands, nothing is said.
func (j *trial) denyPresent(r *rule) {
	account := r.Account
	if profile := j.a.profile(j.p.Profile); profile != nil && account == "" {
		account = j.a.topology.Account(profile.Name, profile.Home)
	}
	if own := j.p.account(j.a); j.p.Profile != "" && own != account {
		return
	}
	for dir, d := range j.p.directions() {
		if len(d.Allow) == 0 && !d.Open {
			continue // it holds nothing
		}
		for _, family := range r.families[dir] {
			if w, ok := subject.WitnessOutside(family, j.p.denied(d, "")); ok {
				j.a.violated(j.p, r, Entry{}, w, fmt.Sprintf("has no deny on %s that covers %s", j.p.verb(d), family))
			}
		}
	}
}
