// Package junit writes test reports in the shape that Ant, Jenkins and GitLab read: every suite states its time and host, and has
// the elements that the strictest of their schemas asks for. It owns the form and the counts; what passed or failed is its caller's.
package junit

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// Suite is one suite. [Suite.Add] keeps its counts; [Write] numbers it.
type Suite struct {
	ID         int      `xml:"id,attr"`
	Name       string   `xml:"name,attr"`
	Package    string   `xml:"package,attr"`
	Timestamp  string   `xml:"timestamp,attr"`
	Hostname   string   `xml:"hostname,attr"`
	Tests      int      `xml:"tests,attr"`
	Failures   int      `xml:"failures,attr"`
	Errors     int      `xml:"errors,attr"`
	Skipped    int      `xml:"skipped,attr"`
	Time       string   `xml:"time,attr"`
	Properties struct{} `xml:"properties"`
	Cases      []Case   `xml:"testcase"`
	Out        string   `xml:"system-out"` // what the report says beside failures
	Err        string   `xml:"system-err"`
}

// Case is one case: with neither a failure nor an error nor a reason to skip it has passed.
type Case struct {
	Class   string  `xml:"classname,attr"`
	Name    string  `xml:"name,attr"`
	Time    string  `xml:"time,attr"`
	Failure *Fault  `xml:"failure"`
	Error   *Fault  `xml:"error"`
	Skipped *Reason `xml:"skipped"`
}

// Fault is what failed, or kept a case from being judged.
type Fault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// Reason is why a case was skipped.
type Reason struct {
	Message string `xml:"message,attr"`
}

// NewSuite is an empty suite of what was judged at a time. Names are to be plain, see [Plain].
func NewSuite(name, pkg string, at time.Time) *Suite {
	return &Suite{Name: name, Package: pkg, Hostname: "localhost", Time: "0", Timestamp: at.UTC().Truncate(time.Second).Format("2006-01-02T15:04:05")}
}

// Add adds a case and counts it.
func (s *Suite) Add(c Case) {
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

// Write numbers the suites in their order and writes the document, in one piece.
func Write(w io.Writer, suites []*Suite) error {
	for i, s := range suites {
		s.ID = i
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []*Suite `xml:"testsuite"`
	}{Suites: suites}); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// Plain is text without what XML 1.0 cannot hold, or a viewer should not be told.
func Plain(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
