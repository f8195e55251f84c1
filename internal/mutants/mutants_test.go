package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

func tiny(t *testing.T) *contract.Contract {
	t.Helper()
	c, err := matrix.LoadDir(filepath.Join("..", "..", "testdata", "tiny"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// verdicts are the verdicts on the mutants of a row and class in the first topology, by what was changed.
func verdicts(t *testing.T, c *contract.Contract, row, class string) map[string]string {
	t.Helper()
	c.Topologies = c.Topologies[:1]
	results, err := measure(c, options{row: row, class: class, epoch: "epoch"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i := range results {
		r := &results[i]
		out[strings.TrimSpace(r.profile+" "+r.before+" → "+r.after)] = strings.TrimSpace(r.verdict + " " + strings.Join(r.by, " "))
	}
	return out
}

// TestVerdicts: a fault that no invariant of the contract speaks of survives, the same one is killed once an invariant does, and one
// that admits nothing more is proven equivalent.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	fault := "reader pub $KV.tiny_a.user.* → held by reader"
	if got := verdicts(t, tiny(t), "KEEP-USER", classUntrusted)[fault]; got != survived {
		t.Errorf("without an invariant, got %q, want %q", got, survived)
	}
	c := tiny(t)
	family, err := contract.ParseTemplate("$KV.tiny_{space}.user.>")
	if err != nil {
		t.Fatal(err)
	}
	c.Invariants = append(c.Invariants, &contract.Invariant{Code: "T002", Kind: contract.ExclusiveWrite, Severity: "error", Families: []contract.Template{family},
		By: []string{"keeper"}, Cite: "§4"})
	if got := verdicts(t, c, "KEEP-USER", classUntrusted)[fault]; got != killed+" T002" {
		t.Errorf("with an invariant, got %q, want %q", got, killed+" T002")
	}
	if diff := cmp.Diff(map[string]string{
		"reader pub deny $JS.API.CONSUMER.CREATE.LOG_a → none":           equivalent,
		"reader pub deny $JS.API.CONSUMER.CREATE.LOG_a.> → none":         equivalent,
		"reader pub deny $JS.API.CONSUMER.DURABLE.CREATE.LOG_a.> → none": equivalent,
	}, verdicts(t, tiny(t), "LOG-DENY-CREATE", classDeny)); diff != "" {
		t.Errorf("denies of nothing that is allowed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"writer pub tiny.a.log.a.a → pub *.a.log.a.a":    killed + " A022",
		"writer pub tiny.a.log.a.a → pub tiny.*.log.a.a": survived,
		"writer pub tiny.a.log.a.a → pub tiny.a.*.a.a":   survived,
		"writer pub tiny.a.log.a.a → pub tiny.a.log.*.a": killed + " T001",
		"writer pub tiny.a.log.a.a → pub tiny.a.log.a.*": survived,
	}, ofEntry(verdicts(t, tiny(t), "LOG-WRITE", classWiden), "writer pub tiny.a.log.a.a ")); diff != "" {
		t.Errorf("one token widened (-want +got):\n%s", diff)
	}
}

// ofEntry keeps the verdicts on one entry.
func ofEntry(all map[string]string, prefix string) map[string]string {
	out := map[string]string{}
	for k, v := range all {
		if strings.HasPrefix(k, prefix) {
			out[k] = v
		}
	}
	return out
}

// TestReport: the last line counts, survivors are an error of their own, and two runs print the same.
func TestReport(t *testing.T) {
	t.Parallel()
	o := options{contract: filepath.Join("..", "..", "testdata", "tiny"), row: "LOG-WRITE", epoch: "epoch", verbose: true}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run(o, out, io.Discard); !errors.Is(err, errSurvivors) {
			t.Fatalf("got %v, want %v", err, errSurvivors)
		}
	}
	if diff := cmp.Diff(first.String(), second.String()); diff != "" {
		t.Errorf("two runs differ (-first +second):\n%s", diff)
	}
	lines := strings.Split(strings.TrimSpace(first.String()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "killed ") || strings.HasPrefix(last, "killed 0 ") {
		t.Errorf("last line, got %q, want how many were killed", last)
	}
	o.row, o.class = "LOG-DENY-CREATE", classDeny // nothing counts: that is no success
	if err := run(o, io.Discard, io.Discard); !errors.Is(err, errSurvivors) {
		t.Errorf("nothing to kill, got %v, want an error", err)
	}
}

// TestEveryRowHasMutants: in the contracts that ship, each class has mutants and so has each row.
func TestEveryRowHasMutants(t *testing.T) {
	t.Parallel()
	contracts, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	for _, c := range contracts {
		for _, topology := range c.Topologies {
			w, err := newWorld(c, topology)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range plan(w, "epoch", func(string, string) bool { return true }) {
				results = append(results, result{mutant: m})
			}
		}
	}
	if err := complete(contracts, results); err != nil {
		t.Error(err)
	}
	if err := complete(contracts, results[:1]); err == nil {
		t.Error("one mutant in all is accepted, want an error for every class and row without one")
	}
}
