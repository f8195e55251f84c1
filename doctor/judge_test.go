package doctor_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
)

var update = flag.Bool("update", false, "rewrite the recorded reports")

// recorded reads a snapshot that a three-node cluster gave; all but healthy.json were edited after the recording.
func recorded(t *testing.T, name string) *doctor.Snapshot {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := doctor.ReadSnapshot(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRecordedSnapshots(t *testing.T) {
	codes := map[string]int{"healthy": 0, "old-version": 3, "conflict": 3, "malformed": 3}
	for name, code := range codes {
		s := recorded(t, name)
		r := doctor.Judge(s, floors, doctor.Expect{Servers: 3})
		if r.ExitCode() != code {
			t.Errorf("%s: exit %d, want %d", name, r.ExitCode(), code)
		}
		var snap, js, text bytes.Buffer
		for _, err := range []error{s.Write(&snap), r.JSON(&js), r.Text(&text)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		golden(t, name+".json", snap.Bytes())
		golden(t, name+".report.json", js.Bytes())
		golden(t, name+".report.txt", text.Bytes())
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test ./doctor -update rewrites it): %s", name, diff)
	}
}

// fault is one edit of the healthy snapshot, and everything in its report that is not a pass.
type fault struct {
	name   string
	edit   func(s *doctor.Snapshot)
	expect doctor.Expect
	want   []string
	got    string // part of D001's got, or ""
}

// foreign is a server of another cluster that takes no routes.
func foreign(name, cluster string) doctor.Answer {
	return doctor.Answer{
		Server: doctor.Server{ID: "N" + strings.ToUpper(name), Name: name, Version: "2.15.3", Cluster: cluster},
		Varz:   &doctor.Varz{MaxControlLine: 65536, MaxPayload: 1 << 20, JetStream: true},
	}
}

func lose(s *doctor.Snapshot, name string) {
	gone := func(a doctor.Answer) bool { return a.Server.Name == name }
	s.Varz.Answers = slices.DeleteFunc(s.Varz.Answers, gone)
	s.Routez.Answers = slices.DeleteFunc(s.Routez.Answers, gone)
}

// forget removes a server from the routes that others report.
func forget(s *doctor.Snapshot, name string) {
	for _, a := range s.Routez.Answers {
		a.Routez.Routes = slices.DeleteFunc(a.Routez.Routes, func(r doctor.Route) bool { return r.Name == name })
	}
}

func faults() []fault {
	return append(setFaults(), serverFaults()...)
}

func setFaults() []fault {
	three := doctor.Expect{Servers: 3}
	west := doctor.Expect{Servers: 3, Clusters: map[string]int{"west": 2}}
	const d1 = "fail D001 -"
	return []fault{
		{"one down, by its route", func(s *doctor.Snapshot) { lose(s, "n3") }, three, []string{d1}, "missing: n3 (by a route)"},
		{"one down, by the peers", func(s *doctor.Snapshot) { lose(s, "n3"); forget(s, "n3") }, three, []string{d1}, "missing: n3 (by JetStream's peers)"},
		{"one down, by nobody's word", func(s *doctor.Snapshot) {}, doctor.Expect{Servers: 4}, []string{d1}, "missing: 1 that no source names"},
		{"one too many", func(s *doctor.Snapshot) {}, doctor.Expect{Servers: 2}, []string{d1}, "3 servers"},
		{"the number made right by another cluster", func(s *doctor.Snapshot) {
			lose(s, "n3")
			s.Varz.Answers = append(s.Varz.Answers, foreign("w1", "west"))
		}, doctor.Expect{Servers: 3, Clusters: map[string]int{"west": 1}}, []string{d1}, "cluster test: 2 servers (n1, n2); missing: n3"},
		{"another cluster incomplete", func(s *doctor.Snapshot) { s.Varz.Answers = append(s.Varz.Answers, foreign("w1", "west")) },
			west, []string{d1}, ""},
		{"another cluster silent", func(s *doctor.Snapshot) {}, west, []string{d1}, ""},
		{"unprovable", func(s *doctor.Snapshot) {
			s.Routez = doctor.Round{Subject: s.Routez.Subject, Refused: "no grant", Answers: []doctor.Answer{}}
			for _, a := range s.Varz.Answers {
				a.Varz.RouteURLs = nil
			}
		}, doctor.Expect{}, []string{d1}, "unprovable: only JetStream peers agree"},
		{"peers that the meta group does not name", func(s *doctor.Snapshot) {
			for _, a := range s.Varz.Answers {
				a.Varz.Meta.Size, a.Varz.RouteURLs = 4, nil
			}
		}, doctor.Expect{}, []string{d1}, "unprovable: only routes agree"},
		{"no route to a server", func(s *doctor.Snapshot) { forget(s, "n2") }, three, []string{d1}, "n2 answered, but no route leads to it"},
		{"one name, two ids", func(s *doctor.Snapshot) {
			twin := s.Varz.Answers[2]
			twin.Server.ID = "NTWIN"
			s.Varz.Answers = append(s.Varz.Answers, twin)
		}, doctor.Expect{Servers: 4}, []string{d1}, "n3 answered under two ids"},
		{"the connection's own server silent", func(s *doctor.Snapshot) { lose(s, "n1") }, three, []string{d1}, "own server n1"},
		{"INFO and VARZ disagree", func(s *doctor.Snapshot) { s.Connected.Version = "2.9.0" }, three, []string{d1}, "its INFO says"},
		{"interrupted", func(s *doctor.Snapshot) { s.Interrupted = "lost" }, three, []string{"skip D001 -"}, "lost"},
		{"endless", func(s *doctor.Snapshot) { s.Varz.Endless = "cut off" }, three, []string{"skip D001 -"}, "cut off"},
		{"nobody answers", func(s *doctor.Snapshot) { s.Varz.Answers, s.Routez.Answers = nil, nil }, three,
			[]string{"skip D001 -", "skip D002 -", "skip D003 -", "skip D004 -", "skip D005 -", "skip D006 -"}, "no server answered"},
		{"unknown schema", func(s *doctor.Snapshot) { s.Schema, s.Varz.Answers = "v9", nil }, three,
			[]string{"skip D001 -", "skip D002 -", "skip D003 -", "skip D004 -", "skip D005 -", "skip D006 -"}, `schema "v9"`},
	}
}

func serverFaults() []fault {
	three := doctor.Expect{Servers: 3}
	set := func(f func(a *doctor.Answer)) func(*doctor.Snapshot) {
		return func(s *doctor.Snapshot) { f(&s.Varz.Answers[1]) }
	}
	return []fault{
		{"version below the floor", set(func(a *doctor.Answer) { a.Server.Version = "2.11.9" }), three, []string{"fail D002 n2"}, ""},
		{"no version", set(func(a *doctor.Answer) { a.Server.Version = "dev" }), three, []string{"fail D002 n2"}, ""},
		{"control line", set(func(a *doctor.Answer) { a.Varz.MaxControlLine = 4096 }), three, []string{"fail D004 n2"}, ""},
		{"payload", set(func(a *doctor.Answer) { a.Varz.MaxPayload = 4096 }), three, []string{"fail D005 n2"}, ""},
		{"JetStream off", set(func(a *doctor.Answer) { a.Varz.JetStream, a.Varz.Meta = false, nil }), three, []string{"fail D006 n2"}, ""},
		{"error answer", set(func(a *doctor.Answer) { a.Varz, a.Error = nil, &doctor.APIError{Code: 500, Description: "boom"} }), three,
			[]string{"skip D002 n2", "skip D003 n2", "skip D004 n2", "skip D005 n2", "skip D006 n2"}, ""},
	}
}

func TestEveryFaultAloneIsReported(t *testing.T) {
	failed := map[string]int{}
	ran := 0
	for _, f := range faults() {
		ran++
		s := recorded(t, "healthy")
		f.edit(s)
		r := doctor.Judge(s, floors, f.expect)
		if diff := cmp.Diff(f.want, brief(r)); diff != "" {
			t.Errorf("%s: %s\n%+v", f.name, diff, r.Checks[0])
		}
		if got := find(t, r, "D001").Got; !strings.Contains(got, f.got) {
			t.Errorf("%s: got %q, want it to say %q", f.name, got, f.got)
		}
		want := 1
		for _, line := range f.want {
			if strings.HasPrefix(line, "fail") {
				want = 3
			}
		}
		if r.ExitCode() != want || r.Complete != !strings.Contains(strings.Join(f.want, " "), "D001") {
			t.Errorf("%s: exit %d, complete %v, want exit %d", f.name, r.ExitCode(), r.Complete, want)
		}
		for _, c := range r.Checks {
			if c.Status == doctor.Fail {
				failed[c.ID]++
				if c.Hint == "" {
					t.Errorf("%s: %s has no hint", f.name, c.ID)
				}
			}
		}
	}
	if ran < 20 {
		t.Errorf("ran %d faults, want at least 20", ran)
	}
	for _, c := range doctor.Checks() {
		if c.ID == "D003" { // advice: it passes with a hint, see below
			continue
		}
		if failed[c.ID] == 0 {
			t.Errorf("%s: no fault makes it fire", c.ID)
		}
	}
}

func TestHardenedVersionIsAdvice(t *testing.T) {
	s := recorded(t, "healthy")
	s.Varz.Answers[2].Server.Version = "2.15.3-RC.2"
	r := doctor.Judge(s, floors, doctor.Expect{Servers: 3})
	advised := []string{}
	for _, c := range r.Checks {
		if c.ID == "D003" && c.Hint != "" {
			advised = append(advised, fmt.Sprintf("%s %s %s", *c.Server, c.Status, c.Got))
		}
	}
	if diff := cmp.Diff([]string{"n3 pass 2.15.3-RC.2, below the hardened version"}, advised); diff != "" || r.ExitCode() != 0 {
		t.Errorf("exit %d: %s", r.ExitCode(), diff)
	}
}

func TestChecksNotAskedForAreNotListed(t *testing.T) {
	r := doctor.Judge(recorded(t, "healthy"), doctor.Floors{}, doctor.Expect{Servers: 3})
	got := map[string]int{}
	for _, c := range r.Checks {
		got[c.ID]++
	}
	if diff := cmp.Diff(map[string]int{"D001": 1, "D006": 3}, got); diff != "" {
		t.Error(diff)
	}
	if code := new(doctor.Report).ExitCode(); code != 1 {
		t.Errorf("a report without checks: exit %d, want 1", code)
	}
}

// A supercluster whose clusters are both stated, and a standalone leaf that proves itself, pass.
func TestOtherClustersComplete(t *testing.T) {
	s := recorded(t, "healthy")
	s.Varz.Answers = append(s.Varz.Answers, foreign("w1", "west"), foreign("w2", "west"), foreign("leaf", ""))
	r := doctor.Judge(s, floors, doctor.Expect{Servers: 3, Clusters: map[string]int{"west": 2}})
	if r.ExitCode() != 0 || !r.Complete || r.ExpectedServers != 3 || len(r.Servers) != 6 {
		t.Errorf("exit %d, complete %v, %d expected, %d servers: %v", r.ExitCode(), r.Complete, r.ExpectedServers, len(r.Servers), brief(r))
	}
}

func TestReadSnapshotRefuses(t *testing.T) {
	var healthy bytes.Buffer
	if err := recorded(t, "healthy").Write(&healthy); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"":                   "read snapshot: EOF",
		`{"schema":"other"}`: `snapshot schema, got "other", want "cotalctl/snapshot/v1"`,
		`{"schema":"cotalctl/snapshot/v1","varz":{"answers":[{}]}}`:                                 `got 0 kinds of content, want one`,
		`{"schema":"cotalctl/snapshot/v1","varz":{"answers":[{"routez":{}}]}}`:                      `want one`,
		`{"schema":"cotalctl/snapshot/v1","routez":{"answers":[{"routez":{},"error":{"code":1}}]}}`: `got 2 kinds of content, want one`,
		strings.Replace(healthy.String(), `"leafs"`, `"leaves"`, 1):                                 `unknown field "leaves"`,
	}
	for in, want := range cases {
		if _, err := doctor.ReadSnapshot(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := doctor.ReadSnapshot(&healthy); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestTextIsSafeForATerminal(t *testing.T) {
	s := recorded(t, "healthy")
	s.Varz.Answers[1].Server.Name = "n2\x1b[2J\n"
	s.Varz.Answers[1].Varz.MaxPayload = 1
	var b bytes.Buffer
	if err := doctor.Judge(s, floors, doctor.Expect{Servers: 3}).Text(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x1b") || !strings.Contains(b.String(), `n2\x1b[2J\n`) {
		t.Errorf("got %q", b.String())
	}
}

func TestEveryCheckHasAPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "doctor.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range doctor.Checks() {
		if !strings.Contains(string(page), "\n## "+c.ID+" "+c.Title+"\n") {
			t.Errorf("docs/doctor.md: no section %q", "## "+c.ID+" "+c.Title)
		}
	}
	if got, want := strings.Count(string(page), "\n## D"), len(doctor.Checks()); got != want {
		t.Errorf("docs/doctor.md: got %d sections of checks, want %d", got, want)
	}
}
