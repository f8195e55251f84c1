package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
)

func sampleReport() *Report {
	r := &Report{Schema: Schema, Findings: []Finding{
		{Code: "A100", Severity: Note, Subject: "worker", Entry: "x", Rows: []string{"R"}, Cite: "§1", Message: "ECHO: any poster can flood (bounded by a room)", residuals: []string{"ECHO"}},
		{Code: "A100", Severity: Note, Subject: "server", Entry: "y", Rows: []string{"Q"}, Cite: "§1", Message: "ECHO, OTHER", residuals: []string{"ECHO", "OTHER"}},
		{Code: "T100", Severity: Note, Subject: "worker", Entry: "z", Rows: []string{"R"}, Cite: "§1", Message: "m"},
		{Code: "A002", Severity: Error, Subject: "worker", Entry: "b", Rows: []string{}, Cite: "§2", Message: "hears\x1b[2J <all>", Witness: "b.c", File: "rows.yaml", Line: 3, Hint: "do not"},
		{Code: "A001", Severity: Error, Subject: "worker", Entry: "", Rows: []string{}, Cite: "§2", Message: "m", Waived: &Waiver{Reason: "until the move", Until: "2031-01-01"}},
		{Code: "A002", Severity: Error, Subject: "worker", Entry: "a", Rows: []string{}, Cite: "§2", Message: "m"},
		{Code: "A010", Severity: Warning, Subject: "worker", Rows: []string{}, Cite: "§3", Message: "m"},
	}, Deputies: []Deputy{}, Checked: Checked{Invariants: 14, Profiles: 1, Entries: 4, Files: 1}, residuals: map[string]string{"ECHO": "ECHO: any poster can flood (bounded by a room)"}}
	r.sort()
	return r
}

