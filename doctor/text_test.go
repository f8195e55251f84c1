package doctor_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
)

func textOf(t *testing.T, r *doctor.Report, o doctor.Render) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestText: a check that no server meets is no pass, and one reason is told once.
func TestText(t *testing.T) {
	old := func(names ...string) func(*doctor.Snapshot) {
		return func(s *doctor.Snapshot) {
			for _, name := range names {
				onEach(s, name, func(s *doctor.Server) { s.Version = "2.14.2" })
			}
		}
	}
	boom := func(a *doctor.Answer[doctor.Varz]) {
		a.Data, a.Error = nil, &doctor.APIError{Code: 500, Description: "boom"}
	}
	for _, tt := range []struct {
		name   string
		edit   func(*doctor.Snapshot)
		want   []string // whole lines, one after the other
		absent string
	}{
		{"every server at the hardened version", func(*doctor.Snapshot) {}, []string{
			"FIT: 7 checks passed on 3 servers",
			"pass 19 results of 7 checks (-v lists them): D001 1, D002 3, D003 3, D004 3, D005 3, D006 3, D007 3",
		}, "note"},
		{"one below it", old("n2"), []string{
			"FIT: 7 checks passed on 3 servers, 1 with advice",
			"note D003 hardened version on n2: got 2.14.2, below the hardened version, want >= 2.15.3 (advice)",
			"     hint: upgrade this server to 2.15.3 or newer, which closes known holes",
			"pass 18 results of 7 checks (-v lists them): D001 1, D002 3, D003 2, D004 3, D005 3, D006 3, D007 3",
		}, "on n1"},
		{"all below it", old("n1", "n2", "n3"), []string{
			"note D003 hardened version on n1, n2, n3: got 2.14.2, below the hardened version, want >= 2.15.3 (advice)",
			"     hint: upgrade this server to 2.15.3 or newer, which closes known holes",
		}, "D003 3"},
		{"nobody answers", func(s *doctor.Snapshot) { s.Varz.Answers, s.Routez.Answers = nil, nil }, []string{
			"UNKNOWN: 7 checks could not look",
			"SKIP D001 D002 D003 D004 D005 D006 D007: no server answered within the timeout",
			"     hint: use a credential of the system account, with the permissions of the profile doctor",
			"servers: 0 answered, an unknown number expected",
		}, "pass"},
		{"one server answers with an error", func(s *doctor.Snapshot) { boom(&s.Varz.Answers[1]) }, []string{
			"UNKNOWN: 6 checks could not look on n2",
			"SKIP D002 D003 D004 D005 D006 D007 on n2: error 500: boom",
			"     hint: the server answered with an error; its log says why",
			"pass 13 results of 7 checks (-v lists them): D001 1, D002 2, D003 2, D004 2, D005 2, D006 2, D007 2",
		}, "SKIP D001"},
		{"two of them", func(s *doctor.Snapshot) { boom(&s.Varz.Answers[1]); boom(&s.Varz.Answers[2]) }, []string{
			"SKIP " + "D002 D003 D004 D005 D006 D007" + " on n2, n3: error 500: boom",
			"     hint: the server answered with an error; its log says why",
		}, "SKIP D003"},
		{"one check alone", func(s *doctor.Snapshot) { s.Interrupted = "lost" }, []string{"SKIP D001 fan-out complete: got 3 servers (n1, n2, n3); lost, want 3 servers"}, "SKIP D002"},
	} {
		s := recorded(t)
		s.Taken = time.Time{}
		tt.edit(s)
		r := doctor.Judge(s, floors, doctor.Expect{Servers: 3})
		// A few checks are enough here, and others may be added.
		r.Checks = slices.DeleteFunc(r.Checks, func(c doctor.Result) bool { return c.ID > "D007" })
		got := textOf(t, r, doctor.Render{})
		if !strings.Contains("\n"+got, "\n"+strings.Join(tt.want, "\n")+"\n") || strings.Contains(got, tt.absent) {
			t.Errorf("%s: got\n%swant\n%s\nand no %q", tt.name, got, strings.Join(tt.want, "\n"), tt.absent)
		}
	}
}

