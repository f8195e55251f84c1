package doctor

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/internal/junit"
)

// junit writes a suite per check, and a case per result. Advice stands in the suite's output.
func (r *Report) junit(w io.Writer) error {
	at, err := time.Parse(time.RFC3339, r.Taken)
	if err != nil {
		at = time.Time{} // the document must state a time, and no other is known
	}
	var suites []*junit.Suite
	by, seen := map[string]*junit.Suite{}, map[string]int{}
	for _, c := range r.Checks {
		s := by[c.ID]
		if s == nil {
			s = junit.NewSuite("cotalctl doctor: "+junit.Plain(c.ID+" "+c.Title), "doctor", at)
			by[c.ID] = s
			suites = append(suites, s)
		}
		name := junit.Plain(c.ID + " " + c.Title + places([]Result{c}, 0))
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s #%d", name, seen[name])
		}
		c.junit(s, name)
	}
	return junit.Write(w, suites)
}

func (c Result) junit(s *junit.Suite, name string) {
	out := junit.Case{Class: "doctor." + junit.Plain(c.ID), Name: name}
	got := clean(c.Got)
	lines := []string{"got: " + got, "want: " + clean(c.Want)}
	if c.Hint != "" {
		lines = append(lines, "hint: "+clean(c.Hint))
	}
	switch {
	case c.Status == Fail:
		lines = append(lines, "see: "+page(c.ID))
		out.Failure = &junit.Fault{Message: junit.Plain(got), Type: string(Fail), Text: plainLines(lines)}
	case c.Status == Skip:
		out.Skipped = &junit.Reason{Message: junit.Plain(strings.Join(lines, "; "))}
	case c.Hint != "":
		s.Out += junit.Plain("note "+name+": "+strings.Join(lines, "; ")) + "\n"
	}
	s.Add(out)
}

// plainLines keeps the breaks between lines, and none within.
func plainLines(lines []string) string {
	for i, line := range lines {
		lines[i] = junit.Plain(line)
	}
	return strings.Join(lines, "\n")
}
