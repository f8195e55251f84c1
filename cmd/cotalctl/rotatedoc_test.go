package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestRotationPage runs every command of docs/rotation.md in its order, with the exit code that stands there.
func TestRotationPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/rotation.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	ran := 0
	for _, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[2]) {
			line, remark, _ := strings.Cut(line, "#")
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "cotalctl" {
				t.Fatalf("line %q is no command", line)
			}
			want := 0
			if exit, ok := strings.CutPrefix(strings.TrimSpace(remark), "exit "); ok {
				if want, err = strconv.Atoi(exit[:1]); err != nil {
					t.Fatal(err)
				}
			}
			command(t, want, words[1:]...)
			ran++
		}
	}
	if ran < 12 {
		t.Errorf("ran %d commands, want at least 12", ran)
	}
}
