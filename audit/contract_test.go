package audit

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

// findingsOf compiles and judges a contract that must compile.
func findingsOf(t *testing.T, cfg Config) *Report {
	t.Helper()
	r, err := Contract(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestContract(t *testing.T) {
	r := findingsOf(t, Config{Contract: testContract(t), Space: "main"})
	if diff := cmp.Diff([]string{}, codes(r)); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	if r.Checked.Profiles != 6 || r.Checked.Invariants != len(Checks())+21 || r.Checked.Entries == 0 {
		t.Errorf("checked: got %+v", r.Checked)
	}
	notes := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Code != codeResidual || f.Rows[0] != "POST" })
	if len(notes) != 1 || notes[0].Rows[0] != "POST" || notes[0].File != "rows.yaml" || notes[0].Line != 2 {
		t.Errorf("residuals: got %+v, want one of row POST at rows.yaml:2", notes)
	}
}

// TestContractViolations breaks one row or profile at a time; every kind must show it at the row.
func TestContractViolations(t *testing.T) {
	row := func(c *contract.Contract, id string) *contract.Row {
		return c.Rows[slices.IndexFunc(c.Rows, func(r *contract.Row) bool { return r.ID == id })]
	}
	for _, tt := range []struct {
		code    string
		edit    func(*contract.Contract)
		subject string
		rows    []string
		entry   string
		line    int
	}{
		// The sample identities are "a" and "b": a literal that happens to be one of them is still foreign to the other.
		{"T101", func(c *contract.Contract) { row(c, "STATUS").Op.Subject = tmpl(t, "{P}.status.a.{actor}") }, "worker", []string{"STATUS"}, "app.main.status.a.b", 4},
		{"T101", func(c *contract.Contract) { row(c, "POST").Op.Subject = tmpl(t, "{P}.talk.{owner}.*.{room}") }, "worker", []string{"POST"}, "app.main.talk.a.*.a", 2},
		{"T102", func(c *contract.Contract) { row(c, "LOG").Profiles = []string{"writer", "scanner"} }, "scanner", []string{"LOG"}, "app.main.log.>", 6},
		{"T103", func(c *contract.Contract) { row(c, "STATUS").Op.Subject = tmpl(t, "{P}.old.{owner}") }, "worker", []string{"STATUS"}, "app.main.old.a", 4},
		{"T104", func(c *contract.Contract) {
			row(c, "SERVE").Op = contract.Op{Kind: contract.OpSubscribe, Subject: tmpl(t, "{P}.req.{service}.>")}
		}, "server", []string{"SERVE"}, "app.main.req.a.>", 7},
		{"T105", func(c *contract.Contract) { row(c, "ANSWER").Op.Subject = tmpl(t, "{P}.ans.{service}.>") }, "server", []string{"ANSWER"}, "app.main.ans.a.>", 8},
		{"T106", func(c *contract.Contract) { row(c, "LOG-READ").Profiles = []string{"worker"} }, "worker", []string{"LOG-READ"}, "$JS.API.STREAM.MSG.GET.LOG_main", 11},
		{"T108", func(c *contract.Contract) { row(c, "RIDE").Op.Subject = tmpl(t, "{P}.race.{route}.>") }, "courier", []string{"RIDE"}, "app.main.race.a.>", 12},
		{"T109", func(c *contract.Contract) { row(c, "NOTE").Op.Subject = tmpl(t, "{P}.news.{route}") }, "courier", []string{"NOTE"}, "app.main.news.a", 16},
		{"T110", func(c *contract.Contract) { row(c, "NO-RIDE-ADMIN").Profiles = []string{"writer"} }, "courier", []string{}, "", 0},
		{"T111", func(c *contract.Contract) { row(c, "STATUS").Op.Subject = tmpl(t, "{P}.ride.{owner}") }, "worker", []string{"HEAR"}, "app.main.talk.*.*.a", 3},
		{"T112", func(c *contract.Contract) {
			row(c, "STATUS").Op = contract.Op{Kind: contract.OpSubscribe, Subject: tmpl(t, "{P}.call.{owner}")}
		}, "worker", []string{"STATUS"}, "app.main.call.a", 4},
		{"T113", func(c *contract.Contract) { row(c, "LOG").Op.Subject = tmpl(t, "{P}.vault.>") }, "writer", []string{"LOG"}, "app.main.vault.>", 6},
		{"T114", func(c *contract.Contract) { c.Resources["LOG"].Config["deny_delete"] = false }, "LOG", []string{}, "", 1},
		{"T114", func(c *contract.Contract) { c.Resources["LOG"].Protect = nil }, "LOG", []string{}, "", 1},
		{"T114", func(c *contract.Contract) { c.Resources["LOG"].Update = true }, "LOG", []string{}, "", 1},
		{"T116", func(c *contract.Contract) { c.Profiles["writer"].Lifetime.Max = 72 * time.Hour }, "writer", []string{}, "", 0},
		{"T117", func(c *contract.Contract) { row(c, "VAULT-READ").Op.Why = "data" }, "scanner", []string{"VAULT-READ"}, "$JS.API.STREAM.MSG.GET.KV_vault_main", 18},
		{"T118", func(c *contract.Contract) {
			c.Rows = append(c.Rows, &contract.Row{ID: "WIDER", Pos: contract.Pos{File: "rows.yaml", Line: 30}, Profiles: []string{"server"}, Cite: "§",
				Class: contract.ClassDirect, Op: contract.Op{Kind: contract.OpPublish, Subject: tmpl(t, "{P}.ride.*.{service}")}})
		}, "server", []string{"WIDER"}, "app.main.ride.*.a", 30},
		{"T107", func(c *contract.Contract) { c.Profiles["writer"].Lifetime.Class = contract.LifetimeNone }, "writer", []string{}, "", 0},
	} {
		t.Run(tt.code, func(t *testing.T) {
			c := testContract(t)
			tt.edit(c)
			r := findingsOf(t, Config{Contract: c, Space: "main"})
			if diff := cmp.Diff([]string{tt.code}, codes(r)); diff != "" {
				t.Fatalf("codes (-want +got):\n%s", diff)
			}
			r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return isDeputy(f.Code) }) // TestUndeclaredRow is about them
			got := r.Findings[0]
			if diff := cmp.Diff([]any{tt.subject, tt.rows, tt.entry, tt.line}, []any{got.Subject, got.Rows, got.Entry, got.Line}); diff != "" {
				t.Errorf("finding (-want +got):\n%s", diff)
			}
			if r.Errors() != 1 {
				t.Errorf("errors: got %d, want one for the row\n%+v", r.Errors(), r.Findings)
			}
		})
	}
}

