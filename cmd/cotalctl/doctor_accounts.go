package main

import (
	"slices"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// doctorAccounts are the accounts that a doctor looks into, those of a space and the system account, with what the directory knows of
// them: their JWTs, and of which signing keys it keeps the seed or the record.
func doctorAccounts(d *trust.Dir, t *contract.Topology, space string) ([]doctor.Account, []doctor.ExpectAccount, error) {
	var look []doctor.Account
	var expect []doctor.ExpectAccount
	add := func(name, token string, known func(string) bool) error {
		e, err := doctor.ExpectFrom(token, known)
		if err != nil {
			return err
		}
		e.Name = name
		look, expect = append(look, doctor.Account{Name: name, Key: e.Key}), append(expect, e)
		return nil
	}
	if space != "" {
		info, err := d.Space(space)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range t.Accounts {
			acc, err := d.Account(space, trust.AccountID(t.Accounts, name))
			if err != nil {
				return nil, nil, err
			}
			kept, err := keptSigners(d, info, acc)
			if err != nil {
				return nil, nil, err
			}
			if err := add(name, acc.JWT, func(key string) bool { return slices.Contains(kept, key) }); err != nil {
				return nil, nil, err
			}
		}
	}
	token, err := d.SystemJWT()
	if err != nil {
		return nil, nil, err
	}
	// The seed of the system account's signing key is dropped once its credentials are minted: what its JWT here names is known.
	err = add(contract.SystemAccount, token, func(string) bool { return true })
	return look, expect, err
}

// keptSigners are the signing keys of an account whose seeds are kept, or that the space's record names as scoped.
func keptSigners(d *trust.Dir, info trust.SpaceInfo, acc *trust.Account) ([]string, error) {
	var out []string
	for key := range acc.Claims.SigningKeys {
		kept, err := d.HasSeed(key)
		if err != nil {
			return nil, err
		}
		if kept || slices.ContainsFunc(info.Scoped, func(s trust.ScopedKey) bool { return s.Key == key }) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out, nil
}

// systemProfiles are the profiles that have rows in the system account.
func systemProfiles(ct *contract.Contract, t *contract.Topology) []string {
	var out []string
	for _, p := range ct.Profiles {
		if slices.Contains(compile.Accounts(ct, t, p), contract.SystemAccount) {
			out = append(out, p.Name)
		}
	}
	slices.Sort(out)
	return out
}
