package audit

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// A JUnit document in the shape that Ant, Jenkins and GitLab read: every suite states its time and host, and has the elements that
// the strictest of their schemas asks for.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		ID         int         `xml:"id,attr"`
		Name       string      `xml:"name,attr"`
		Package    string      `xml:"package,attr"`
		Timestamp  string      `xml:"timestamp,attr"`
		Hostname   string      `xml:"hostname,attr"`
		Tests      int         `xml:"tests,attr"`
		Failures   int         `xml:"failures,attr"`
		Errors     int         `xml:"errors,attr"`
		Skipped    int         `xml:"skipped,attr"`
		Time       string      `xml:"time,attr"`
		Properties struct{}    `xml:"properties"`
		Cases      []junitCase `xml:"testcase"`
		Out        string      `xml:"system-out"`
		Err        string      `xml:"system-err"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitFault  `xml:"failure"`
		Error   *junitFault  `xml:"error"`
		Skipped *junitReason `xml:"skipped"`
	}
	junitFault struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
	}
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
	suites := map[string]*junitSuite{}
	suite := func(family string) *junitSuite {
		if suites[family] == nil {
			suites[family] = &junitSuite{Name: toolName + " audit: " + plainXML(family), Package: plainXML(family), Hostname: "localhost", Time: "0",
				Timestamp: r.now.UTC().Truncate(time.Second).Format("2006-01-02T15:04:05")}
		}
		return suites[family]
	}
	for _, rule := range r.allRules() {
		suite(rule.Family).rule(&rule, by[rule.Code], failOn)
	}
	for _, p := range r.problems {
		text := plainXML(p.Error())
		suite(junitInput).add(junitCase{Class: junitInput, Name: text, Error: &junitFault{text, "unjudged", plainXML(p.Hint)}})
	}
	out := junitSuites{}
	for _, family := range slices.SortedFunc(maps.Keys(suites), func(a, b string) int {
		return cmp.Or(-cmp.Compare(one(a == GenericFamily), one(b == GenericFamily)), strings.Compare(a, b))
	}) {
		s := suites[family]
		s.ID = len(out.Suites)
		out.Suites = append(out.Suites, *s)
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// rule adds the cases of one rule.
func (s *junitSuite) rule(rule *Rule, findings []*Finding, failOn string) {
	class := plainXML(rule.Family + "." + rule.Code)
	name := plainXML(rule.Code + " " + rule.Title)
	failed := map[[2]string][]*Finding{}
	var order [][2]string
	for _, f := range findings {
		holder := [2]string{f.Subject, f.File}
		switch {
		case f.Code != codeUnjudged && (!f.Counts() || rank(f.Severity) > rank(failOn)):
			s.Out += plainXML(f.line()) + "\n"
		case failed[holder] == nil:
			order = append(order, holder)
			fallthrough
		default:
			failed[holder] = append(failed[holder], f)
		}
	}
	if len(order) == 0 {
		s.add(junitCase{Class: class, Name: name})
	}
	for _, holder := range order {
		list := failed[holder]
		c := junitCase{Class: class, Name: name + plainXML(": "+holder[0])}
		if file := holder[1]; file != "" {
			c.Name += plainXML(" (" + file + ")")
		}
		lines := make([]string, len(list))
		for i, f := range list {
			lines[i] = plainXML(f.line())
		}
		if rule.Code == codeUnjudged && rank(list[0].Severity) > rank(failOn) {
			c.Skipped = &junitReason{strings.Join(lines, "; ")}
		} else {
			c.Failure = &junitFault{plainXML(list[0].Message), list[0].Severity, strings.Join(append(lines, plainXML(rule.Help)), "\n")}
		}
		s.add(c)
	}
}

func (s *junitSuite) add(c junitCase) {
	c.Time = "0"
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
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

// plainXML is text without what XML 1.0 cannot hold, or a viewer should not be told.
func plainXML(text string) string { return strings.ToValidUTF8(clean(text), "?") }

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
