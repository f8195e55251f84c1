package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
)

// answer is what one round of a test gives: a status of D004 on n1, or of another check, or an error.
type answer struct {
	status doctor.Status
	err    error
	id     string
}

func answerReport(a answer) *doctor.Report {
	server := "n1"
	return &doctor.Report{Schema: doctor.ReportSchema, ExpectedServers: 1, Servers: []doctor.ReportServer{{ID: "N", Name: server, Version: "2.15.3"}},
		Checks: []doctor.Result{{ID: cmp.Or(a.id, "D004"), Title: "max_control_line", Status: a.status, Server: &server, Got: "g", Want: "w"}}}
}

// watchAll runs a watcher over answers, an interval of 5 s apart on a clock of its own, and ends it in the round after them.
func watchAll(t *testing.T, answers []answer, show func(*viewed) error) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ticker := time.NewTicker(5 * time.Second)
	defer ticker.Stop()
	start, n := time.Now(), 0
	w := &watcher{ticks: ticker.C, now: func() time.Time { return time.Now().UTC() }, show: show, round: func(ctx context.Context) (*doctor.Report, error) {
		if d := time.Since(start); d != time.Duration(n)*5*time.Second {
			t.Errorf("round %d after %v", n, d)
		}
		if n == len(answers) {
			cancel() // as a signal within a round
			return nil, ctx.Err()
		}
		a := answers[n]
		n++
		if a.err != nil {
			return nil, a.err
		}
		return answerReport(a), nil
	}}
	return w.run(ctx)
}

var gone = failed(errors.New("server nats://x: no server is reachable"), "check --server")

func TestWatchLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		answers []answer
		want    []string
		code    int
	}{
		{"nothing changes", []answer{{status: doctor.Pass}, {status: doctor.Pass}, {status: doctor.Pass}}, []string{"00:00:00Z FIT: 1 check passed on 1 server"}, 0},
		{"fails and recovers", []answer{{status: doctor.Pass}, {status: doctor.Fail}, {status: doctor.Fail}, {status: doctor.Pass}}, []string{
			"00:00:00Z FIT: 1 check passed on 1 server",
			"00:00:05Z NOT FIT: 1 check failed on n1; failed: D004 max_control_line on n1",
			"00:00:15Z FIT: 1 check passed on 1 server; recovered: D004 max_control_line on n1 (failed since 2000-01-01T00:00:05Z)",
		}, 0},
		{"fails", []answer{{status: doctor.Pass}, {status: doctor.Fail}}, []string{"00:00:00Z FIT: 1 check passed on 1 server",
			"00:00:05Z NOT FIT: 1 check failed on n1; failed: D004 max_control_line on n1"}, 3},
		{"one for another", []answer{{status: doctor.Fail}, {status: doctor.Fail, id: "D009"}}, []string{"00:00:00Z NOT FIT: 1 check failed on n1; failed: D004 max_control_line on n1",
			"00:00:05Z NOT FIT: 1 check failed on n1; failed: D009 max_control_line on n1; no longer listed: D004 max_control_line on n1 (failed since 2000-01-01T00:00:00Z)"}, 3},
		{"cannot look", []answer{{status: doctor.Skip}}, []string{"00:00:00Z UNKNOWN: 1 check could not look on n1; cannot look: D004 max_control_line on n1"}, 1},
		{"lost and back", []answer{{status: doctor.Fail}, {err: gone}, {err: gone}, {status: doctor.Fail}}, []string{
			"00:00:00Z NOT FIT: 1 check failed on n1; failed: D004 max_control_line on n1",
			"00:00:05Z LOST: server nats://x: no server is reachable; hint: check --server",
			"00:00:15Z NOT FIT: 1 check failed on n1",
		}, 3},
		{"lost", []answer{{status: doctor.Fail}, {err: gone}}, []string{"00:00:00Z NOT FIT: 1 check failed on n1; failed: D004 max_control_line on n1",
			"00:00:05Z LOST: server nats://x: no server is reachable; hint: check --server"}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			err := watchAll(t, tt.answers, (&watchLines{out: &out}).show)
			got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			for i, line := range got {
				got[i] = strings.TrimPrefix(line, "2000-01-01T")
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.code == 0) || err != nil && codeOf(err) != tt.code {
				t.Errorf("%s: %v, want code %d: %s", tt.name, err, tt.code, diff)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		if err := watchAll(t, []answer{{err: gone}}, nil); !errors.Is(err, gone) {
			t.Errorf("a first round without a report: got %v, want its error", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("full")
		if err := watchAll(t, []answer{{status: doctor.Pass}}, func(*viewed) error { return full }); !errors.Is(err, full) {
			t.Errorf("nobody reads: got %v", err)
		}
	})
}

func TestWatchJSON(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		err := watchAll(t, []answer{{status: doctor.Pass}, {err: gone}, {err: gone}, {status: doctor.Pass}, {err: gone}}, (&watchJSON{out: &out, err: &errs}).show)
		if codeOf(err) != exitFailed {
			t.Errorf("got %v", err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		for _, line := range lines {
			var r doctor.Report
			if err := json.Unmarshal([]byte(line), &r); err != nil || r.Schema != doctor.ReportSchema {
				t.Errorf("%s: %v", line, err)
			}
		}
		lost := "cotalctl: lost: server nats://x: no server is reachable; hint: check --server\n"
		if diff := gocmp.Diff(lost+lost, errs.String()); diff != "" || len(lines) != 2 {
			t.Errorf("%d lines: %s", len(lines), diff)
		}
	})
}

func TestWatchScreen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		v := &watchScreen{out: &out, every: 5 * time.Second, size: func() (int, int) { return 100, 40 }}
		err := watchAll(t, []answer{{status: doctor.Fail}, {status: doctor.Pass}, {status: doctor.Fail}, {err: gone}, {err: gone}}, v.show)
		if codeOf(err) != exitFailed {
			t.Errorf("got %v", err)
		}
		frames := strings.Split(out.String(), redraw)[1:]
		if len(frames) != 5 {
			t.Fatalf("%d frames, want 5", len(frames))
		}
		for i, want := range [][]string{
			{"cotalctl doctor every 5s, round 1 at 00:00:00\n\nNOT FIT: ", "\nFAIL D004 max_control_line on n1: got g, want w (since the first round)\n"},
			{"changes, * in the last round:\n* 00:00:05 recovered: D004 max_control_line on n1 (failed since 00:00:00)\n\nFIT: "},
			{"* 00:00:10 failed: D004 max_control_line on n1\n  00:00:05 recovered: ", "want w (since 00:00:10)\n"},
			{"\nLOST since 00:00:15: server nats://x: no server is reachable; hint: check --server\ntrying again every 5s; what was seen at 00:00:10:\n",
				"\n  00:00:10 failed: ", "\nNOT FIT: "},
			{"round 5 at 00:00:20\n\nLOST since 00:00:15: "},
		} {
			for _, part := range want {
				if !strings.Contains(frames[i], part) {
					t.Errorf("frame %d: no %q in\n%s", i, part, frames[i])
				}
			}
		}
	})
}