// row is a result: "status id server object got", with "-" for none.
func row(text string) doctor.Result {
	f := strings.SplitN(text, " ", 5)
	c := doctor.Result{ID: f[1], Title: "title of " + f[1], Status: doctor.Status(f[0]), Got: f[4], Want: "w"}
	if f[2] != "-" {
		c.Server = &f[2]
	}
	if f[3] != "-" {
		c.Object = "stream " + f[3]
	}
	if c.Status != doctor.Pass || c.Got == "advice" {
		c.Hint = "hint of " + c.ID
	}
	return c
}

func reportOf(rows ...string) *doctor.Report {
	r := &doctor.Report{Schema: doctor.ReportSchema, Servers: []doctor.ReportServer{}}
	for _, text := range rows {
		r.Checks = append(r.Checks, row(text))
	}
	return r
}

// wide has a row of every sort, over servers and streams.
func wide() *doctor.Report {
	r := reportOf("pass D002 n1 - ok", "fail D004 n1 - 4096", "fail D004 n2 - 4096", "fail D004 n3 - 8192",
		"fail D020 n1 A down", "fail D020 n2 A down", "fail D020 n1 B down", "fail D020 n2 B down", "fail D020 n3 C down", "fail D020 - - down",
		"skip D030 n1 A silent", "skip D031 n1 A silent", "skip D032 n2 A silent", "pass D040 n1 - advice", "pass D040 n2 - fine", "fail D001 - - two")
	r.Taken, r.ExpectedServers = "2030-01-02T03:04:05Z", 3
	for _, name := range []string{"n1", "n2", "n3"} {
		r.Servers = append(r.Servers, doctor.ReportServer{ID: "N" + name, Name: name, Version: "2.15.3"})
	}
	return r
}

func TestTextOfManyRows(t *testing.T) {
	want := `NOT FIT: 3 checks failed on n1, n2, n3, the deployment as a whole; 3 checks could not look, as of 2030-01-02T03:04:05Z
FAIL D001 title of D001: got two, want w
     hint: hint of D001
FAIL D004 title of D004 on n1, n2: got 4096, want w
FAIL D004 title of D004 on n3: got 8192, want w
     hint: hint of D004
FAIL D020 title of D020 of stream A, stream B on n1, n2; of stream C on n3; as a whole: got down, want w
     hint: hint of D020
SKIP D030 title of D030 of stream A on n1: got silent, want w
     hint: hint of D030
SKIP D031 title of D031 of stream A on n1: got silent, want w
     hint: hint of D031
SKIP D032 title of D032 of stream A on n2: got silent, want w
     hint: hint of D032
note D040 title of D040 on n1: got advice, want w
     hint: hint of D040
pass 2 results of 2 checks (-v lists them): D002 1, D040 1
servers: 3 answered, 3 expected: n1 2.15.3, n2 2.15.3, n3 2.15.3
see docs/doctor/D004.md, docs/doctor/D020.md, docs/doctor/D001.md
`
	if diff := cmp.Diff(want, textOf(t, wide(), doctor.Render{})); diff != "" {
		t.Error(diff)
	}
	long := textOf(t, wide(), doctor.Render{Verbose: true})
	for _, line := range []string{"pass D002 title of D002 on n1: ok, want w\n", "pass D040 title of D040 on n2: fine, want w\n"} {
		if !strings.Contains(long, "\n"+line) || strings.Contains(long, "-v lists") {
			t.Errorf("verbose: got\n%swant a row %s", long, line)
		}
	}
}

// TestTextSince: rows that stand since different times are different rows.
func TestTextSince(t *testing.T) {
	since := func(c doctor.Result) string {
		if c.Server != nil && *c.Server == "n1" {
			return "10:00"
		}
		return ""
	}
	got := textOf(t, wide(), doctor.Render{Since: since})
	for _, line := range []string{"FAIL D004 title of D004 on n1: got 4096, want w (since 10:00)\n", "FAIL D004 title of D004 on n2: got 4096, want w\n"} {
		if !strings.Contains(got, line) {
			t.Errorf("got\n%swant %s", got, line)
		}
	}
}

