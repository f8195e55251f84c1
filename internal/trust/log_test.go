package trust_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/trust"
)

func skipped(reason string) trust.LogEntry {
	return trust.LogEntry{Command: "mint agent", Event: trust.LogSkipDoctor, Server: "nats://127.0.0.1:4222", Reason: reason,
		Skipped: []string{"D001", "D004"}}
}

func readLog(t *testing.T, d *trust.Dir, space string) (reasons []string, broken int) {
	t.Helper()
	entries, broken, err := d.Log(space)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		reasons = append(reasons, e.Reason)
	}
	return reasons, broken
}

// TestLog: a line is one object, private to the user, of a space whose directory was not there; and such a directory is no space.
func TestLog(t *testing.T) {
	dir := fresh(t)
	d := ensure(t, dir)
	if entries, broken, err := d.Log("main"); err != nil || broken != 0 || len(entries) != 0 {
		t.Fatalf("before: got %v, %d, %v, want nothing", entries, broken, err)
	}
	want := []trust.LogEntry{skipped(`n3 is "down" <since> Monday`), {Command: "provision space", Event: trust.LogDoctorPassed,
		Server: "nats://127.0.0.1:4222", Servers: 3, Versions: []string{"2.15.3"}, Floors: &trust.LogFloors{Version: "2.12", ControlLine: 17226}}}
	for i := range want {
		now := start().Add(time.Duration(i) * time.Second)
		if err := d.AppendLog("main", want[i], now); err != nil { // without the lock
			t.Fatal(err)
		}
		want[i].Schema, want[i].Time = trust.LogSchema, now.Format(time.RFC3339)
	}
	got, broken, err := d.Log("main")
	if diff := cmp.Diff(want, got); diff != "" || broken != 0 || err != nil {
		t.Errorf("%d broken, %v\n%s", broken, err, diff)
	}
	file := filepath.Join(dir, "spaces", "main", "log.jsonl")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file, got %v, %v, want mode 0600", info, err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `n3 is \"down\" <since> Monday`) || strings.Count(string(text), "\n") != 2 {
		t.Errorf("text, %v:\n%s", err, text)
	}
	for line := range strings.Lines(string(text)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("line is no JSON: %s", line)
		}
	}
	if spaces, err := d.Spaces(); err != nil || len(spaces) != 0 {
		t.Errorf("spaces, got %v, %v, want none of a log alone", spaces, err)
	}
}

// TestLogTorn: what a killed process left of a line breaks neither the next line nor a reader.
func TestLogTorn(t *testing.T) {
	for name, tc := range map[string]struct {
		before string
		want   []string
		broken int
	}{
		"within a line": {`{"schema":"cotalctl/log/v1","time":"2026`, []string{"the next one"}, 1},
		"its newline":   {`{"schema":"cotalctl/log/v1","reason":"a whole one"}`, []string{"a whole one", "the next one"}, 0},
		"glued to a whole": {
			`{"schema":"cotalctl/log/v1","ti{"schema":"cotalctl/log/v1","reason":"after half"}` + "\n",
			[]string{"after half", "the next one"}, 0,
		},
		"another schema":  {`{"schema":"cotalctl/log/v2","reason":"x"}` + "\n", []string{"the next one"}, 1},
		"no JSON":         {"\x00\x00\x00\n\n  \n", []string{"the next one"}, 1},
		"a line too long": {`{"schema":"cotalctl/log/v1","reason":"` + strings.Repeat("x", 1<<20) + `"}` + "\n", []string{"the next one"}, 1},
		"empty":           {"", []string{"the next one"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fresh(t)
			d := ensure(t, dir)
			file := filepath.Join(dir, "spaces", "main", "log.jsonl")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(tc.before), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := d.AppendLog("main", skipped("the next one"), start()); err != nil {
				t.Fatal(err)
			}
			got, broken := readLog(t, d, "main")
			if diff := cmp.Diff(tc.want, got); diff != "" || broken != tc.broken {
				t.Errorf("%d broken, want %d\n%s", broken, tc.broken, diff)
			}
			if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), tc.before) {
				t.Errorf("what was there was changed (%v)", err)
			}
		})
	}
}

// TestLogTogether: commands that hold no lock lose no line of each other.
func TestLogTogether(t *testing.T) {
	dir := fresh(t)
	ensure(t, dir)
	const writers, lines = 8, 25
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			d, err := trust.Open(dir)
			for i := range lines {
				if err == nil {
					err = d.AppendLog("main", skipped(fmt.Sprintf("%d-%d %s", w, i, strings.Repeat("y", i*20))), start())
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	d, err := trust.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, broken := readLog(t, d, "main")
	seen := map[string]bool{}
	for _, reason := range got {
		seen[reason] = true
	}
	if len(got) != writers*lines || len(seen) != writers*lines || broken != 0 {
		t.Errorf("got %d lines, %d different, %d broken, want %d whole ones", len(got), len(seen), broken, writers*lines)
	}
}

// TestLogRefused: a line out of bounds, and what is no file of ours.
func TestLogRefused(t *testing.T) {
	dir := fresh(t)
	d := ensure(t, dir)
	if err := d.AppendLog("main", skipped(strings.Repeat("x", 5000)), start()); err == nil || !strings.Contains(err.Error(), "want at most 4096") {
		t.Errorf("a long line: got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "spaces", "main")); err == nil {
		t.Error("a refused line left a directory")
	}
	for _, name := range []string{"", "..", "a/b"} {
		if err := d.AppendLog(name, skipped("x"), start()); err == nil {
			t.Errorf("space %q was accepted", name)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for _, make := range []func(string) error{
		func(file string) error { return os.Symlink(elsewhere, file) },
		func(file string) error { return os.Mkdir(file, 0o700) },
	} {
		file := filepath.Join(dir, "spaces", "main", "log.jsonl")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := make(file); err != nil {
			t.Fatal(err)
		}
		if err := d.AppendLog("main", skipped("x"), start()); err == nil || !strings.Contains(err.Error(), "want a regular file") {
			t.Errorf("got %v, want a refusal", err)
		}
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("the link was followed")
	}
}
