package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	regoFile    = regexp.MustCompile("(?m)^```rego\n# file: (\\S+)\n((?s:.*?))^```$")
	regoSet     = regexp.MustCompile("(?m)`([a-z]+\\.json)`:\n\n```json\n((?s:.*?))^```$")
	regoConsole = regexp.MustCompile("(?m)^```console\n((?s:.*?))^```$")
)

// TestRegoPage: the rule of docs/rego.md and its test are written as they stand there, and the commands print what the page shows; a line
// of an ellipsis stands for the rest.
func TestRegoPage(t *testing.T) {
	data, err := os.ReadFile("../../docs/rego.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("rules", 0o700); err != nil {
		t.Fatal(err)
	}
	rules, sets := regoFile.FindAllSubmatch(data, -1), regoSet.FindAllSubmatch(data, -1)
	for _, m := range rules {
		m[1] = []byte(filepath.Join("rules", string(m[1])))
	}
	for _, m := range append(rules, sets...) {
		if err := os.WriteFile(string(m[1]), m[2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, block := range regoConsole.FindAllSubmatch(data, -1) {
		for _, shown := range strings.Split("\n"+string(block[1]), "\n$ cotalctl ")[1:] {
			line, want, _ := strings.Cut(shown, "\n")
			code := 0
			if exit := pageExit.FindStringSubmatch(line); exit != nil {
				line = strings.TrimSuffix(line, exit[0])
				code, _ = strconv.Atoi(exit[1])
			}
			stdout, stderr := command(t, code, strings.Fields(line)...)
			got := strings.TrimSuffix(stdout+stderr, "\n")
			want = strings.TrimSuffix(want, "\n")
			if head, more := strings.CutSuffix(want, "\n…"); more {
				want, got = head, got[:min(len(got), len(head))]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("cotalctl %s (-page +got):\n%s", line, diff)
			}
			ran++
		}
	}
	if len(rules) != 2 || len(sets) != 1 || ran != 2 {
		t.Errorf("%d rules, %d sets and %d commands, want 2, 1 and 2", len(rules), len(sets), ran)
	}
}