// TestContractProblems: what cannot be judged is an error beside the rest, never a pass.
func TestContractProblems(t *testing.T) {
	c := testContract(t)
	c.Invariants[0].Kind = "no-such-kind"
	c.Invariants[5].Verb = "stream.fold"
	r, err := Contract(Config{Contract: c, Space: "main"})
	var probs contract.Problems
	if !errors.As(err, &probs) || len(probs) != 2 || r == nil || r.Checked.Profiles != 6 {
		t.Errorf("got %v and %v, want two problems and a report", err, r)
	}
	if _, err := Contract(Config{Contract: c, Topology: "none"}); err == nil || !strings.Contains(err.Error(), "one of one") {
		t.Errorf("topology: got %v, want the names of those there are", err)
	}
	if _, err := Contract(Config{}); err == nil {
		t.Error("no contract: got no error")
	}
	clear(c.Profiles)
	if r, err := Contract(Config{Contract: c}); r != nil || err == nil {
		t.Errorf("no profiles: got %v and %v, want an error and no report", r, err)
	}
}

// shipped returns the contracts of this repository.
func shipped(t *testing.T) []*contract.Contract {
	t.Helper()
	tiny, err := matrix.LoadDir("../testdata/tiny")
	if err != nil {
		t.Fatal(err)
	}
	contracts := []*contract.Contract{tiny}
	for _, name := range matrix.EmbeddedNames() {
		c, err := matrix.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		contracts = append(contracts, c)
	}
	if len(contracts) < 2 {
		t.Fatal("no embedded contract")
	}
	return contracts
}

