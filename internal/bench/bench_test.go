package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testCase(t *testing.T) *subject {
	t.Helper()
	c, err := loadCase(caseFile)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkSample: a figure that stands for no operation is no figure.
func checkSample(t *testing.T, s sample) {
	t.Helper()
	if s.name == "" || s.ops == 0 || len(s.times) == 0 || s.median() <= 0 || s.quantile(0.1) > s.quantile(0.9) {
		t.Errorf("sample %q, got %d operations in %d blocks, median %s, want some that took time", s.name, s.ops, len(s.times), s.median())
	}
}

func TestMeasureMint(t *testing.T) {
	f, err := measureMint(testCase(t), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []sample{f.bare, f.mint, f.prepared, f.plain, f.compile, f.whole, f.bareScoped, f.scoped, f.plainScoped} {
		checkSample(t, s)
		if want := mintRounds * mintBlock; s.ops < want {
			t.Errorf("%s, got %d operations, want %d or more", s.name, s.ops, want)
		}
		if s.allocs < 1 {
			t.Errorf("%s, got %v allocations, want at least the key's", s.name, s.allocs)
		}
	}
	if f.jwtBytes < 1000 {
		t.Errorf("JWT, got %d bytes, want a baseline's", f.jwtBytes)
	}
	if f.scopedBytes == 0 || f.scopedBytes > 900 {
		t.Errorf("scoped JWT, got %d bytes, want 900 or less", f.scopedBytes)
	}
}

func TestMeasureWhole(t *testing.T) {
	c := testCase(t)
	c.whole.Endpoints = 4
	f, err := measureWhole(c, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []sample{f.holder, f.holder2, f.space, f.space2} {
		checkSample(t, s)
		if s.allocs < 1 {
			t.Errorf("%s, got %v allocations, want some", s.name, s.allocs)
		}
	}
	// 12 commands for each of the two more endpoints, on two rails or as submissions, for two targets each.
	if got, want := f.holderEntries-f.holderEntries1, 2*(6*2*2+6*2); got < want {
		t.Errorf("entries of two more endpoints, got %d, want %d or more", got, want)
	}
	if f.sets <= len(c.contract.Profiles) || f.entries <= f.entries1 {
		t.Errorf("got %d sets with %d entries after %d, want more than a set per profile, and more with more endpoints", f.sets, f.entries, f.entries1)
	}
}

func TestMeasureProvision(t *testing.T) {
	c := testCase(t)
	f, err := measureProvision(t.Context(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	checkSample(t, f.project)
	checkSample(t, f.raw)
	if f.project.ops != 1 || f.raw.ops != 1 || f.calls < len(c.contract.Resources) {
		t.Errorf("got %d and %d spaces of %d calls, want 1 each of a call per resource, %d, or more", f.project.ops, f.raw.ops, f.calls, len(c.contract.Resources))
	}
}

// TestAlternate: every round begins with the next way, and warm rounds leave no trace but the work.
func TestAlternate(t *testing.T) {
	var log []string
	step := func(text string) func() error { return func() error { log = append(log, text); return nil } }
	ways := []way{{name: "a", op: step("a"), before: step("("), after: step(")")}, {name: "b", op: step("b")}}
	samples, err := alternate(ways, 2, 1, func(round int, _ time.Duration) bool { return round < 2 })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("(aa)bb"+"bb(aa)"+"(aa)bb", strings.Join(log, "")); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for _, s := range samples {
		if s.ops != 4 || len(s.times) != 2 {
			t.Errorf("%s: got %d operations in %d blocks, want 4 in 2", s.name, s.ops, len(s.times))
		}
	}
	failure := errors.New("broken")
	ways[1].op = func() error { return failure }
	if _, err := alternate(ways, 1, 0, func(int, time.Duration) bool { return true }); !errors.Is(err, failure) {
		t.Errorf("got %v, want the way's error", err)
	}
}

// TestRatio: a slow phase of the machine is in both ways and does not show in the share.
func TestRatio(t *testing.T) {
	a, b := sample{times: []time.Duration{20, 400, 22}}, sample{times: []time.Duration{10, 200, 11}}
	if got := ratio(a, b); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	if got := ratio(sample{}, b); got != 0 {
		t.Errorf("of nothing, got %v, want 0", got)
	}
	if diff := cmp.Diff([]time.Duration{20, 22, 400}, []time.Duration{a.quantile(0), a.median(), a.quantile(1)}); diff != "" {
		t.Errorf("quantiles (-want +got):\n%s", diff)
	}
}

func sampleOf(name string, d time.Duration) sample {
	return sample{name: name, ops: 1, times: []time.Duration{d}, allocs: 1}
}

func TestReport(t *testing.T) {
	us := func(n int) sample { return sampleOf("way", time.Duration(n)*time.Microsecond) }
	f := figures{
		machine: machine{cpu: "CPU", cpus: 2, procs: 2, platform: "os/arch", goVersion: "go1", libraries: []string{"lib v1"}},
		name:    "a case",
		mint:    mintFigures{bare: us(85), mint: us(100), prepared: us(100), plain: us(200), compile: us(99), whole: us(200), jwtBytes: 5000, bareScoped: us(95), plainScoped: us(190), scopedBytes: 800},
	}
	for _, c := range []struct {
		name        string
		mint, comp  int
		raw         int
		want, wrong int // how often a verdict stands
	}{
		{"at the targets", 100, 99, 100, 6, 0},
		{"beside them", 101, 100, 99, 0, 6},
	} {
		f.mint.mint, f.mint.scoped, f.mint.compile = us(c.mint), us(c.mint), us(c.comp)
		// 45 µs for half the rows: 99 are 2.2 times that, and 100 are more.
		f.whole = wholeFigures{holder: us(45), holder2: us(c.comp), space: us(45), space2: us(c.comp), holderEntries1: 1, holderEntries: 2, entries1: 1, entries: 2}
		f.provision = provisionFigures{project: us(130), raw: us(c.raw), calls: 15}
		text := string(f.report())
		if got := strings.Count(text, "**met**"); got != c.want {
			t.Errorf("%s: met, got %d times, want %d\n%s", c.name, got, c.want, text)
		}
		if got := strings.Count(text, "**not met**"); got != c.wrong {
			t.Errorf("%s: not met, got %d times, want %d", c.name, got, c.wrong)
		}
		for _, want := range []string{"make bench", "GOMAXPROCS 2", "go1", "lib v1", "| way | 10000 |"} {
			if c.mint == 100 && !strings.Contains(text, want) {
				t.Errorf("%s: got no %q in\n%s", c.name, want, text)
			}
		}
	}
}

func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	if err := run(t.Context(), options{few: true, out: out, d: time.Millisecond, spaces: 1}, &stdout); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stdout.String(), string(data)); diff != "" || stdout.Len() == 0 {
		t.Errorf("file and output differ, or are empty (-want +got):\n%s", diff)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, private := range []string{host, os.TempDir() + "/"} {
		if strings.Contains(stdout.String(), private) {
			t.Errorf("report names %q, want nothing of this machine but its shape", private)
		}
	}
	for _, o := range []options{{d: 0, spaces: 1}, {d: 1, spaces: 0}} {
		if err := run(t.Context(), o, &stdout); err == nil {
			t.Errorf("%+v: got no error, want one", o)
		}
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	if err := writeFile(filepath.Join(dir, "absent", "f"), []byte("x")); err == nil {
		t.Error("into an absent directory, got no error, want one")
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(filepath.Join(dir, "d"), []byte("x")); err == nil {
		t.Error("over a directory, got no error, want one")
	}
	if err := writeFile(filepath.Join(dir, "f"), []byte("x")); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"d", "f"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestLoadCase(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON":           `{`,
		"unknown contract":   `{"contract":"none"}`,
		"unknown profile":    `{"contract":"cotal-v0.5","profile":"none"}`,
		"unknown setting":    `{"contract":"cotal-v0.5","profile":"agent","settings":{"none":"x"},"params":{}}`,
		"unknown value":      `{"contract":"cotal-v0.5","profile":"agent","settings":{"deployment":"none"},"params":{}}`,
		"unknown field name": `{"contract":"cotal-v0.5","profile":"agent","parameters":{}}`,
	} {
		if _, err := loadCase([]byte(text)); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
	if c := testCase(t); c.params["space"] != c.space {
		t.Errorf("control: got space %v, want %q", c.params["space"], c.space)
	}
}
