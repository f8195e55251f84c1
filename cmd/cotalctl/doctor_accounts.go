package main

import (
	"slices"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// doctorAccounts are the accounts that a doctor looks into, those of a space and the system account, with what the directory knows of
// them: their JWTs, and of which signing keys it keeps the seed or the record.
func doctorAccounts(d *trust.Dir, ct *contract.Contract, t *contract.Topology, space string) ([]doctor.Account, []doctor.ExpectAccount, error) {
	var look []doctor.Account
	var expect []doctor.ExpectAccount
	add := func(name, token string, known func(string) bool, declared *jwt.AccountClaims) error {
		e, err := doctor.ExpectFrom(token, known)
		if err != nil {
			return err
		}
		e.Name = name
		if declared != nil {
			e.Declare(declared)
		}
		look, expect = append(look, doctor.Account{Name: name, Key: e.Key}), append(expect, e)
		return nil
	}
	if space != "" {
		info, err := d.Space(space)
		if err != nil {
			return nil, nil, err
		}
		accounts := map[string]*trust.Account{}
		for _, name := range t.Accounts {
			if accounts[name], err = d.Account(space, trust.AccountID(t.Accounts, name)); err != nil {
				return nil, nil, err
			}
		}
		all, err := passages(ct, t, space)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range t.Accounts {
			acc := accounts[name]
			kept, err := keptSigners(d, info, acc)
			if err != nil {
				return nil, nil, err
			}
			known := func(key string) bool { return slices.Contains(kept, key) }
			if err := add(name, acc.JWT, known, declaredClaims(all, accounts, name)); err != nil {
				return nil, nil, err
			}
		}
	}
	token, err := d.SystemJWT()
	if err != nil {
		return nil, nil, err
	}
	// The seed of the system account's signing key is dropped once its credentials are minted: what its JWT here names is known.
	err = add(contract.SystemAccount, token, func(string) bool { return true }, nil)
	return look, expect, err
}

// declaredClaims are what the contract lets through from and into an account, and what provisioning gives who has no permissions: none.
func declaredClaims(all []passage, accounts map[string]*trust.Account, name string) *jwt.AccountClaims {
	out := jwt.NewAccountClaims(accounts[name].Public)
	none := jwt.Permission{Deny: jwt.StringList{">"}}
	out.DefaultPermissions = jwt.Permissions{Pub: none, Sub: none}
	for _, x := range all {
		if x.from == name {
			addExport(out, x)
		}
		if x.to == name {
			out.Imports.Add(&jwt.Import{Account: accounts[x.from].Public, Subject: x.subject, Type: x.kind, Token: "any"})
		}
	}
	return out
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
