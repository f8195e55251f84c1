package doctor

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Text writes the report for a person as [Report.Write] does into a pipe.
func (r *Report) Text(w io.Writer) error { return r.text(w, Render{}) }

// text writes the verdict; then failures, those that explain others first; then what could not be looked at, by reason; then the
// advice, what passed, the servers, and where failures are explained.
func (r *Report) text(w io.Writer, o Render) error {
	t := &textWriter{o: o}
	if !o.Bare {
		t.verdict(r)
	}
	t.groups("FAIL", r.failures(o.Since))
	t.skips(r.group(func(c Result) bool { return c.Status == Skip }, o.Since))
	t.groups("note", r.group(func(c Result) bool { return c.Status == Pass && c.Hint != "" }, nil))
	if !o.Bare {
		t.passes(r)
		t.servers(r)
		t.pages(r)
	}
	if _, err := io.WriteString(w, t.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// causes are the checks whose failure explains others, in the order in which they are to be read: nothing that a server would
// have said is there where the server did not answer.
func causes() []string { return []string{idFanOut, idIdentity} }

func (r *Report) failures(since func(Result) string) []group {
	groups := r.group(func(c Result) bool { return c.Status == Fail }, since)
	return causesFirst(groups, causes())
}

func causesFirst(groups []group, causes []string) []group {
	rank := func(g group) int {
		if i := slices.Index(causes, g.rows[0].ID); i >= 0 {
			return i
		}
		return len(causes)
	}
	slices.SortStableFunc(groups, func(a, b group) int { return rank(a) - rank(b) })
	return groups
}

// Verdict is one line: whether the deployment is fit, and if not, how much stands against it and where.
func (r *Report) Verdict() string {
	failed, skipped := r.those(Fail), r.those(Skip)
	switch {
	case len(failed) > 0:
		text := "NOT FIT: " + countChecks(failed) + " failed" + where(failed)
		if len(skipped) > 0 {
			text += "; " + countChecks(skipped) + " could not look"
		}
		return text
	case len(skipped) > 0:
		return "UNKNOWN: " + countChecks(skipped) + " could not look" + where(skipped)
	case len(r.Checks) == 0:
		return "UNKNOWN: nothing was checked"
	}
	text := "FIT: " + countChecks(r.Checks) + " passed on " + plural(len(r.Servers), "server")
	if notes := slices.DeleteFunc(slices.Clone(r.Checks), func(c Result) bool { return c.Hint == "" }); len(notes) > 0 {
		text += ", " + strconv.Itoa(len(notes)) + " with advice"
	}
	return text
}

func (r *Report) those(s Status) []Result {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Result) bool { return c.Status != s })
}

