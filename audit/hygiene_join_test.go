package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// storedText writes a compiled set as a file holds it.
func storedText(t *testing.T, set *compile.PermissionSet) []byte {
	t.Helper()
	data, err := json.Marshal(set.Document())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDeclaredPower: a power that a residual of the entry's own row declares is a note; the same power by another entry, of another
// profile, or where the residual declares something else, is an error.
func TestDeclaredPower(t *testing.T) {
	find := func(r *Report) (out []string) {
		for _, f := range r.Findings {
			if f.Code == codeWhole {
				out = append(out, f.Severity+" "+f.Entry)
			}
		}
		return out
	}
	c := testContract(t)
	for _, tt := range []struct {
		name, profile, entry string
		covers               []string
		want                 []string
	}{
		{"declared", "scanner", "", []string{codeWhole}, []string{"note $JS.API.STREAM.MSG.GET.LOG_main"}},
		{"another entry", "scanner", "$JS.API.STREAM.MSG.GET.OTHER", []string{codeWhole},
			[]string{"error $JS.API.STREAM.MSG.GET.OTHER", "note $JS.API.STREAM.MSG.GET.LOG_main"}},
		{"another power", "scanner", "", []string{codeManage}, []string{"error $JS.API.STREAM.MSG.GET.LOG_main"}},
		{"another profile", "writer", "$JS.API.STREAM.MSG.GET.LOG_main", []string{codeWhole}, []string{"error $JS.API.STREAM.MSG.GET.LOG_main"}},
	} {
		c.Residuals["DIG"].Covers = tt.covers
		uc := user(t, c, tt.profile, map[string]any{})
		if tt.entry != "" {
			pubAllow(tt.entry)(uc)
		}
		r := judged(t, c, uc)
		if diff := cmp.Diff(tt.want, find(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if tt.name == "declared" && !strings.Contains(r.Findings[0].Message, "declared by residual DIG of row LOG-READ") {
			t.Errorf("message: got %q, want the residual and the row", r.Findings[0].Message)
		}
	}
}

// TestForgedRows: the rows that a compiled set brings buy nothing; they are joined anew.
func TestForgedRows(t *testing.T) {
	c := testContract(t)
	topology, _ := c.Topology("")
	_, set := compiled(t, c, "writer", map[string]any{})
	set.Pub.Allow = append(slices.Clone(set.Pub.Allow), compile.Entry{Pattern: "$JS.API.STREAM.MSG.GET.LOG_main", Rows: []string{"LOG-READ"}})
	r, err := Bytes(Config{Contract: c, Topology: topology.Name}, "set.json", storedText(t, set))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{codeExcess, codeWhole, "T106"}, codes(r)); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	for _, f := range r.Findings {
		if slices.Contains(f.Rows, "LOG-READ") || f.Severity != Error && f.Code != codeResidual {
			t.Errorf("got %+v, want an error without the claimed row", f)
		}
	}
	_, honest := compiled(t, c, "scanner", map[string]any{})
	r, err = Bytes(Config{Contract: c}, "set.json", storedText(t, honest))
	if err != nil {
		t.Fatal(err)
	}
	if len(codes(r)) > 0 || !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == codeWhole && f.Severity == Note && f.Rows[0] == "LOG-READ" }) {
		t.Errorf("the honest set: got %+v, want the declared power as a note of its row", r.Findings)
	}
}

// TestSetOfAnotherTopology: what is compared with rows of another topology is a doubt.
func TestSetOfAnotherTopology(t *testing.T) {
	c := testContract(t)
	c.Topologies = append(c.Topologies, &contract.Topology{Name: "two", Accounts: []string{"main"}, Place: map[string]string{"*": "main"}})
	_, set := compiled(t, c, "writer", map[string]any{})
	for topology, want := range map[string][]string{"one": {}, "two": {codeUnjudged}} {
		r, err := Bytes(Config{Contract: c, Topology: topology}, "set.json", storedText(t, set))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, codes(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", topology, diff)
		}
	}
}

// TestShippedSets: a compiled set that is read again has no error, no doubt, and a row for every allow entry.
func TestShippedSets(t *testing.T) {
	judged := 0
	for _, c := range shipped(t) {
		for _, topology := range c.Topologies {
			for _, profile := range contract.Sorted(c.Profiles) {
				for _, sample := range compile.Samples(c, profile, "main", 3) {
					scope, err := compile.NewScope(c, topology, profile, sample.Input)
					if err != nil {
						t.Fatal(err)
					}
					for _, account := range compile.Accounts(c, topology, profile) {
						set, err := compile.Compile(scope, account)
						if err != nil {
							t.Fatal(err)
						}
						t.Run(strings.Join([]string{c.Name, topology.Name, profile.Name, sample.Name, account}, " "), func(t *testing.T) {
							cleanSet(t, Config{Contract: c, Topology: topology.Name}, set)
						})
						judged++
					}
				}
			}
		}
	}
	if judged < 40 {
		t.Errorf("judged %d sets, want at least 40", judged)
	}
}

func cleanSet(t *testing.T, cfg Config, set *compile.PermissionSet) {
	a, err := newAuditor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	list, err := a.principals("set.json", bytes.TrimSpace(storedText(t, set)))
	if err != nil {
		t.Fatal(err)
	}
	joinsWhole(t, a, list[0])
}

// TestRedundancyIsNoFinding: an entry that stands twice, or that another covers, admits nothing more.
func TestRedundancyIsNoFinding(t *testing.T) {
	c := testContract(t)
	uc := user(t, c, "worker", worker(), pubAllow("app.main.status.alice.dev", "app.main.status.alice.dev"))
	if got := codes(judged(t, c, uc)); len(got) > 0 {
		t.Errorf("twice: got %v, want none", got)
	}
	for _, entries := range [][]string{{"$KV.b.k"}, {"$KV.b.>", "$KV.b.k", "$KV.b.k"}} {
		uc := user(t, c, "worker", worker(), pubOnly(entries...))
		r, err := Bytes(Config{}, "u", signed(t, uc))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{codeHeaders, codeHalf}, codes(r)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", entries, diff)
		}
	}
}
