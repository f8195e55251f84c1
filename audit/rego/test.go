package rego

import (
	"context"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	oparego "github.com/open-policy-agent/opa/v1/rego"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestResult is the outcome of one test of a rule.
type TestResult struct {
	Name string // package and rule
	Pos  contract.Pos
	Pass bool
}

// Test runs the tests of directories of rules: every rule whose name begins with test_ in a file that ends in _test.rego, as
// "opa test" does, which lacks the builtins. A rule that cannot be compiled or run, and a directory without a test, is an error.
func Test(ctx context.Context, dirs []string) ([]TestResult, error) {
	s := newSource()
	s.loadShipped(true, false)
	for _, dir := range dirs {
		s.loadDir(dir, true)
	}
	if err := s.probs.Err(); err != nil {
		return nil, err
	}
	store := inmem.NewFromObject(s.data)
	compiler, err := s.compile(ctx, store)
	if err != nil {
		return nil, err
	}
	_, probs := s.describe()
	var out []TestResult
	for _, file := range contract.SortedKeys(s.modules) {
		m := s.modules[file]
		seen := map[string]bool{}
		for _, r := range m.Rules {
			name := string(r.Head.Name)
			if !strings.HasSuffix(file, testSuffix) || !strings.HasPrefix(name, "test_") || seen[name] {
				continue
			}
			seen[name] = true
			query, err := prepare(ctx, compiler, store, m.Package.Path.Append(ast.StringTerm(name)))
			if err != nil {
				probs = append(probs, problemsOf(err)...)
				continue
			}
			pass, err := passes(ctx, query)
			if err != nil {
				probs = append(probs, problemsOf(err)...)
				continue
			}
			out = append(out, TestResult{packageName(m) + "." + name, posOf(r.Location), pass})
		}
	}
	if len(out) == 0 && len(probs) == 0 {
		probs = append(probs, &contract.Problem{What: "rules " + strings.Join(dirs, ", "), Got: "no test", Want: "one or more",
			Hint: fmt.Sprintf("write rules named test_… in a file that ends in %s", testSuffix)})
	}
	return out, probs.Err()
}

// passes: a test passes where it is true; undefined and any other value is a failure.
func passes(ctx context.Context, query oparego.PreparedEvalQuery) (bool, error) {
	set, err := query.Eval(ctx)
	if err != nil {
		return false, err
	}
	return len(set) == 1 && set[0].Expressions[0].Value == true, nil
}
