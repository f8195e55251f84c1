package doctor_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/doctor"
)

// ids are those of lines such as "skip D002 n2".
func ids(lines []string) string {
	var out []string
	for _, line := range lines {
		out = append(out, strings.Fields(line)[1])
	}
	return strings.Join(out, " ")
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
		{"every server at the hardened version", func(*doctor.Snapshot) {}, []string{"pass D003 hardened version: >= 2.15.3 (advice) on 3 of 3 servers"}, "note D003"},
		{"one below it", old("n2"), []string{
			"pass D003 hardened version: >= 2.15.3 (advice) on 2 of 3 servers",
			"note D003 hardened version on n2: got 2.14.2, below the hardened version, want >= 2.15.3 (advice)",
			"     hint: upgrade this server to 2.15.3 or newer, which closes known holes",
		}, "note D003 hardened version on n1"},
		{"all below it", old("n1", "n2", "n3"), []string{
			"note D003 hardened version on n1: got 2.14.2, below the hardened version, want >= 2.15.3 (advice)",
			"note D003 hardened version on n2: got 2.14.2, below the hardened version, want >= 2.15.3 (advice)",
			"note D003 hardened version on n3: got 2.14.2, below the hardened version, want >= 2.15.3 (advice)",
			"     hint: upgrade this server to 2.15.3 or newer, which closes known holes",
		}, "pass D003"},
		{"nobody answers", func(s *doctor.Snapshot) { s.Varz.Answers, s.Routez.Answers = nil, nil }, []string{
			"SKIP D001 " + ids(unread("-", "D020")) + ": no server answered within the timeout",
			"     hint: use a credential of the system account, with the permissions of the profile doctor",
			"servers: 0 answered, an unknown number expected",
		}, "pass"},
		{"one server answers with an error", func(s *doctor.Snapshot) { boom(&s.Varz.Answers[1]) }, []string{
			"SKIP " + ids(unread("n2")) + " on n2: error 500: boom",
			"     hint: the server answered with an error; its log says why",
			"pass D001 fan-out complete: 3 servers (n1, n2, n3)",
		}, "SKIP D001"},
		{"two of them", func(s *doctor.Snapshot) { boom(&s.Varz.Answers[1]); boom(&s.Varz.Answers[2]) }, []string{
			"SKIP " + ids(unread("n2")) + " on n2, n3: error 500: boom",
			"     hint: the server answered with an error; its log says why",
		}, "SKIP D003"},
		{"one check alone", func(s *doctor.Snapshot) { s.Interrupted = "lost" }, []string{"SKIP D001 fan-out complete: got 3 servers (n1, n2, n3); lost, want 3 servers"}, "SKIP D002"},
	} {
		s := recorded(t)
		tt.edit(s)
		var b bytes.Buffer
		if err := doctor.Judge(s, floors, doctor.Expect{Servers: 3}).Text(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains("\n"+b.String(), "\n"+strings.Join(tt.want, "\n")) || strings.Contains(b.String(), tt.absent) {
			t.Errorf("%s: got\n%swant\n%s\nand no %q", tt.name, b.String(), strings.Join(tt.want, "\n"), tt.absent)
		}
	}
}
