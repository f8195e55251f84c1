package main

import (
	"hash/fnv"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// perTrust is how many profiles of each trust class are tried as holders of an entry that is not theirs.
var perTrust = []struct {
	trust string
	n     int
}{{contract.TrustUntrusted, 3}, {contract.TrustSinglePurpose, 2}, {contract.TrustProvisioning, 1}, {contract.TrustSystem, 1}, {contract.TrustSealed, 1}}

// targets picks profiles that do not hold a row, of every trust class, those with a credential in the account of the entry first.
// Which ones depends on the row alone, so that the rows together try most profiles and each run tries the same.
func (p *planner) targets(b *base, row *contract.Row) []*contract.Profile {
	var out []*contract.Profile
	for _, class := range perTrust {
		var here, elsewhere []*contract.Profile
		for _, profile := range contract.Sorted(p.w.c.Profiles) {
			switch {
			case profile.Trust != class.trust || row.Holds(profile.Name) || p.w.of(profile.Name) == nil:
			case p.w.in(profile.Name, b.account) != nil:
				here = append(here, profile)
			default:
				elsewhere = append(elsewhere, profile)
			}
		}
		out = append(out, pick(append(rotate(here, row.ID), rotate(elsewhere, row.ID)...), class.n)...)
	}
	return out
}

func pick(list []*contract.Profile, n int) []*contract.Profile { return list[:min(n, len(list))] }

// rotate begins a list at a place that a text decides.
func rotate(list []*contract.Profile, by string) []*contract.Profile {
	if len(list) == 0 {
		return nil
	}
	h := fnv.New32a()
	h.Write([]byte(by))
	at := int(h.Sum32() % uint32(len(list)))
	return append(append([]*contract.Profile{}, list[at:]...), list[:at]...)
}
