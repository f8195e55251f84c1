package audit

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/junit"
)

// junitInput is the suite of what could not be judged.
const junitInput = "input"

// writeJUnit writes a suite per family of rules and a case per rule: one that passed, or one per holder in which it failed. What
// the report says beside failures stands in the suite's output.
func (r *Report) writeJUnit(w io.Writer, failOn string) error {
	by := map[string][]*Finding{}
	for i := range r.Findings {
		by[r.Findings[i].Code] = append(by[r.Findings[i].Code], &r.Findings[i])
	}
	suites := map[string]*junit.Suite{}
	suite := func(family string) *junit.Suite {
		if suites[family] == nil {
			suites[family] = junit.NewSuite(toolName+" audit: "+junit.Plain(family), junit.Plain(family), r.now)
		}
		return suites[family]
	}
	for _, rule := range r.allRules() {
		junitRule(suite(rule.Family), &rule, by[rule.Code], failOn)
	}
	for _, p := range r.problems {
		text := junit.Plain(p.Error())
		suite(junitInput).Add(junit.Case{Class: junitInput, Name: text, Error: &junit.Fault{Message: text, Type: "unjudged", Text: junit.Plain(p.Hint)}})
	}
	var out []*junit.Suite
	for _, family := range slices.SortedFunc(maps.Keys(suites), func(a, b string) int {
		return cmp.Or(-cmp.Compare(one(a == GenericFamily), one(b == GenericFamily)), strings.Compare(a, b))
	}) {
		out = append(out, suites[family])
	}
	return junit.Write(w, out)
}

// junitRule adds the cases of one rule.
func junitRule(s *junit.Suite, rule *Rule, findings []*Finding, failOn string) {
	class := junit.Plain(rule.Family + "." + rule.Code)
	name := junit.Plain(rule.Code + " " + rule.Title)
	failed := map[[2]string][]*Finding{}
	var order [][2]string
	for _, f := range findings {
		holder := [2]string{f.Subject, f.File}
		switch {
		case f.Code != codeUnjudged && (!f.Counts() || rank(f.Severity) > rank(failOn)):
			s.Out += junit.Plain(f.line()) + "\n"
		case failed[holder] == nil:
			order = append(order, holder)
			fallthrough
		default:
			failed[holder] = append(failed[holder], f)
		}
	}
	if len(order) == 0 {
		s.Add(junit.Case{Class: class, Name: name})
	}
	for _, holder := range order {
		list := failed[holder]
		c := junit.Case{Class: class, Name: name + junit.Plain(": "+holder[0])}
		if file := holder[1]; file != "" {
			c.Name += junit.Plain(" (" + file + ")")
		}
		lines := make([]string, len(list))
		for i, f := range list {
			lines[i] = junit.Plain(f.line())
		}
		if rule.Code == codeUnjudged && rank(list[0].Severity) > rank(failOn) {
			c.Skipped = &junit.Reason{Message: strings.Join(lines, "; ")}
		} else {
			c.Failure = &junit.Fault{Message: junit.Plain(list[0].Message), Type: list[0].Severity,
				Text: strings.Join(append(lines, junit.Plain(rule.Help)), "\n")}
		}
		s.Add(c)
	}
}

// line is a finding in one line.
func (f *Finding) line() string {
	said := f.Message
	if len(f.residuals) > 0 { // the text form says once what they are
		said = strings.Join(f.residuals, ", ") + " of row " + strings.Join(f.Rows, ", ")
	}
	out := fmt.Sprintf("%s %s %s: %s", f.Severity, f.Code, f.Subject, said)
	for _, field := range [][2]string{{"entry", f.Entry}, {"witness", f.Witness}, {"at", f.at()}} {
		if field[1] != "" {
			out += "; " + field[0] + " " + field[1]
		}
	}
	switch {
	case f.Waived != nil:
		out += "; waived until " + f.Waived.Until + ": " + f.Waived.Reason
	case f.Baselined:
		out += "; known to the baseline"
	}
	return out
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
