package audit

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// classReport is the report on some files as text, and how many classes they are of; whole: by classes, else each by itself.
func classReport(t *testing.T, cfg Config, files [][]byte, whole bool) (report string, classes int) {
	t.Helper()
	a, err := newAuditor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !whole {
		a.classes = nil
	}
	for i, data := range files {
		if err := a.file(fmt.Sprintf("%d.creds", i), data); err != nil {
			a.problem(err)
		}
	}
	r, err := a.done()
	if r == nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings { // what the JSON form does not have
		fmt.Fprintf(&out, "%+v\n", f.known(""))
	}
	return fmt.Sprint(out.String(), err), len(a.classes)
}

// TestClasses: a credential that is judged as one of its class has the findings that it has by itself, word for word.
func TestClasses(t *testing.T) {
	t.Parallel()
	cfg, files := Holders(t, 12)
	want, _ := classReport(t, cfg, files, false)
	got, classes := classReport(t, cfg, files, true)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("holders (-alone +class):\n%.3000s", diff)
	}
	if classes == 0 || classes >= len(files) {
		t.Errorf("%d holders are of %d classes, want some and fewer", len(files), classes)
	}
	of := 0
	for _, c := range Cases(t) {
		cfg := Config{Contract: c.Contract, Now: now(), ControlLine: 4096}
		want, _ := classReport(t, cfg, [][]byte{c.Data}, false)
		got, n := classReport(t, cfg, [][]byte{c.Data}, true)
		of += n
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-alone +class):\n%.2000s", c.Name, diff)
		}
	}
	if of == 0 {
		t.Error("no fixture is of a class")
	}
}