func noErrors(t *testing.T, r *Report) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Severity == Error {
			t.Errorf("%s %s %s: %s (entry %q, witness %q)", f.Code, f.Subject, f.Rows, f.Message, f.Entry, f.Witness)
		}
	}
}

// TestShippedContracts: what is shipped has no error finding in any topology.
func TestShippedContracts(t *testing.T) {
	for _, c := range shipped(t) {
		for _, topology := range c.Topologies {
			t.Run(c.Name+" "+topology.Name, func(t *testing.T) {
				r := findingsOf(t, Config{Contract: c, Topology: topology.Name})
				if r.Checked.Profiles != len(c.Profiles) || r.Checked.Profiles == 0 || r.Checked.Entries == 0 {
					t.Errorf("checked: got %+v, want %d profiles", r.Checked, len(c.Profiles))
				}
				noErrors(t, r)
			})
		}
	}
}

// TestShippedCredentials: a credential that holds exactly what its profile compiles to has no error, no doubt, and a row for
// every allow entry.
func TestShippedCredentials(t *testing.T) {
	judged := 0
	for _, c := range shipped(t) {
		for _, topology := range c.Topologies {
			for _, profile := range contract.Sorted(c.Profiles) {
				for _, sample := range compile.Samples(c, profile, "main", 3) {
					t.Run(strings.Join([]string{c.Name, topology.Name, profile.Name, sample.Name}, " "), func(t *testing.T) {
						judged += judgeSample(t, Config{Contract: c, Topology: topology.Name, Now: now()}, topology, profile, sample.Input)
					})
				}
			}
		}
	}
	if judged < 40 {
		t.Errorf("judged %d credentials, want at least 40", judged)
	}
}

func judgeSample(t *testing.T, cfg Config, topology *contract.Topology, profile *contract.Profile, in compile.Input) int {
	scope, err := compile.NewScope(cfg.Contract, topology, profile, in)
	if err != nil {
		t.Fatal(err)
	}
	tags, err := scope.Tags()
	if err != nil {
		t.Fatal(err)
	}
	accounts := compile.Accounts(cfg.Contract, topology, profile)
	for _, account := range accounts {
		set, err := compile.Compile(scope, account)
		if err != nil {
			t.Fatal(err)
		}
		uc := user(t, testContract(t), "writer", map[string]any{}, func(uc *jwt.UserClaims) {
			uc.Permissions, uc.Tags, uc.Expires = set.JWT(), tags, 0
			if profile.Lifetime.Class != contract.LifetimeNone {
				uc.IssuedAt = cfg.Now.Unix() - 1
				uc.Expires = cfg.Now.Add(max(profile.Lifetime.Default, profile.Lifetime.Max)).Unix()
			}
		})
		a, err := newAuditor(cfg)
		if err != nil {
			t.Fatal(err)
		}
		joinsWhole(t, a, a.userPrincipal(uc, "x.jwt"))
	}
	return len(accounts)
}

// joinsWhole judges a credential of which nothing is in doubt, wrong, or of no row.
func joinsWhole(t *testing.T, a *auditor, p *Principal) {
	t.Helper()
	a.join(p)
	a.judge(p)
	noErrors(t, &a.out)
	for _, doubt := range p.doubts {
		t.Errorf("doubt: %s", doubt)
	}
	for _, e := range append(p.Pub.Allow, p.Sub.Allow...) {
		if len(e.Rows) == 0 {
			t.Errorf("no row for %s", e)
		}
	}
}
