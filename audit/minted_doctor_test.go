package audit

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// borne are the findings of a credential of the doctor, by code and the residual that it is about, with the rows that bear it.
type borne map[string][]string

// looks are what the credentials of a doctor may be found to be, by profile and account: what is to be heard in the inbox, metadata,
// and answers that are sent elsewhere. The key of who signed is never beside a single file (A053).
var looks = map[string]borne{
	"doctor system": {
		"A053 note":               nil,
		"A100 note INBOX-SHARED":  {"OWN-INBOX"},
		"A100 note SERVER-VIEW":   {"DOCTOR-CLAIMS", "DOCTOR-PING"},
		"A100 note CLAIMS-SPREAD": {"DOCTOR-CLAIMS"},
		"A100 note REDIRECT-SYS":  {"DOCTOR-CLAIMS", "DOCTOR-PING", "DOCTOR-USER-INFO"},
	},
	"inspector space":        inspects("INSPECT-CONSUMER", "INSPECT-CONSUMER-LIST", "INSPECT-INGRESS", "INSPECT-STREAM"),
	"inspector authority":    inspects("INSPECT-AUTHORITY", "INSPECT-CONSUMER", "INSPECT-CONSUMER-LIST", "INSPECT-STREAM"),
	"inspector space single": inspects("INSPECT-AUTHORITY", "INSPECT-CONSUMER", "INSPECT-CONSUMER-LIST", "INSPECT-INGRESS", "INSPECT-STREAM"),
}

func inspects(rows ...string) borne {
	return borne{"A053 note": nil, "A018 note META": rows, "A100 note INBOX-SHARED": {"OWN-INBOX"}, "A100 note META": rows,
		"A100 note REDIRECT-API": rows}
}

// TestDoctorCredentials: a file of each credential with which a doctor looks is found to bear these residuals, and nothing else, and
// the bytes that its holder can have placed are of these classes.
func TestDoctorCredentials(t *testing.T) {
	m, _ := newMinter(t)
	judged := map[string]bool{}
	for _, top := range m.cfg.Contract.Topologies {
		for profile, class := range map[string]string{"doctor": contract.DeputySystem, "inspector": contract.DeputyAPI} {
			m.topology, m.profile = top, m.cfg.Contract.Profiles[profile]
			for _, m.account = range compile.Accounts(m.cfg.Contract, top, m.profile) {
				name := profile + " " + m.account
				if profile == "inspector" && top.Name == "single" {
					name += " single"
				}
				file := filepath.Join(t.TempDir(), profile+".creds")
				if err := os.WriteFile(file, m.mint(t, map[string]any{"space": "main"}), 0o600); err != nil {
					t.Fatal(err)
				}
				report, err := Paths(Config{Contract: m.cfg.Contract, Topology: top.Name, Now: m.cfg.Now}, []string{file})
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(looks[name], bears(report)); d != "" {
					t.Errorf("%s, %s (-want +got):\n%s", name, top.Name, d)
				}
				if d := cmp.Diff([]string{class}, classes(report)); d != "" {
					t.Errorf("%s, %s: classes of bytes (-want +got):\n%s", name, top.Name, d)
				}
				judged[name] = true
			}
		}
	}
	if d := cmp.Diff(contract.SortedKeys(looks), contract.SortedKeys(judged)); d != "" {
		t.Errorf("credentials (-want +judged):\n%s", d)
	}
}

func bears(r *Report) borne {
	rows := map[string]map[string]bool{}
	for _, f := range r.Findings {
		ids := f.residuals
		if f.declaredBy != "" {
			ids = []string{f.declaredBy}
		}
		if len(ids) == 0 {
			ids = []string{""}
		}
		for _, id := range ids {
			key := f.Code + " " + f.Severity
			if id != "" {
				key += " " + id
			}
			if rows[key] == nil {
				rows[key] = map[string]bool{}
			}
			for _, row := range f.Rows {
				rows[key][row] = true
			}
		}
	}
	out := borne{}
	for key, of := range rows {
		out[key] = slices.Sorted(maps.Keys(of))
	}
	return out
}

func classes(r *Report) []string {
	found := map[string]bool{}
	for _, d := range r.Deputies {
		found[d.Class] = true
	}
	return slices.Sorted(maps.Keys(found))
}
