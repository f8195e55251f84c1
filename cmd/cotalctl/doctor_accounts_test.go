package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// TestDoctorKnowsTheAccounts looks into the accounts of a provisioned space with the credential that the directory holds for it.
func TestDoctorKnowsTheAccounts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", dir)
	visit(t, dir, func(d *trust.Dir, url string) {
		command(t, 0, "provision", "scoped", "agent", "--dir", dir, "--set", "reads=mediated")
		ct, topology, _, err := (&contractFlags{}).loadFor(&app{}, dir, "main", mustExist)
		if err != nil {
			t.Fatal(err)
		}
		look, expect, err := doctorAccounts(d, ct, topology, "main")
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, a := range look {
			names = append(names, a.Name)
		}
		if diff := cmp.Diff([]string{"space", "authority", "callout", "system"}, names); diff != "" {
			t.Error(diff)
		}
		nc := asDoctor(t, d, ct.Roles[contract.RoleDoctor], url)
		snap, err := doctor.Gather(bounded(t), nc, doctor.Options{Timeout: patience, Accounts: look})
		if err != nil {
			t.Fatal(err)
		}
		e := doctor.Expect{Accounts: expect, SystemProfiles: systemProfiles(ct, topology)}
		ran := map[string]int{}
		for _, c := range doctor.Judge(snap, doctor.Floors{}, e).Checks {
			if c.Status != doctor.Pass || c.Hint != "" {
				t.Errorf("%+v", c)
			}
			if c.ID == "D019" || c.ID >= "D021" { // what is judged of accounts
				ran[c.ID]++
			}
		}
		want := map[string]int{"D019": 1, "D021": 4, "D022": 4, "D023": 4, "D024": 4, "D025": 4, "D026": 4, "D027": 4}
		if diff := cmp.Diff(want, ran); diff != "" {
			t.Error(diff)
		}
		// The control: without the seeds each signing key is an unknown one.
		for i := range e.Accounts {
			e.Accounts[i].Known = nil
		}
		failed := 0
		for _, c := range doctor.Judge(snap, doctor.Floors{}, e).Checks {
			if c.ID == "D025" && c.Status == doctor.Fail {
				failed++
			}
		}
		if failed != 4 {
			t.Errorf("without seeds %d accounts fail, want 4", failed)
		}
	})
}