// countChecks counts the checks of results, not the results: one setting that is low on nine servers is one thing to do.
func countChecks(rows []Result) string {
	ids := map[string]bool{}
	for _, c := range rows {
		ids[c.ID] = true
	}
	return plural(len(ids), "check")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// mostPlaces bounds the names where a row or the verdict cannot have all.
const mostPlaces = 3

// whole is where a result stands that names neither a server nor an object, such as that a server is missing.
const whole = "the deployment as a whole"

// where names the servers of results, or the objects of those that name no server.
func where(rows []Result) string {
	var places []string
	seen := map[string]bool{}
	for _, c := range rows {
		place := cleanObject(c.Object)
		if c.Server != nil {
			place = cleanName(*c.Server)
		}
		if place == "" {
			place = whole
		}
		if !seen[place] {
			seen[place] = true
			places = append(places, place)
		}
	}
	if len(places) == 0 || len(places) == 1 && seen[whole] {
		return ""
	}
	return " on " + list(places, mostPlaces)
}

// textWriter writes the text form.
type textWriter struct {
	strings.Builder
	o Render
}

// sgr are the ANSI attributes of the words that rows begin with.
var sgr = map[string]string{"FAIL": "1;31", "NOT FIT": "1;31", "SKIP": "1;33", "UNKNOWN": "1;33", "note": "1;36", "pass": "32", "FIT": "1;32"}

// row writes one row, wrapped, that begins with a word in its colour.
func (t *textWriter) row(word, rest string) {
	line := wrap(word+rest, t.o.Width, "     ")
	if t.o.Color && sgr[word] != "" {
		line = "\x1b[" + sgr[word] + "m" + word + "\x1b[0m" + strings.TrimPrefix(line, word)
	}
	t.WriteString(line + "\n")
}

func (t *textWriter) hint(text string) {
	if text != "" {
		t.WriteString(wrap("     hint: "+clean(text), t.o.Width, "           ") + "\n")
	}
}

func (t *textWriter) verdict(r *Report) {
	word, rest, _ := strings.Cut(r.Verdict(), ":")
	if r.Taken != "" {
		rest += ", as of " + clean(r.Taken)
	}
	t.row(word, ":"+rest)
}

// Bounds of the text form where it is not verbose: names of one row, and rows of one check.
const (
	mostNames = 12
	mostRows  = 20
)

func (t *textWriter) names() int {
	if t.o.Verbose {
		return 0
	}
	return mostNames
}

// groups writes a row for each group, and a hint once below the rows of a check that share it.
func (t *textWriter) groups(word string, groups []group) {
	for len(groups) > 0 {
		n := 1
		for n < len(groups) && groups[n].rows[0].ID == groups[0].rows[0].ID {
			n++
		}
		t.check(word, groups[:n])
		groups = groups[n:]
	}
}

func (t *textWriter) check(word string, groups []group) {
	for i, g := range groups {
		if i == mostRows && !t.o.Verbose {
			left := 0
			for _, g := range groups[i:] {
				left += len(g.rows)
			}
			t.row(word, fmt.Sprintf(" %s %s: %d more (-v lists them)", g.rows[0].ID, g.rows[0].Title, left))
			return
		}
		t.row(word, " "+g.line(t.names()))
		last := i == len(groups)-1 || i == mostRows-1 && !t.o.Verbose
		if last || groups[i+1].rows[0].Hint != g.rows[0].Hint {
			t.hint(g.rows[0].Hint)
		}
	}
}

// skips writes one row for all checks that were skipped in the same places for one reason.
func (t *textWriter) skips(groups []group) {
	all := reasons(groups)
	for i, reason := range all {
		if i == mostRows && !t.o.Verbose {
			t.row("SKIP", fmt.Sprintf(" for %d more reasons (-v lists them)", len(all)-i))
			return
		}
		if len(reason) == 1 {
			t.row("SKIP", " "+reason[0].line(t.names()))
			t.hint(reason[0].rows[0].Hint)
			continue
		}
		var ids []string
		for _, g := range reason {
			ids = append(ids, g.rows[0].ID)
		}
		first := reason[0]
		t.row("SKIP", " "+strings.Join(ids, " ")+places(first.rows, t.names())+": "+clean(first.rows[0].Got)+first.suffix())
		t.hint(first.rows[0].Hint)
	}
}

// passes counts what passed without advice by check, or lists it.
func (t *textWriter) passes(r *Report) {
	var ids []string
	count := map[string]int{}
	n := 0
	for _, c := range r.Checks {
		if c.Status != Pass || c.Hint != "" {
			continue
		}
		if t.o.Verbose {
			t.row("pass", " "+c.ID+" "+c.Title+places([]Result{c}, 0)+": "+clean(c.Got)+", want "+clean(c.Want))
		}
		if count[c.ID] == 0 {
			ids = append(ids, c.ID)
		}
		count[c.ID]++
		n++
	}
	if n == 0 || t.o.Verbose {
		return
	}
	for i, id := range ids {
		ids[i] = id + " " + strconv.Itoa(count[id])
	}
	t.row("pass", fmt.Sprintf(" %s of %s (-v lists them): %s", plural(n, "result"), plural(len(ids), "check"), strings.Join(ids, ", ")))
}

func (t *textWriter) servers(r *Report) {
	var names []string
	for _, s := range r.Servers {
		names = append(names, cleanName(s.Name)+" "+clean(s.Version))
	}
	expected := "an unknown number"
	if r.ExpectedServers > 0 {
		expected = strconv.Itoa(r.ExpectedServers)
	}
	line := fmt.Sprintf(": %d answered, %s expected", len(r.Servers), expected)
	if len(names) > 0 {
		line += ": " + list(names, t.names())
	}
	t.row("servers", line)
}

// pages says where the checks that failed are explained.
func (t *textWriter) pages(r *Report) {
	var pages []string
	for _, c := range r.those(Fail) {
		if page := page(c.ID); !slices.Contains(pages, page) {
			pages = append(pages, page)
		}
	}
	if len(pages) > 0 {
		t.row("see", " "+strings.Join(pages, ", "))
	}
}

// page is the page of a check.
func page(id string) string { return "docs/doctor/" + id + ".md" }
