package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/audit/rego"
)

// ruleFlags choose the rules in Rego of an audit.
type ruleFlags struct {
	Rules      []string `help:"Directory of rules in Rego to judge by too, repeatable; builtin: those that ship, which restate checks and must agree with them." placeholder:"DIR|builtin" sep:"none"`
	TestRules  bool     `help:"Run the tests of the rules (*_test.rego), and judge nothing."`
	PrintInput bool     `help:"Print the document that rules judge, and judge nothing by them."`
}

func (f ruleFlags) dirs() []string {
	return slices.DeleteFunc(slices.Clone(f.Rules), func(dir string) bool { return dir == rego.Builtin })
}

// ruler loads the rules that were asked for; nil: none were.
func (f ruleFlags) ruler(a *app) (audit.Ruler, error) {
	switch {
	case f.PrintInput && len(f.Rules) > 0:
		return nil, usage(errors.New("--print-input judges by no rules, got --rules beside it"), "leave one of them out")
	case f.PrintInput:
		return &audit.Collector{}, nil
	case len(f.Rules) == 0:
		return nil, nil
	}
	engine, err := rego.New(a.ctx, rego.Config{Shipped: slices.Contains(f.Rules, rego.Builtin), Dirs: f.dirs()})
	if err != nil {
		return nil, err
	}
	return engine, nil
}

// test runs the tests of a user's rules.
func (f ruleFlags) test(a *app) error {
	if len(f.dirs()) == 0 {
		return usage(errors.New("--test-rules, got no directory of rules"), "name one with --rules DIR")
	}
	results, err := rego.Test(a.ctx, f.dirs())
	if err != nil {
		return err
	}
	failed := 0
	for _, r := range results {
		if !r.Pass {
			failed++
			fmt.Fprintf(a.stdout, "FAIL %s: %s\n", r.Pos, r.Name)
		}
	}
	fmt.Fprintf(a.stdout, "%d tests of rules, %d failed\n", len(results), failed)
	if failed > 0 {
		return errFindings
	}
	return nil
}