func TestOrderAndErrors(t *testing.T) {
	r := sampleReport()
	var got []string
	for _, f := range r.Findings {
		got = append(got, strings.TrimSpace(f.Code+" "+f.Entry))
	}
	if diff := cmp.Diff([]string{"A001", "A002 a", "A002 b", "A010", "A100 y", "A100 x", "T100 z"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if r.Errors() != 2 {
		t.Errorf("errors: got %d, want 2 that are not waived", r.Errors())
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := sampleReport().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"code": "A002", "severity": "error", "subject": "worker", "entry": "b", "rows": []any{}, "cite": "§2",
		"message": "hears\x1b[2J <all>", "witness": "b.c", "dir": "", "also": []any{}, "file": "rows.yaml", "line": 3.0, "waived": nil, "baselined": false}
	if diff := cmp.Diff(want, got["findings"].([]any)[2]); diff != "" {
		t.Errorf("finding (-want +got):\n%s", diff)
	}
	delete(got, "findings")
	if diff := cmp.Diff(map[string]any{"schema": "cotalctl/findings/v1", "contract": "",
		"deputies": []any{},
		"checked":  map[string]any{"invariants": 14.0, "profiles": 1.0, "entries": 4.0, "files": 1.0}}, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// TestEmptyJSON: arrays are present even when empty.
func TestEmptyJSON(t *testing.T) {
	r, err := Bytes(Config{}, "u", signed(t, user(t, testContract(t), "writer", map[string]any{})))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{
  "schema": "cotalctl/findings/v1",
  "contract": "",
  "findings": [],
  "deputies": [],
  "checked": {
    "invariants": %d,
    "profiles": 0,
    "entries": 2,
    "files": 1
  }
}
`, len(Checks()))
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("json (-want +got):\n%s", diff)
	}
}

func TestText(t *testing.T) {
	r := sampleReport()
	r.Skipped, r.problems = 2, contract.Problems{{What: "x"}}
	r.Findings = append(r.Findings, Finding{Code: "A016", Severity: Note, Subject: "server", Entry: "y", Rows: []string{"R", "Q"}, Cite: "J4", declaredBy: "ECHO"})
	r.sort()
	var b bytes.Buffer
	if err := r.Write(&b, Render{Notes: true}); err != nil {
		t.Fatal(err)
	}
	want := `failed: 2 errors, 1 warnings, 4 notes; 1 could not be judged

error (2)
  A002: a subscription hears other connections' inboxes (2)
    cite     §2
    page     docs/invariants/A002.md
  A002 worker: m
    entry    a
  A002 worker: hears\u001b[2J <all>
    entry    b
    witness  b.c
    at       rows.yaml:3
    hint     do not

warning (1)
  A010: allow_responses widens publish (1)
    cite     §3
    page     docs/invariants/A010.md
  A010 worker: m

note (1)
  T100 (1)
    cite     §1
  T100 worker: m
    entry    z
    rows     R

note (1): powers that residuals of their rows declare
  A016: a consumer grant leaves the consumer's name open
    page     docs/invariants/A016.md
  A016 declared by ECHO
    rows Q, R; held by server

note (2): A100, the 2 declared residuals of these rows
  ECHO: any poster can flood (bounded by a room)
    rows Q, R; held by server, worker
  OTHER
    rows Q; held by server

waived (1)
  A001 worker: m
    waived   until the move (until 2031-01-01)

skipped 2 files that are neither credentials nor compiled sets nor configurations
checked 14 invariants, 1 profiles, 4 entries, 1 files; 2 errors, 1 warnings, 4 notes; 1 waived; 1 could not be judged
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestNotesAreCounted: without being asked for, notes are counted, by what they are and by code; where they fail they are shown.
func TestNotesAreCounted(t *testing.T) {
	r := &Report{Findings: []Finding{
		{Code: codeResidual, Severity: Note, Subject: "a", Rows: []string{"R"}, residuals: []string{"ECHO"}},
		{Code: "A016", Severity: Note, Subject: "a", Rows: []string{"R"}, declaredBy: "ECHO"},
		{Code: "A018", Severity: Note, Subject: "a", Rows: []string{"R"}, declaredBy: "ECHO"},
		{Code: "A046", Severity: Note, Subject: "k", Message: "has no scope"},
	}}
	for _, tt := range []struct {
		o    Render
		want string
	}{
		{Render{}, "clean: 0 errors, 0 warnings, 4 notes (--notes shows them)\n\nnote (4)\n  declared residuals: 1 A100\n  generic: 1 A046\n  powers that a residual declares: 1 A016, 1 A018\n\nchecked "},
		{Render{FailOn: Warning}, "clean: 0 errors, 0 warnings, 4 notes (--notes shows them)\n"},
		{Render{Notes: true}, "clean: 0 errors, 0 warnings, 4 notes\n\nnote (1)\n  A046: "},
		{Render{FailOn: Note}, "failed: 0 errors, 0 warnings, 4 notes\n\nnote (1)\n  A046: "},
	} {
		var b bytes.Buffer
		if err := r.Write(&b, tt.o); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), tt.want) {
			t.Errorf("%+v: got\n%s\nwant it to begin with\n%s", tt.o, b.String(), tt.want)
		}
	}
}

// TestResidualsAreShort: the text names a residual once, in lines that fit, however many rows and holders carry it.
func TestResidualsAreShort(t *testing.T) {
	r := &Report{residuals: map[string]string{"ECHO": "ECHO: x"}}
	for n := range 300 {
		r.Findings = append(r.Findings, Finding{Code: codeResidual, Severity: Note, Subject: fmt.Sprintf("holder-%03d", n),
			Rows: []string{fmt.Sprintf("A-ROW-%d", n%30)}, residuals: []string{"ECHO"}})
	}
	var b bytes.Buffer
	if err := r.Write(&b, Render{Notes: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for _, line := range lines {
		if len(line) > textWidth {
			t.Errorf("line of %d columns: %s", len(line), line)
		}
	}
	if strings.Count(b.String(), "ECHO") != 1 || strings.Count(b.String(), "A-ROW-") != 30 || len(lines) > 14 ||
		!strings.Contains(b.String(), "holder-011 and 288 more") || !strings.HasPrefix(lines[len(lines)-1], "checked ") {
		t.Errorf("got %d lines:\n%s", len(lines), b.String())
	}
}
