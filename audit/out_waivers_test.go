package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
)

func day(t testing.TB, text string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// waivedContract has a never invariant that the row POST violates, and one of lifetimes that the profile scanner violates.
func waivedContract(t testing.TB, row, top *contract.Waiver) *contract.Contract {
	t.Helper()
	c := testContract(t)
	c.Invariants = []*contract.Invariant{
		{Code: "T201", Kind: KindNever, Severity: Error, Cite: "§", Families: []contract.Template{tmpl(t, "{P}.talk.>")}, Profiles: []string{"worker"}},
		{Code: "T202", Kind: KindLifetime, Severity: Error, Cite: "§", Class: contract.LifetimeNone, By: []string{"writer"}},
	}
	for _, r := range c.Rows {
		if row != nil && (r.ID == "POST" || r.ID == "HEAR") {
			r.Waivers = []*contract.Waiver{row}
		}
	}
	if top != nil {
		c.Waivers = []*contract.Waiver{top}
	}
	return c
}

// said renders what counts and what is waived, each code once.
func said(r *Report) string {
	var out []string
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Code == codeResidual || isDeputy(f.Code) || isDeclared(*f) {
			continue
		}
		text := f.Code
		if f.Waived != nil {
			text += " waived " + f.Waived.Until
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

func TestWaivers(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 5, 10, 23, 59, 59, 0, time.UTC)
	row := func(code, until string) *contract.Waiver {
		return &contract.Waiver{Pos: contract.Pos{File: "rows.yaml", Line: 2, Col: 9}, Code: code, Reason: "soon", Until: day(t, until)}
	}
	about := func(code, name, until string) *contract.Waiver {
		w := row(code, until)
		w.About = name
		return w
	}
	cases := []struct {
		name     string
		row, top *contract.Waiver
		now      time.Time
		want     string
		errors   int
	}{
		{"none", nil, nil, at, "T201, T202", 3},
		{"a row's", row("T201", "2031-06-01"), nil, at, "T201 waived 2031-06-01, T202", 1},
		{"on its last day", row("T201", "2031-05-10"), nil, at, "T201 waived 2031-05-10, T202", 1},
		{"expired", row("T201", "2031-05-09"), nil, at, "A080, T201, T202", 5},
		{"of another code", row("T299", "2031-06-01"), nil, at, "A081, T201, T202", 3},
		{"of what is about no row", row("T202", "2031-06-01"), nil, at, "A081, T201, T202", 3},
		{"more than a year", row("T201", "2032-05-12"), nil, at, "A083, T201 waived 2032-05-12, T202", 1},
		{"a year", row("T201", "2032-05-10"), nil, at, "T201 waived 2032-05-10, T202", 1},
		{"of what could not be judged", row("A013", "2031-06-01"), nil, at, "A081, T201, T202", 3},
		{"of a waiver", row("A080", "2031-06-01"), nil, at, "A081, T201, T202", 3},
		{"of credentials alone", row("A008", "2031-06-01"), nil, at, "T201, T202", 3},
		{"a profile's", nil, about("T202", "scanner", "2031-06-01"), at, "T201, T202 waived 2031-06-01", 2},
		{"another profile's", nil, about("T202", "worker", "2031-06-01"), at, "A081, T201, T202", 3},
		{"a profile's, of rows", nil, about("T201", "worker", "2031-06-01"), at, "A081, T201, T202", 3},
		{"a profile's, expired", nil, about("T202", "scanner", "2031-01-01"), at, "A080, T201, T202", 4},
		{"both", row("T201", "2031-06-01"), about("T202", "scanner", "2031-06-02"), at, "T201 waived 2031-06-01, T202 waived 2031-06-02", 0},
		{"no clock", row("T201", "2031-06-01"), about("T202", "scanner", "2031-01-01"), time.Time{}, "T201, T202", 3},
	}
	for _, tt := range cases {
		r, err := Contract(Config{Contract: waivedContract(t, tt.row, tt.top), Now: tt.now})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s; %d errors", said(r), r.Errors())
		if want := fmt.Sprintf("%s; %d errors", tt.want, tt.errors); got != want {
			t.Errorf("%s: got %s, want %s", tt.name, got, want)
		}
		for _, f := range r.Findings {
			if slices.ContainsFunc(outputChecks(), func(c Check) bool { return c.Code == f.Code }) && (f.File != "rows.yaml" || f.Line != 2 || f.Hint == "") {
				t.Errorf("%s: not at the waiver: %+v", tt.name, f)
			}
		}
	}
}

// TestWaiversOfCredentials: a row's waiver holds where a credential has the row's entry, and an audit of credentials does not say
// that a waiver is idle. What no row gives is not waived by anything.
func TestWaiversOfCredentials(t *testing.T) {
	t.Parallel()
	at := now()
	ahead, gone := at.AddDate(0, 1, 0), at.AddDate(0, -1, 0)
	w := &contract.Waiver{Code: "T201", Reason: "r", Until: ahead}
	c := waivedContract(t, w, &contract.Waiver{Code: codeExcess, About: "worker", Reason: "r", Until: ahead})
	never := user(t, c, "worker", worker(), func(uc *jwt.UserClaims) { uc.Expires = 0 }, pubAllow("app.main.talk.bob.dev.ops"))
	date := ahead.Format(time.DateOnly)
	for _, tt := range []struct {
		name  string
		edit  func(*contract.Contract)
		claim *jwt.UserClaims
		want  string
	}{
		{"its rows", func(*contract.Contract) {}, user(t, c, "worker", worker()), "T201 waived " + date},
		{"none of its rows", func(*contract.Contract) {}, user(t, c, "writer", map[string]any{}), ""},
		{"more than its rows", func(*contract.Contract) {}, never, "A008, A011, T201, T201 waived " + date + ", T202"},
		{"the profile's", func(c *contract.Contract) {
			c.Waivers = append(c.Waivers, &contract.Waiver{Code: codeNoExpiry, About: "worker", Reason: "r", Until: ahead})
		}, never, "A008 waived " + date + ", A011, T201, T201 waived " + date + ", T202"},
		{"expired", func(*contract.Contract) { w.Until = gone }, user(t, c, "worker", worker()), "A080, T201"},
		{"expired elsewhere", func(*contract.Contract) {}, user(t, c, "writer", map[string]any{}), ""},
	} {
		tt.edit(c)
		r, err := Bytes(Config{Contract: c, Now: at}, "u.jwt", signed(t, tt.claim))
		if err != nil {
			t.Fatal(err)
		}
		if got := said(r); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestWaiveAgain: a report to which findings were added is waived as a whole, and says nothing twice.
func TestWaiveAgain(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 5, 10, 0, 0, 0, 0, time.UTC)
	cfg := Config{Contract: waivedContract(t, &contract.Waiver{Code: "R001", Reason: "r", Until: day(t, "2031-06-01")}, nil), Now: at}
	r, err := Contract(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := said(r); got != "A081, T201, T202" {
		t.Fatalf("got %s", got)
	}
	r.Findings = append(r.Findings, Finding{Code: "R001", Severity: Error, Subject: "worker", Rows: []string{"HEAR", "POST"}})
	r.Waive(cfg)
	first := said(r)
	r.Waive(cfg)
	if diff := cmp.Diff([]string{"R001 waived 2031-06-01, T201, T202", first}, []string{first, said(r)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
