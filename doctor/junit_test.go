package doctor_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/junit/junittest"
)

func junitOf(t *testing.T, r *doctor.Report) (*junittest.Element, map[string]int) {
	t.Helper()
	root, err := junittest.Read([]byte(textOf(t, r, doctor.Render{Format: doctor.FormatJUnit})))
	if err != nil {
		t.Fatal(err)
	}
	all, faults := root.Count()
	for _, fault := range append(faults, root.Faults()...) {
		t.Error(fault)
	}
	return root, all
}

func TestJUnit(t *testing.T) {
	r := wide()
	r.Checks = append(r.Checks, row("fail D001 - - another")) // of a second cluster: the same name
	root, all := junitOf(t, r)
	if diff := cmp.Diff(map[string]int{"tests": 17, "failures": 11, "errors": 0, "skipped": 3}, all); diff != "" {
		t.Error(diff)
	}
	suite := root.Children[1]
	if suite.Attrs["timestamp"] != "2030-01-02T03:04:05" || suite.Attrs["name"] != "cotalctl doctor: D004 title of D004" {
		t.Errorf("got %v", suite.Attrs)
	}
	failed := suite.Children[1]
	if diff := cmp.Diff(map[string]string{"classname": "doctor.D004", "name": "D004 title of D004 on n1", "time": "0"}, failed.Attrs); diff != "" {
		t.Error(diff)
	}
	if got := failed.Children[0]; got.Attrs["message"] != "4096" || got.Text != "got: 4096\nwant: w\nhint: hint of D004\nsee: docs/doctor/D004.md" {
		t.Errorf("got %+v", got)
	}
	said := ""
	for _, s := range root.Children {
		said += s.Children[len(s.Children)-2].Text
	}
	if want := "note D040 title of D040 on n1: got: advice; want: w; hint: hint of D040\n"; said != want {
		t.Errorf("advice: got %q, want %q", said, want)
	}
	healthy := doctor.Judge(recorded(t), floors, doctor.Expect{Servers: 3})
	if _, all := junitOf(t, healthy); all["tests"] != len(healthy.Checks) || all["failures"]+all["skipped"] != 0 {
		t.Errorf("healthy: got %v", all)
	}
}

// TestJUnitHostile: text that XML cannot hold is escaped, whatever field it stands in.
func TestJUnitHostile(t *testing.T) {
	bad := "\x00\x1b\ufffe\xff]]><&\"\u202e" + strings.Repeat("x", 1<<20)
	r := &doctor.Report{Taken: bad}
	for _, s := range []doctor.Status{doctor.Fail, doctor.Skip, doctor.Pass} {
		r.Checks = append(r.Checks, doctor.Result{ID: "D001", Title: "t", Status: s, Server: &bad, Object: bad, Got: bad, Want: bad, Hint: bad})
	}
	if _, all := junitOf(t, r); all["failures"] != 1 || all["skipped"] != 1 || all["tests"] != 3 {
		t.Errorf("got %v", all)
	}
	if n := len(textOf(t, r, doctor.Render{Format: doctor.FormatJUnit})); n > 64<<10 {
		t.Errorf("%d bytes", n)
	}
}

func TestJSONForms(t *testing.T) {
	one := textOf(t, wide(), doctor.Render{Format: doctor.FormatJSON, OneLine: true})
	if strings.Count(one, "\n") != 1 || !strings.HasSuffix(one, "}\n") {
		t.Errorf("one line: got %q", one)
	}
	var many bytes.Buffer
	if err := wide().JSON(&many); err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	for text, into := range map[string]*map[string]any{one: &a, many.String(): &b} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(a, b); diff != "" || a["failed"] != 10.0 || a["skipped"] != 3.0 || a["passed"] != 3.0 || a["taken"] != "2030-01-02T03:04:05Z" {
		t.Errorf("%v %v %v %v: %s", a["failed"], a["skipped"], a["passed"], a["taken"], diff)
	}
	if err := wide().Write(&many, doctor.Render{Format: "yaml"}); err == nil {
		t.Error("yaml: got no error")
	}
}
