package doctor

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Text writes the report for a person: failures first, then what could not be looked at, each with its hint below; then one
// line for each check that passed, the advice, and the servers. Checks that were skipped for one reason share a line.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	for _, c := range r.Checks {
		if c.Status == Fail {
			c.text(&b)
		}
	}
	r.skipped(&b)
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
	hint(b, c.Hint)
}

func hint(b *strings.Builder, text string) {
	if text != "" {
		fmt.Fprintf(b, "     hint: %s\n", clean(text))
	}
}

// skipped groups the skips by their reason: one line names the checks and the servers that they were skipped on.
func (r *Report) skipped(b *strings.Builder) {
	type reason struct {
		whole     bool // no server is named
		got, hint string
	}
	groups, order := map[reason][]Result{}, []reason{}
	for _, c := range r.Checks {
		if c.Status != Skip {
			continue
		}
		why := reason{c.Server == nil, c.Got, c.Hint}
		if groups[why] == nil {
			order = append(order, why)
		}
		groups[why] = append(groups[why], c)
	}
	for _, why := range order {
		group := groups[why]
		ids, servers := distinct(group)
		if len(ids) == 1 || len(ids)*max(len(servers), 1) != len(group) { // one check, or not each on each server
			for _, c := range group {
				c.text(b)
			}
			continue
		}
		on := ""
		if len(servers) > 0 {
			on = " on " + strings.Join(servers, ", ")
		}
		fmt.Fprintf(b, "SKIP %s%s: %s\n", strings.Join(ids, " "), on, clean(why.got))
		hint(b, why.hint)
	}
}

// distinct lists the checks and servers of results in their order.
func distinct(group []Result) (ids, servers []string) {
	for _, c := range group {
		if !slices.Contains(ids, c.ID) {
			ids = append(ids, c.ID)
		}
		if c.Server != nil && !slices.Contains(servers, clean(*c.Server)) {
			servers = append(servers, clean(*c.Server))
		}
	}
	return ids, servers
}

// passed is one line for a check that passed without a hint somewhere, and a note for each server that passed with one.
func (r *Report) passed(b *strings.Builder, check Check) {
	var good, noted []Result
	for _, c := range r.Checks {
		switch {
		case c.ID != check.ID || c.Status != Pass:
		case c.Server == nil:
			fmt.Fprintf(b, "pass %s %s: %s\n", c.ID, c.Title, clean(c.Got))
		case c.Hint == "":
			good = append(good, c)
		default:
			noted = append(noted, c)
		}
	}
	if len(good) > 0 {
		fmt.Fprintf(b, "pass %s %s: %s on %d of %d servers\n", check.ID, check.Title, clean(good[0].Want), len(good), len(r.Servers))
	}
	for i, c := range noted {
		fmt.Fprintf(b, "note %s %s on %s: got %s, want %s\n", c.ID, c.Title, clean(*c.Server), clean(c.Got), clean(c.Want))
		if i == len(noted)-1 || noted[i+1].Hint != c.Hint {
			hint(b, c.Hint)
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
