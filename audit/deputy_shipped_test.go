package audit

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
	"github.com/cotalctl/cotalctl/matrix"
)

// suspects are the columns of ADR 17's table that show all that a profile can, by its title there.
var suspects = map[string]string{"agent": "agent", "endpoint, all": "endpoint-serve", "canonicalizer": "canonicalizer", "delivery": "delivery"}

// TestDeputiesAsMeasured: the stores that the table of ADR 17 says to have been overwritten (O) or squatted (S) on the broker are those
// that are computed for the profile. TestBlastRadius holds the table against the broker, and the computation for each credential.
func TestDeputiesAsMeasured(t *testing.T) {
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	for at, topology := range []string{"single", "split"} {
		deputies, err := Deputies(Config{Contract: c, Topology: topology})
		if err != nil {
			t.Fatal(err)
		}
		for title, measured := range measuredCells(t, at) {
			computed := map[string]string{}
			for _, d := range deputies {
				if d.Profile != suspects[title] || d.Class == contract.DeputyStored {
					continue
				}
				for _, store := range d.Stores {
					computed[store] = "OS"
					if slices.Contains(d.FreeOnly, store) {
						computed[store] = ".S"
					}
				}
			}
			if diff := cmp.Diff(measured, computed); diff != "" {
				t.Errorf("%s in %s (-measured +computed):\n%s", title, topology, diff)
			}
			if title == "agent" && topology == "split" && len(measured) != 13 {
				t.Errorf("agent in split: got %d stores, want the 13 of its own account", len(measured))
			}
		}
	}
}

// measuredCells reads the first two letters of each cell of ADR 17: title → store → letters, for the topology at a place of the cell.
func measuredCells(t *testing.T, at int) map[string]map[string]string {
	t.Helper()
	adr, err := os.ReadFile("../docs/adr/0017-split-topology.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(adr), "\n| store |")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split("| store |"+table, "\n")
	titles := strings.Split(lines[0], "|")
	out := map[string]map[string]string{}
	for _, line := range lines[2:] {
		cells := strings.Split(line, "|")
		for i := 2; i < len(cells)-1; i++ {
			title := strings.TrimSpace(titles[i])
			if suspects[title] == "" {
				continue
			}
			if out[title] == nil {
				out[title] = map[string]string{}
			}
			letters := strings.Trim(strings.Fields(cells[i])[at], "`")[:2]
			for _, store := range strings.Split(strings.TrimSpace(cells[1]), ", ") {
				if letters != ".." {
					out[title][store] = letters
				}
			}
		}
	}
	if len(out) != len(suspects) {
		t.Fatalf("ADR 17 has columns %v, want %v", contract.SortedKeys(out), contract.SortedKeys(suspects))
	}
	return out
}

// TestDeputiesAreDeclared: every power of every profile is declared by a residual of each row that confers it, and no residual
// declares more.
func TestDeputiesAreDeclared(t *testing.T) {
	for _, c := range shipped(t) {
		for _, topology := range c.Topologies {
			r := findingsOf(t, Config{Contract: c, Topology: topology.Name})
			for _, f := range r.Findings {
				if f.Code == codeUndeclared || f.Code == codeStaleDeputy {
					t.Errorf("%s %s: %s %s %s: %s", c.Name, topology.Name, f.Code, f.Subject, f.Rows, f.Message)
				}
			}
			if len(r.Deputies) == 0 {
				t.Errorf("%s %s: nothing computed", c.Name, topology.Name)
			}
			for _, d := range r.Deputies {
				if len(d.Residuals) == 0 || len(d.Rows) == 0 {
					t.Errorf("%s %s: %+v has no row or residual", c.Name, topology.Name, d)
				}
			}
		}
	}
}

// TestShippedNoDeputy: no untrusted profile reaches a store that decides in split; each does in single, which is a warning; and
// a credential that is given one entry in the authority account is found, by every class that it could be given.
func TestShippedNoDeputy(t *testing.T) {
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	found := func(topology, code, severity string) (subjects []string) {
		for _, f := range findingsOf(t, Config{Contract: c, Topology: topology}).Findings {
			if f.Code == code {
				subjects = append(subjects, f.Subject)
				if f.Severity != severity || f.Witness == "" || len(f.Rows) == 0 || f.Line == 0 {
					t.Errorf("%s: finding %+v, want one of severity %s with witness and place", topology, f, severity)
				}
			}
		}
		return subjects
	}
	if diff := cmp.Diff([]string(nil), found("split", "C690", Error)); diff != "" {
		t.Errorf("split (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"admin", "agent", "observer", "operator", "redeemed"}, found("single", "C691", Warning)); diff != "" {
		t.Errorf("single (-want +got):\n%s", diff)
	}
	for _, entry := range []string{"cotal.main.epf.x.dec.a.b.c.d", "$KV.cotal_records_main.uid.x", "$JS.API.STREAM.INFO.EPF_main", "$JS.ACK.EPW_main.pool.>",
		"$JS.API.CONSUMER.MSG.NEXT.EPT_main.fire", "$JS.API.DIRECT.GET.EPC_main.cotal.main.epc.x", "$JS.API.CONSUMER.CREATE.WFJ_main.x.cotal.main.wfj.x",
		"$JS.API.STREAM.SNAPSHOT.WFJ_main", "cotal.main.ept.*.*.*.*.armed"} {
		a, err := newAuditor(Config{Contract: c, Topology: "split"})
		if err != nil {
			t.Fatal(err)
		}
		p := violator(a, &rule{Invariant: &contract.Invariant{}}, "main", "_INBOX_x.>")
		p.Pub.Allow = append(p.Pub.Allow, Entry{})
		p.Pub.Allow[len(p.Pub.Allow)-1].Pattern = subject.Pattern(entry)
		a.judge(p)
		for _, code := range []string{codeUndeclared, "C690"} {
			if !slices.ContainsFunc(a.out.Findings, func(f Finding) bool { return f.Code == code && f.Severity == Error }) {
				t.Errorf("%s of nobody known: no %s", entry, code)
			}
		}
	}
}
