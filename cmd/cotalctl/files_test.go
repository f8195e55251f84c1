package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fenced = regexp.MustCompile("(?ms)^```(yaml|sh)\n(.*?)^```$")
	titled = regexp.MustCompile(`^# ([a-z]+\.yaml): ([a-z-]+)\n`)
)

// TestFilesPage runs docs/files.md: every file compiles for its profile, and where a lifecycle takes it, it is planned; every command
// of the page succeeds in the order of the page.
func TestFilesPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	tmp, files, plans := t.TempDir(), map[string]string{}, [][]string{}
	dir := filepath.Join(tmp, "D")
	var run [][]string
	for _, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		if block[1] == "sh" {
			for line := range strings.Lines(block[2]) {
				words := strings.Fields(line)
				if len(words) < 2 || words[0] != "cotalctl" {
					t.Fatalf("got the line %q, want a command of cotalctl", line)
				}
				run = append(run, words[1:])
			}
			continue
		}
		title := titled.FindStringSubmatch(block[2])
		if title == nil {
			t.Fatalf("a block begins %.40q, want # FILE.yaml: PROFILE", block[2])
		}
		name := filepath.Join(tmp, title[1])
		if err := os.WriteFile(name, []byte(block[2]), 0o600); err != nil {
			t.Fatal(err)
		}
		files[title[1]] = title[2]
		switch title[2] {
		case "agent":
			plans = append(plans, []string{"provision", "principal", "-f", name, "--plan"})
		case "endpoint-serve":
			plans = append(plans, []string{"provision", "endpoint", "-f", name, "--plan"})
		}
	}
	if len(files) < 4 || len(run) < 8 || len(plans) < 3 {
		t.Fatalf("found %d files, %d commands, %d plans, want at least 4, 8, 3", len(files), len(run), len(plans))
	}
	command(t, 0, "provision", "space", "main", "--dir", dir)
	compiled := map[string]bool{}
	for _, args := range run {
		if args[0] == "compile" && files[args[3]] == args[1] {
			compiled[args[3]] = true
		}
		for i, word := range args {
			if files[word] != "" || strings.HasSuffix(word, ".creds") {
				args[i] = filepath.Join(tmp, word)
			}
		}
		out, _ := command(t, 0, append(slices.Clone(args), "--dir", dir)...)
		if strings.TrimSpace(out) == "" {
			t.Errorf("%v printed nothing", args)
		}
	}
	for _, args := range plans {
		command(t, 0, append(args, "--dir", dir)...)
	}
	for name := range files {
		if !compiled[name] {
			t.Errorf("%s: no command of the page compiles it", name)
		}
	}
}
