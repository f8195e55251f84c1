package rego

import (
	"errors"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// problemsOf gives what OPA says about a rule the form, and the position, of every other problem.
func problemsOf(err error) contract.Problems {
	var list ast.Errors
	var one *ast.Error
	var run *topdown.Error
	switch {
	case errors.As(err, &list):
		var out contract.Problems
		for _, e := range list {
			out = append(out, compileProblem(e))
		}
		return out
	case errors.As(err, &one):
		return contract.Problems{compileProblem(one)}
	case errors.As(err, &run):
		return contract.Problems{{Pos: posOf(run.Location), What: "rule failed: " + oneLine(run.Message),
			Hint: "a rule that fails judges nothing: correct it"}}
	}
	return contract.Problems{{What: "rules: " + oneLine(err.Error())}}
}

func compileProblem(e *ast.Error) *contract.Problem {
	what := oneLine(e.Message)
	if e.Details != nil {
		what = strings.Join(append([]string{what}, trimmed(e.Details.Lines())...), "; ")
	}
	p := &contract.Problem{Pos: posOf(e.Location), What: what}
	switch {
	case strings.HasPrefix(e.Message, "undefined function"):
		p.Hint = "rules are pure: no network, process, clock or randomness; the clock is input.now"
	case strings.HasPrefix(e.Message, "undefined ref: input"):
		p.Hint = "the input is described in docs/rego.md; cotalctl audit --print-input shows one"
	}
	return p
}

func trimmed(lines []string) (out []string) {
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" && strings.Trim(l, "^") != "" {
			out = append(out, l)
		}
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
