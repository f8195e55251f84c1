package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

// pages renders the contracts of this repository.
func pages(t *testing.T) map[*contract.Contract]string {
	t.Helper()
	tiny, err := matrix.LoadDir("../../testdata/tiny")
	if err != nil {
		t.Fatal(err)
	}
	contracts := []*contract.Contract{tiny}
	for _, name := range matrix.EmbeddedNames() {
		c, err := matrix.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		contracts = append(contracts, c)
	}
	out := map[*contract.Contract]string{}
	for _, c := range contracts {
		if out[c], err = matrixPage(c, ""); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
	}
	return out
}

var (
	linked = regexp.MustCompile(`\]\(#([a-z0-9_-]+)\)`)
	bar    = regexp.MustCompile(`(^|[^\\])\|`)
)

// TestPageHoldsEverything: every declaration of a contract is on its page, every link has its heading, every table its columns.
func TestPageHoldsEverything(t *testing.T) {
	t.Parallel()
	for c, page := range pages(t) {
		anchors := map[string]bool{}
		for line := range strings.Lines(page) {
			if heading, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "#"), " "); ok && strings.HasPrefix(line, "#") {
				anchors[mdSlug(heading)] = true
			}
		}
		links := linked.FindAllStringSubmatch(page, -1)
		if len(links) == 0 {
			t.Errorf("%s: no link", c.Name)
		}
		for _, m := range links {
			if !anchors[m[1]] {
				t.Errorf("%s: #%s has no heading", c.Name, m[1])
			}
		}
		for _, row := range c.Rows {
			if !strings.Contains(page, "\n| "+row.ID+" | ") {
				t.Errorf("%s: row %s has no line", c.Name, row.ID)
			}
		}
		for kind, names := range map[string][]string{"Profile": contract.SortedKeys(c.Profiles), "Resource": contract.SortedKeys(c.Resources), "Residual": contract.SortedKeys(c.Residuals)} {
			for _, name := range names {
				if !anchors[mdSlug(kind+" "+name)] {
					t.Errorf("%s: no heading for %s %s", c.Name, kind, name)
				}
			}
		}
		for _, list := range [][]string{contract.SortedKeys(c.Consumers), contract.SortedKeys(c.Kinds)} {
			for _, name := range list {
				if !strings.Contains(page, "\n| "+name+" | ") {
					t.Errorf("%s: %s has no line", c.Name, name)
				}
			}
		}
		checkTables(t, c.Name, page)
	}
}

func checkTables(t *testing.T, name, page string) {
	t.Helper()
	want, tables := 0, 0
	for line := range strings.Lines(page) {
		n := len(bar.FindAllString(line, -1))
		if !strings.HasPrefix(line, "|") {
			want = 0
			continue
		}
		if want == 0 {
			want = n
			tables++
		}
		if n != want {
			t.Errorf("%s: got %d bars, want %d: %s", name, n, want, line)
		}
	}
	if tables < 5 {
		t.Errorf("%s: %d tables, want at least 5", name, tables)
	}
}

// TestMatrixCells holds cells of the matrix against the specification's table (§13.9, §14), read by hand.
func TestMatrixCells(t *testing.T) {
	t.Parallel()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	held, err := gatherHoldings(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ profile, column, cell string }{
		{"canonicalizer", "EPF", "m:wg"}, {"canonicalizer", "EPJ", "m:cina"}, {"canonicalizer", "EPW", "m:wgi"}, {"canonicalizer", "records", ""},
		{"commit", "records", "m:wg"}, {"commit", "EPF", "m:wg"}, {"commit", "EPW", ""},
		{"auth-scanner", "auth", "m:cinxI"}, {"auth-scanner", "records", ""}, {"auth-barrier", "auth", "m:w"}, {"auth", "auth", "m:wgI"},
		{"run-driver", "WFJ", "m:wcinax"}, {"run-purger", "WFJ", "m:P"}, {"timer-writer", "EPT", "m:wg"}, {"timer-writer", "EPT_REQ", "m:cina"},
		{"contract-publisher", "EPC", "m:w d:d"}, {"read-mediator", "EPC", "d:d"}, {"activator", "EPW", "m:i"}, {"teardown", "CHAT", "m:D"}, {"teardown", "EPC", ""},
		{"agent", "CHAT", "d:wscinxI"}, {"agent", "DLV", "d:ina"}, {"agent", "EPF", ""}, {"agent", coreColumn, "d:ps"}, {"endpoint-serve", coreColumn, "d:psq"},
		{"session-caller", coreColumn, "d:ps"}, {"doctor", brokerColumn, "m:r"}, {"sentinel", coreColumn, ""}, {"probe", coreColumn, ""},
	} {
		if got := held.cell(want.profile, want.column); got != want.cell {
			t.Errorf("%s × %s: got %q, want %q", want.profile, want.column, got, want.cell)
		}
	}
}
