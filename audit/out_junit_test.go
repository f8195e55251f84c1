package audit

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// junitShape is what the schema of Ant (JUnit.xsd) and that of Jenkins (jenkins-junit.xsd) both accept: of each element its required
// attributes, and its children in order, "?" for one that may be left out, "*" for any number, "|" for one of several.
var junitShape = map[string]struct {
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

type xmlElement struct {
	name     string
	attrs    map[string]string
	children []*xmlElement
}

// parseXML reads a document with a strict decoder, which refuses what XML 1.0 cannot hold.
func parseXML(t *testing.T, data []byte) *xmlElement {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(data))
	top := &xmlElement{}
	open := []*xmlElement{top}
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &xmlElement{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			last := open[len(open)-1]
			last.children = append(last.children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
	if len(top.children) != 1 {
		t.Fatalf("got %d roots, want 1", len(top.children))
	}
	return top.children[0]
}

// faults lists where an element and those in it differ from the shape.
func (e *xmlElement) faults() []string {
	var out []string
	shape, ok := junitShape[e.name]
	if !ok {
		return []string{"element " + e.name}
	}
	for _, name := range shape.attrs {
		if _, ok := e.attrs[name]; !ok {
			out = append(out, e.name+" lacks "+name)
		}
	}
	for name := range e.attrs {
		if !slices.Contains(shape.attrs, name) {
			out = append(out, e.name+" has "+name)
		}
	}
	rest := e.children
	for _, want := range shape.children {
		names, many := strings.CutSuffix(want, "*")
		names, optional := strings.CutSuffix(names, "?")
		n := 0
		for n < len(rest) && (many || n == 0) && slices.Contains(strings.Split(names, "|"), rest[n].name) {
			n++
		}
		if n == 0 && !many && !optional {
			out = append(out, e.name+" lacks "+want)
		}
		rest = rest[n:]
	}
	for _, child := range rest {
		out = append(out, e.name+" has a "+child.name+" out of place")
	}
	for _, child := range e.children {
		out = append(out, child.faults()...)
	}
	return out
}

func junitOf(t *testing.T, r *Report, failOn string) *xmlElement {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, Render{Format: FormatJUnit, FailOn: failOn}); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(b.Bytes()) {
		t.Error("not UTF-8")
	}
	root := parseXML(t, b.Bytes())
	for _, fault := range root.faults() {
		t.Errorf("shape: %s", fault)
	}
	return root
}

// counted holds the counts of each suite against its cases, and returns all of them. No two cases share a name.
func counted(t *testing.T, root *xmlElement) map[string]int {
	t.Helper()
	all, seen := map[string]int{}, map[string]bool{}
	for _, suite := range root.children {
		got := map[string]int{}
		for _, c := range suite.children {
			if c.name != "testcase" {
				continue
			}
			got["tests"]++
			for _, outcome := range c.children {
				got[map[string]string{"failure": "failures", "error": "errors", "skipped": "skipped"}[outcome.name]]++
			}
			if key := c.attrs["classname"] + "\x00" + c.attrs["name"]; seen[key] {
				t.Errorf("two cases %q", key)
			} else {
				seen[key] = true
			}
		}
		for _, name := range []string{"tests", "failures", "errors", "skipped"} {
			if suite.attrs[name] != strconv.Itoa(got[name]) {
				t.Errorf("suite %s: %s says %s, want %d", suite.attrs["name"], name, suite.attrs[name], got[name])
			}
			all[name] += got[name]
		}
	}
	return all
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		failOn string
		want   string
	}{
		{Error, "failures 4 errors 2 skipped 1"},
		{Warning, "failures 6 errors 2 skipped 0"},
		{Note, "failures 9 errors 2 skipped 0"},
	} {
		all := counted(t, junitOf(t, fixedReport(), tt.failOn))
		got := fmt.Sprintf("failures %d errors %d skipped %d", all["failures"], all["errors"], all["skipped"])
		if got != tt.want {
			t.Errorf("--fail-on %s: got %s, want %s", tt.failOn, got, tt.want)
		}
	}
	if all := counted(t, junitOf(t, &Report{}, Error)); all["tests"] != len(Checks()) || all["failures"] != 0 {
		t.Errorf("empty report: got %v, want a passed case per rule", all)
	}
}

// TestJUnitHostile: text that XML cannot hold is escaped, whatever field it stands in.
func TestJUnitHostile(t *testing.T) {
	t.Parallel()
	bad := "\x00\x1b\ufffe\xff]]><&\"\u202e"
	r := &Report{Findings: []Finding{{Code: "A001", Severity: Error, Subject: bad, Entry: bad, Rows: []string{bad}, Message: bad, Witness: bad, File: bad}}}
	if all := counted(t, junitOf(t, r, Error)); all["failures"] != 1 {
		t.Errorf("got %v, want 1 failure", all)
	}
}
