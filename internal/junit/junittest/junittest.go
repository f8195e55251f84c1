// Package junittest holds JUnit documents against what the schema of Ant (JUnit.xsd) and that of Jenkins (jenkins-junit.xsd) both
// accept. Tests of what writes such documents share it; the product links none of it.
package junittest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// grammar has of each element its required attributes, and its children in order: "?" for one that may be left out, "*" for any
// number, "|" for one of several.
var grammar = map[string]struct {
	attrs    []string
	children []string
}{
	"testsuites": {nil, []string{"testsuite*"}},
	"testsuite": {[]string{"errors", "failures", "hostname", "id", "name", "package", "skipped", "tests", "time", "timestamp"},
		[]string{"properties", "testcase*", "system-out", "system-err"}},
	"properties": {nil, nil},
	"testcase":   {[]string{"classname", "name", "time"}, []string{"failure|error|skipped?"}},
	"failure":    {[]string{"message", "type"}, nil},
	"error":      {[]string{"message", "type"}, nil},
	"skipped":    {[]string{"message"}, nil},
	"system-out": {nil, nil},
	"system-err": {nil, nil},
}

// Element is one element of a document.
type Element struct {
	Name     string
	Attrs    map[string]string
	Children []*Element
	Text     string // its own, without that of its children
}

// Read reads a document with a strict decoder, which refuses what XML 1.0 cannot hold.
func Read(data []byte) (*Element, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8")
	}
	dec := xml.NewDecoder(bytes.NewReader(data))
	top := &Element{}
	open := []*Element{top}
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("not XML: %w", err)
		}
		last := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := &Element{Name: token.Name.Local, Attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.Attrs[a.Name.Local] = a.Value
			}
			last.Children = append(last.Children, e)
			open = append(open, e)
		case xml.CharData:
			last.Text += string(token)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
	if len(top.Children) != 1 {
		return nil, fmt.Errorf("roots, got %d, want 1", len(top.Children))
	}
	return top.Children[0], nil
}

// Faults lists where an element and those in it differ from the shape.
func (e *Element) Faults() []string {
	want, ok := grammar[e.Name]
	if !ok {
		return []string{"element " + e.Name}
	}
	var out []string
	for _, name := range want.attrs {
		if _, ok := e.Attrs[name]; !ok {
			out = append(out, e.Name+" lacks "+name)
		}
	}
	for name := range e.Attrs {
		if !slices.Contains(want.attrs, name) {
			out = append(out, e.Name+" has "+name)
		}
	}
	out = append(out, e.order(want.children)...)
	for _, child := range e.Children {
		out = append(out, child.Faults()...)
	}
	slices.Sort(out)
	return out
}

// order lists the children that are missing or out of place.
func (e *Element) order(children []string) []string {
	var out []string
	rest := e.Children
	for _, want := range children {
		names, many := strings.CutSuffix(want, "*")
		names, optional := strings.CutSuffix(names, "?")
		n := 0
		for n < len(rest) && (many || n == 0) && slices.Contains(strings.Split(names, "|"), rest[n].Name) {
			n++
		}
		if n == 0 && !many && !optional {
			out = append(out, e.Name+" lacks "+want)
		}
		rest = rest[n:]
	}
	for _, child := range rest {
		out = append(out, e.Name+" has a "+child.Name+" out of place")
	}
	return out
}

// Count is the number of cases of a document by what became of them: tests, failures, errors, skipped. It lists a suite whose own
// counts differ, and two cases of one name.
func (e *Element) Count() (all map[string]int, faults []string) {
	outcomes := map[string]string{"failure": "failures", "error": "errors", "skipped": "skipped"}
	all, seen := map[string]int{}, map[string]bool{}
	for _, suite := range e.Children {
		got := map[string]int{}
		for _, c := range suite.Children {
			if c.Name != "testcase" {
				continue
			}
			got["tests"]++
			for _, outcome := range c.Children {
				got[outcomes[outcome.Name]]++
			}
			key := c.Attrs["classname"] + "\x00" + c.Attrs["name"]
			if seen[key] {
				faults = append(faults, fmt.Sprintf("two cases %q", key))
			}
			seen[key] = true
		}
		for _, name := range []string{"tests", "failures", "errors", "skipped"} {
			if suite.Attrs[name] != strconv.Itoa(got[name]) {
				faults = append(faults, fmt.Sprintf("suite %s: %s says %s, want %d", suite.Attrs["name"], name, suite.Attrs[name], got[name]))
			}
			all[name] += got[name]
		}
	}
	return all, faults
}