// TestWatchScreenFits: a frame never scrolls, whatever stands in it.
func TestWatchScreenFits(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	for _, tt := range []struct {
		text          string
		columns, rows int
		lines         int
		last          string
	}{
		{text.String(), 80, 40, 30, "line 29\n"},
		{text.String(), 80, 31, 30, "line 29\n"}, // and the cursor in the last one
		{text.String(), 80, 30, 29, "… and 2 more lines\n"},
		{text.String(), 80, 10, 9, "… and 22 more lines\n"},
		{text.String(), 4, 10, 5, "… and 26 more lines\n"}, // each line takes two rows
		{"", 80, 10, 0, ""},
	} {
		got := fitted(tt.text, tt.columns, tt.rows)
		if strings.Count(got, "\n") != tt.lines || !strings.HasSuffix(got, tt.last) {
			t.Errorf("%d × %d: got %d lines\n%s, want %d, the last %q", tt.columns, tt.rows, strings.Count(got, "\n"), got, tt.lines, tt.last)
		}
	}
}

func TestProgressLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &progressLine{w: &out, columns: 30}
	p.end() // nothing to remove
	p.tell(1, 3, "VARZ")
	p.tell(1, 3, "VARZ")
	p.tell(2, 0, "JSZ of \x1b[2Jn1 "+strings.Repeat("x", 100))
	p.end()
	p.end()
	want := "\rcotalctl: 1 of 3: VARZ\x1b[K" + "\rcotalctl: 2: JSZ of ?[2Jn1 xx\x1b[K" + "\r\x1b[K"
	if diff := gocmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	pipe := progressOf(&out, func(string) string { return "xterm" })
	pipe.tell(1, 3, "VARZ")
	pipe.end()
	if out.Len() > 0 {
		t.Errorf("in a pipe: %q", out.String())
	}
}

func TestTerminalSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env           map[string]string
		columns, rows int
	}{
		{map[string]string{}, 80, 24},
		{map[string]string{"COLUMNS": "132", "LINES": "50"}, 132, 50},
		{map[string]string{"COLUMNS": "-1", "LINES": "many"}, 80, 24},
	} {
		env := func(name string) string { return tt.env[name] }
		if columns, rows := terminalSize(&bytes.Buffer{}, env); columns != tt.columns || rows != tt.rows {
			t.Errorf("%v: got %d × %d, want %d × %d", tt.env, columns, rows, tt.columns, tt.rows)
		}
	}
}