// TestTextFitsATerminal: rows are wrapped at its width and coloured, and hold the same words as in a pipe.
func TestTextFitsATerminal(t *testing.T) {
	plain := textOf(t, wide(), doctor.Render{})
	for _, width := range []int{40, 60, 80} {
		got := textOf(t, wide(), doctor.Render{Width: width})
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("width %d: a row of %d: %s", width, n, line)
			}
		}
		if diff := cmp.Diff(strings.Fields(plain), strings.Fields(got)); diff != "" || got == plain {
			t.Errorf("width %d: %s", width, diff)
		}
	}
	colored := textOf(t, wide(), doctor.Render{Color: true})
	for _, word := range []string{"\x1b[1;31mNOT FIT\x1b[0m: ", "\n\x1b[1;31mFAIL\x1b[0m D001 ", "\n\x1b[1;33mSKIP\x1b[0m D030 ", "\n\x1b[1;36mnote\x1b[0m ", "\n\x1b[32mpass\x1b[0m "} {
		if !strings.Contains(colored, word) {
			t.Errorf("no %q in %q", word, colored)
		}
	}
	if strings.Contains(plain, "\x1b") {
		t.Errorf("colours without being asked for: %q", plain)
	}
}

// TestTextIsBounded: what a hostile network says does not fill the screen, and its end, where a list says what is wrong, is kept.
func TestTextIsBounded(t *testing.T) {
	r := reportOf("fail D004 n1 - " + strings.Repeat("é", 1<<20) + "the end")
	long := strings.Repeat("x", 1<<20)
	r.Checks[0].Server, r.Checks[0].Object = &long, "stream "+long
	for i := range 5000 {
		r.Checks = append(r.Checks, row(fmt.Sprintf("fail D005 n%d - %d", i, i)), row(fmt.Sprintf("skip D006 n%d - %d", i, i)), row(fmt.Sprintf("fail D007 n%d - same", i)))
	}
	got := textOf(t, r, doctor.Render{})
	if len(got) > 16<<10 || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
	for _, part := range []string{"the end, want w", "(2097159 bytes)", "FAIL D005 title of D005: 4980 more (-v lists them)", "and 4988 more: got same", "SKIP for 4980 more reasons"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	if all := textOf(t, r, doctor.Render{Verbose: true}); strings.Count(all, "\n") < 10000 {
		t.Errorf("verbose: %d lines", strings.Count(all, "\n"))
	}
}

// TestTextNamesAreOne: a server cannot be named so that it looks like two, or steer a terminal.
func TestTextNamesAreOne(t *testing.T) {
	r := reportOf("fail D004 n1 - x")
	name := "n1, n2: got \x1b[2J\x9b\u202e"
	r.Checks[0].Server, r.Checks[0].Object = &name, "stream a, stream b"
	got := textOf(t, r, doctor.Render{})
	if want := `FAIL D004 title of D004 of "stream a, stream b" on "n1, n2: got \x1b[2J\x9b\u202e": got x`; !strings.Contains(got, want) {
		t.Errorf("got %q, want it to say %q", got, want)
	}
}

// TestTextKeepsCharacters: a text is cut between characters, wherever they fall, and what is no character is not passed on.
func TestTextKeepsCharacters(t *testing.T) {
	for i := range 4 {
		r := reportOf("fail D004 n1 - " + strings.Repeat("x", i) + strings.Repeat("€", 1000) + strings.Repeat("y", i))
		if got := textOf(t, r, doctor.Render{}); strings.ContainsRune(got, '\ufffd') || !strings.Contains(got, "€… (") || !strings.Contains(got, " …€") {
			t.Errorf("%d: got %q", i, got)
		}
	}
	if got := textOf(t, reportOf("fail D004 n1 - \x9b31m"), doctor.Render{}); !strings.Contains(got, "got \ufffd31m, want") {
		t.Errorf("got %q", got)
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		rows []string
		want string
	}{
		{nil, "UNKNOWN: nothing was checked"},
		{[]string{"pass D001 - - ok"}, "FIT: 1 check passed on 0 servers"},
		{[]string{"skip D001 - - ok", "pass D002 n1 - x"}, "UNKNOWN: 1 check could not look"},
		{[]string{"fail D002 n2 - x", "fail D004 n2 - x"}, "NOT FIT: 2 checks failed on n2"},
		{[]string{"fail D002 n2 - x", "fail D020 - A x", "skip D003 n1 - x"}, "NOT FIT: 2 checks failed on n2, stream A; 1 check could not look"},
		{[]string{"fail D002 n1 - x", "fail D002 n2 - x", "fail D002 n3 - x", "fail D002 n4 - x", "fail D002 n5 - x"}, "NOT FIT: 1 check failed on n1, n2, n3 and 2 more"},
	} {
		if got := reportOf(tt.rows...).Verdict(); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.rows, got, tt.want)
		}
	}
}
