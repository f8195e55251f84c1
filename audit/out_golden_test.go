package audit

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
)

var updateReports = flag.Bool("update-reports", false, "rewrite testdata/report.*")

// fixedReport has a finding of every sort: of a contract that ships and of one on disk, of a credential below the working directory
// and of one elsewhere, waived, of a baseline, unjudged, hostile.
func fixedReport() *Report {
	r := sampleReport()
	r.now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Skipped = 3
	r.problems = contract.Problems{{Pos: contract.Pos{File: "c/rows.yaml", Line: 4, Col: 7}, What: "row X does not compile"}, {What: "bad.creds: JWT", Got: "none", Want: "one"}}
	r.Findings = append(r.Findings,
		Finding{Code: "A004", Severity: Error, Subject: "bob", Entry: "$JS.API.>", Rows: []string{}, Cite: "J4", Message: "reaches every verb", Witness: "$JS.API.STREAM.PURGE.S",
			File: "creds/bob b.creds", Hint: "name the verb", read: true, identity: "bob"},
		Finding{Code: "A004", Severity: Error, Subject: "UAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Entry: "$KV.>", Rows: []string{}, Cite: "J4", Message: "reaches every bucket",
			File: "/elsewhere/carol.creds", Hint: "name the bucket", read: true, Baselined: true},
		Finding{Code: "A013", Severity: Warning, Subject: "dan", Rows: []string{}, Cite: "c", Message: "no profile is stated", File: "creds/dan.creds", read: true},
		Finding{Code: "C101", Severity: Error, Subject: "agent", Entry: "x.*", Rows: []string{"POST"}, Cite: "§3", Message: "publishes as anybody \x00\x1b[2J\u202e]]>", Witness: "x.y",
			File: "cotal-v0.5/rows-caller.yaml", Line: 12})
	r.sort()
	return r
}

func TestGoldenReports(t *testing.T) {
	t.Parallel()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Render{
		"report.txt": {}, "report.notes.txt": {Notes: true}, "report.color.txt": {Format: FormatText, Color: true}, "report.json": {Format: FormatJSON},
		"report.sarif": {Format: FormatSARIF, Version: "v9.9.9", Dir: dir}, "report.junit.xml": {Format: FormatJUnit},
		"report.warnings.junit.xml": {Format: FormatJUnit, FailOn: Warning},
	} {
		var b, again bytes.Buffer
		if err := fixedReport().Write(&b, o); err != nil {
			t.Fatal(err)
		}
		if err := fixedReport().Write(&again, o); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s: two writes differ (%v)", name, err)
		}
		file := filepath.Join("testdata", name)
		if *updateReports {
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := fixedReport().Write(&bytes.Buffer{}, Render{Format: "yaml"}); err == nil {
		t.Error("an unknown format is written")
	}
}
