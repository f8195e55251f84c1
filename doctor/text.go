package doctor

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Text writes the report for a person: failures first, then what could not be looked at, each with its hint below; then one
// line for each check that passed everywhere, the advice, and the servers.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	for _, status := range []Status{Fail, Skip} {
		for _, c := range r.Checks {
			if c.Status == status {
				c.text(&b)
			}
		}
	}
	for _, c := range Checks() {
		r.passed(&b, c)
	}
	r.servers(&b)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (c Result) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s %s %s", strings.ToUpper(string(c.Status)), c.ID, c.Title)
	if c.Server != nil {
		fmt.Fprintf(b, " on %s", clean(*c.Server))
	}
	fmt.Fprintf(b, ": got %s, want %s\n", clean(c.Got), clean(c.Want))
	hint(b, c)
}

func hint(b *strings.Builder, c Result) {
	if c.Hint != "" {
		fmt.Fprintf(b, "     hint: %s\n", clean(c.Hint))
	}
}

// passed is one line for a check, and the hints of results that passed with one.
func (r *Report) passed(b *strings.Builder, check Check) {
	var rows []Result
	for _, c := range r.Checks {
		if c.ID == check.ID && c.Status == Pass {
			rows = append(rows, c)
		}
	}
	if len(rows) == 0 {
		return
	}
	if rows[0].Server == nil {
		for _, c := range rows {
			fmt.Fprintf(b, "pass %s %s: %s\n", c.ID, c.Title, clean(c.Got))
		}
		return
	}
	fmt.Fprintf(b, "pass %s %s: %s on %d of %d servers\n", check.ID, check.Title, clean(rows[0].Want), len(rows), len(r.Servers))
	for _, c := range rows {
		if c.Hint != "" {
			fmt.Fprintf(b, "note %s %s: got %s\n", c.ID, clean(*c.Server), clean(c.Got))
			hint(b, c)
		}
	}
}

func (r *Report) servers(b *strings.Builder) {
	var names []string
	for _, s := range r.Servers {
		names = append(names, clean(s.Name)+" "+clean(s.Version))
	}
	expected := "an unknown number"
	if r.ExpectedServers > 0 {
		expected = strconv.Itoa(r.ExpectedServers)
	}
	fmt.Fprintf(b, "servers: %d answered, %s expected", len(r.Servers), expected)
	if len(names) > 0 {
		fmt.Fprintf(b, ": %s", strings.Join(names, ", "))
	}
	b.WriteByte('\n')
}

// clean makes text of the network safe for a terminal.
func clean(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	return strconv.Quote(s)
}
