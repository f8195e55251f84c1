package rego

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
)

// runTests runs the tests among modules with OPA's own runner, which has the builtins of this package and raises their errors.
func runTests(t *testing.T, s *source) []*tester.Result {
	t.Helper()
	if err := s.probs.Err(); err != nil {
		t.Fatal(err)
	}
	compiler, err := newCompiler()
	if err != nil {
		t.Fatal(err)
	}
	var custom []*tester.Builtin
	for _, b := range builtins() {
		custom = append(custom, &tester.Builtin{Decl: b.decl(), Func: b.option()})
	}
	store := inmem.NewFromObject(s.data)
	var out []*tester.Result
	if err := storage.Txn(t.Context(), store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		results, err := tester.NewRunner().SetCompiler(compiler).SetStore(store).AddCustomBuiltins(custom).RaiseBuiltinErrors(true).
			SetModules(s.modules).RunTests(t.Context(), txn)
		if err != nil {
			return err
		}
		for r := range results {
			out = append(out, r)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRules runs the tests of the rules that ship. A file of rules without a test that fires it and one that does not fails.
func TestRules(t *testing.T) {
	s := newSource()
	s.loadShipped(true, true)
	passed := map[string]int{}
	for _, r := range runTests(t, s) {
		if !r.Pass() {
			t.Errorf("%s: %v", r.Location, r)
		}
		passed[r.Package]++
	}
	rules := 0
	for _, m := range s.modules {
		name := m.Package.Path.String()
		if !strings.HasPrefix(name, "data.audit.rules.") || strings.HasSuffix(name, "_test") {
			continue
		}
		rules++
		if passed[name+"_test"] < 2 {
			t.Errorf("%s has %d tests, want two or more", name, passed[name+"_test"])
		}
	}
	if rules == 0 || len(passed) == 0 {
		t.Errorf("got %d rules and tests of %d packages, want some", rules, len(passed))
	}
	total := 0
	for _, n := range passed {
		total += n
	}
	t.Logf("%d tests of %d rules", total, rules)
}
