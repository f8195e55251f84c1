package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const outline = `document: Depot Protocol
version: "1"
sections:
  - {id: "2", title: Keys, accounted: true}
`

const sheet = `section: "2"
title: Keys
sentences:
  - {id: "2-001", digest: "25a3878975ab", must: MUST, words: uniqueness, answers: [{grammar: space}]}
  - {id: "2-002", digest: "0123456789ab", must: never, words: no reuse, answers: [{open: nobody looks}]}
`

const text = "2. Keys\nA key MUST be unique. A key is never reused.\n"

// The generator writes the page and the lock, and refuses what the lock forbids.
func TestRun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "docs", "conformance", "cotal-v0.5")
	put := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec, keys := filepath.Join(root, "text"), filepath.Join(dir, "2.yaml")
	put(spec, text)
	tests := []struct {
		name  string
		sheet string
		args  []string
		code  int
		want  string // on stdout or stderr
	}{
		{"usage", sheet, []string{"-nosuch"}, 2, "flag provided"},
		{"argument", sheet, []string{"x"}, 2, ""},
		{"broken data", strings.Replace(sheet, "grammar: space", "grammar: spice", 1), nil, 3, `grammar "spice" does not exist`},
		{"lock", sheet, []string{"-lock"}, 0, ""},
		{"page", sheet, nil, 0, ""},
		{"more open", strings.Replace(sheet, "grammar: space", "open: nobody", 1), []string{"-lock"}, 3, "more open sentences"},
		{"vanished", strings.Split(sheet, "  - {id: \"2-002\"")[0], []string{"-lock"}, 3, "row 2-002: the sentence has vanished"},
		{"changed text", sheet, []string{"-text", spec}, 3, "changed 2-002"},
		{"no text", sheet, []string{"-text", spec + "x"}, 1, "no such file"},
	}
	for _, tt := range tests { // in order: each builds on the files of the one before
		put(filepath.Join(dir, "sections.yaml"), outline)
		put(keys, tt.sheet)
		var stdout, stderr strings.Builder
		code := run(append([]string{"-root", root}, tt.args...), &stdout, &stderr)
		if got := stdout.String() + stderr.String(); code != tt.code || !strings.Contains(got, tt.want) {
			t.Errorf("%s: exit %d, %q; want %d, %q", tt.name, code, got, tt.code, tt.want)
		}
	}
	for file, want := range map[string]string{"docs/conformance.md": "| 2-002 | never | no reuse | **open:** nobody looks |",
		"docs/conformance/cotal-v0.5/sentences.lock": "2 open 1\n2-001 25a3878975ab\n2-002 0123456789ab\n"} {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: %v, lacks %q:\n%s", file, err, want, data)
		}
	}
	var stderr strings.Builder
	if code := run([]string{"-root", t.TempDir()}, &stderr, &stderr); code != 1 {
		t.Errorf("an empty tree: exit %d, %s; want 1", code, &stderr)
	}
}
