package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// TestDoctorLooksAtASpace: with what the directory holds and nothing else, a space that was just provisioned passes; the inspectors
// see every stream but the auth store, of which the servers tell.
func TestDoctorLooksAtASpace(t *testing.T) {
	t.Parallel()
	for _, topology := range []string{"single", "split"} {
		dir := filepath.Join(t.TempDir(), "D")
		command(t, 0, "provision", "space", "main", "--dir", dir, "--topology", topology)
		visit(t, dir, func(d *trust.Dir, url string) { lookAtSpace(t, dir, topology, d, url) })
	}
}

func lookAtSpace(t *testing.T, dir, topology string, d *trust.Dir, url string) {
	t.Helper()
	rec, err := recordedSpace(dir, "main")
	if err != nil {
		t.Fatal(err)
	}
	ct, top, err := contractFlags{}.load(rec)
	if err != nil {
		t.Fatal(err)
	}
	o, e := doctor.Options{Timeout: patience, Servers: 1}, doctor.Expect{Servers: 1}
	space := &doctorSpace{app: testApp(t.Context()), dir: d, contract: ct, topology: top, name: "main", replicas: rec.Replicas, urls: url}
	if err := space.lookAt(&o, &e); err != nil {
		t.Fatal(err)
	}
	accounts, _, err := doctorAccounts(d, ct, top, "main")
	if err != nil {
		t.Fatal(err)
	}
	o.Accounts = slices.DeleteFunc(accounts, func(a doctor.Account) bool { return a.Name == contract.SystemAccount })
	if _, err := o.Inspect(t.Context(), doctor.Account{Name: "callout"}); err == nil || !strings.Contains(err.Error(), "has no row in account callout") {
		t.Errorf("an account without rows: got %v", err)
	}
	nc := asDoctor(t, d, ct.Roles[contract.RoleDoctor], url)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	snap, err := doctor.Gather(ctx, nc, o)
	if err != nil {
		t.Fatal(err)
	}
	unread := []string{}
	for _, a := range snap.Accounts {
		if a.Inspection != nil && a.Inspection.Error != "" {
			t.Errorf("%s: %s: %s", topology, a.Name, a.Inspection.Error)
		}
		for _, s := range a.Inspection.Streams {
			if s.Data == nil {
				unread = append(unread, s.Stream+": "+s.Refused)
			}
		}
	}
	want := []string{"KV_cotal_auth_main: the broker refuses the publish to $JS.API.STREAM.INFO.KV_cotal_auth_main"}
	if diff := cmp.Diff(want, unread); diff != "" {
		t.Errorf("%s: %s", topology, diff)
	}
	r := doctor.Judge(snap, doctor.Floors{}, e)
	if n := r.Count(doctor.Pass); n != len(r.Checks) || n < 10 {
		t.Errorf("%s: %d of %d checks passed: %+v", topology, n, len(r.Checks), r.Checks)
	}
}
