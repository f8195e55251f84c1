package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// watch shows what each round finds until a signal ends it, with the exit code of the last round.
func (c *doctorCmd) watch(a *app, round func(context.Context) (*doctor.Report, error)) error {
	ticker := time.NewTicker(c.Every.duration())
	defer ticker.Stop()
	w := &watcher{round: round, ticks: ticker.C, now: a.now}
	switch {
	case c.Output == doctor.FormatJSON:
		w.show = (&watchJSON{out: a.stdout, err: a.stderr}).show
	case steers(a.stdout, os.Getenv):
		w.show = (&watchScreen{out: a.stdout, every: c.Every.duration(), verbose: c.Verbose, color: colors(a.stdout, os.Getenv),
			size: func() (int, int) { return terminalSize(a.stdout, os.Getenv) }}).show
	default:
		w.show = (&watchLines{out: a.stdout}).show
	}
	return w.run(a.ctx)
}

// watcher asks again and again.
type watcher struct {
	round func(context.Context) (*doctor.Report, error)
	ticks <-chan time.Time
	now   func() time.Time
	show  func(*viewed) error
	viewed
}

// viewed is what is known after a round.
type viewed struct {
	rounds  int
	first   time.Time
	at      time.Time       // of the last round
	report  *doctor.Report  // the last one that there was
	seen    time.Time       // when
	changes []doctor.Change // of the last round
	history doctor.History
	lost    error // why the last round gave no report
	since   time.Time
}

// run asks at once, then at each tick. Where the first round gives no report nothing can be watched, and its error is returned; a
// later one is a lost connection, which the next round makes anew.
func (w *watcher) run(ctx context.Context) error {
	for {
		report, err := w.round(ctx)
		if ctx.Err() != nil && err != nil && w.rounds > 0 { // cut short: what it says is not what the cluster is
			return exitWith(w.code())
		}
		if err != nil && (report != nil || w.rounds == 0) {
			return err
		}
		w.add(report, err)
		if err := w.show(&w.viewed); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return exitWith(w.code())
		case <-w.ticks:
		}
	}
}

func (w *watcher) add(report *doctor.Report, err error) {
	w.rounds, w.at, w.changes = w.rounds+1, w.now(), nil
	if w.rounds == 1 {
		w.first = w.at
	}
	if report != nil {
		w.report, w.seen, w.lost = report, w.at, nil
		w.changes = w.history.Add(report, w.at)
		return
	}
	if w.lost == nil {
		w.since = w.at
	}
	w.lost = err
}

// code is the exit code of the last round.
func (w *viewed) code() int {
	if w.lost != nil {
		return exitFailed
	}
	return w.report.ExitCode()
}

// why is the error of a lost connection in one line, with what to do.
func (w *viewed) why() string {
	l := lines(w.lost)[0]
	if l.hint != "" {
		l.text += "; hint: " + l.hint
	}
	return contract.Redact(l.text)
}

// clock is a time for somebody who looks at the screen, and stamp one for a log.
func clock(t time.Time) string { return t.Format(time.TimeOnly) }
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// watchJSON writes each report on a line. A lost connection is no report: it is told beside them, once.
type watchJSON struct {
	out, err io.Writer
	told     string
}

func (v *watchJSON) show(w *viewed) error {
	if w.lost == nil {
		v.told = ""
		return w.report.Write(v.out, doctor.Render{Format: doctor.FormatJSON, OneLine: true})
	}
	if why := w.why(); why != v.told {
		v.told = why
		fmt.Fprintf(v.err, "cotalctl: lost: %s\n", why)
	}
	return nil
}

// watchLines writes a line where the verdict or what stands behind it changes.
type watchLines struct {
	out  io.Writer
	told string
}

func (v *watchLines) show(w *viewed) error {
	var line string
	if w.lost != nil {
		line = "LOST: " + w.why()
	} else {
		line = w.report.Verdict()
	}
	if line == v.told && len(w.changes) == 0 {
		return nil
	}
	changes := w.changes
	if v.told == "" { // the first line of a log says what stands there, not only how much
		changes = standing(w.report)
	}
	v.told = line
	news := doctor.DescribeChanges(changes, mostWatched, stamp)
	_, err := fmt.Fprintf(v.out, "%s %s\n", stamp(w.at), strings.Join(append([]string{line}, news...), "; "))
	return err
}

// standing is what a report finds, as changes from a time when nobody looked.
func standing(r *doctor.Report) []doctor.Change {
	var out []doctor.Change
	for _, c := range r.Checks {
		if c.Status != doctor.Pass {
			out = append(out, doctor.Change{Result: c})
		}
	}
	slices.SortStableFunc(out, func(a, b doctor.Change) int { return strings.Compare(string(a.Result.Status), string(b.Result.Status)) })
	return out
}

// mostWatched bounds the names in one change, and mostNews the changes that stay on the screen.
const (
	mostWatched = 8
	mostNews    = 10
)

// watchScreen draws the last report and what changed over and over in the same place.
type watchScreen struct {
	out            io.Writer
	every          time.Duration
	verbose, color bool
	size           func() (columns, rows int)
	news           []string // the newest first
}

// Home and clear, in one write with what follows: nothing flickers.
const redraw = "\x1b[H\x1b[2J"

func (v *watchScreen) show(w *viewed) error {
	columns, rows := v.size()
	var b bytes.Buffer
	fmt.Fprintf(&b, "cotalctl doctor every %s, round %d at %s\n\n", v.every, w.rounds, clock(w.at))
	if w.lost != nil {
		fmt.Fprintf(&b, "LOST since %s: %s\ntrying again every %s; what was seen at %s:\n\n", clock(w.since), w.why(), v.every, clock(w.seen))
	}
	v.remember(w)
	if len(v.news) > 0 { // above the report, which may be longer than the screen
		fmt.Fprintf(&b, "changes, * in the last round:\n%s\n\n", strings.Join(v.news, "\n"))
	}
	err := w.report.Write(&b, doctor.Render{Verbose: v.verbose, Color: v.color, Width: columns, Since: w.standing})
	if err != nil {
		return err
	}
	_, err = io.WriteString(v.out, redraw+fitted(b.String(), columns, rows))
	return err
}

// remember puts the changes of a round before those of earlier ones.
func (v *watchScreen) remember(w *viewed) {
	for i, line := range v.news {
		v.news[i] = "  " + strings.TrimPrefix(strings.TrimPrefix(line, "* "), "  ")
	}
	var fresh []string
	for _, line := range doctor.DescribeChanges(w.changes, mostWatched, clock) {
		fresh = append(fresh, "* "+clock(w.at)+" "+line)
	}
	v.news = append(fresh, v.news...)
	v.news = v.news[:min(len(v.news), mostNews)]
}

// standing is since when a result stands. What stood in the first round may be as old as anything.
func (w *viewed) standing(c doctor.Result) string {
	switch since := w.history.Since(c); {
	case since.IsZero():
		return ""
	case since.Equal(w.first):
		return "the first round"
	default:
		return clock(since)
	}
}

// fitted leaves out what does not fit on a screen, and says so.
func fitted(text string, columns, rows int) string {
	used, kept := 0, 0
	for line := range strings.Lines(text) {
		used += max(1, (utf8.RuneCountInString(line)-1+columns-1)/columns) // without its line break
		if used <= rows-2 {
			kept += len(line)
		}
	}
	if used < rows { // the cursor stands below the last line
		return text
	}
	return text[:kept] + fmt.Sprintf("… and %d more lines\n", strings.Count(text[kept:], "\n"))
}
