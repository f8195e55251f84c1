package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"gopkg.in/yaml.v3"
)

// scripts collects the shell lines of a CI configuration: the texts below the keys run and script, and the entries of hooks.
func scripts(n *yaml.Node, under string) []string {
	var out []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			out = append(out, scripts(n.Content[i+1], n.Content[i].Value)...)
		}
	case yaml.ScalarNode:
		if under == "run" || under == "script" || under == "entry" {
			out = strings.Split(strings.TrimSpace(n.Value), "\n")
		}
	default:
		for _, c := range n.Content {
			out = append(out, scripts(c, under)...)
		}
	}
	return out
}

// hookArgs are the arguments that a pre-commit configuration gives to each hook.
func hookArgs(t *testing.T, block string) map[string][]string {
	t.Helper()
	var conf struct {
		Repos []struct {
			Hooks []struct {
				ID   string
				Args []string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(block), &conf); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, repo := range conf.Repos {
		for _, hook := range repo.Hooks {
			out[hook.ID] = hook.Args
		}
	}
	return out
}

// TestCIPage runs every command of docs/ci.md, those of its workflows and hooks included, on a new contract and sets of it. The baseline
// is written first, as its section says.
func TestCIPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	hooks, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	command(t, 0, "init", "contract")
	if err := os.Mkdir("creds", 0o700); err != nil {
		t.Fatal(err)
	}
	set := `{"schema":"cotalctl/permissions/v1","contract":"contract","profile":"none","space":"main","pub":{"mode":"patterns","allow":[{"pattern":"$JS.API.>","rows":[]}],"deny":[]},"sub":{"mode":"none","allow":[],"deny":[]},"jwt_bytes":0,"connect_bytes":0}`
	if err := os.WriteFile("creds/old.json", []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, 3, "audit", "creds", "--contract", "contract")

	var lines []string
	args := map[string][]string{}
	blocks := fenced.FindAllStringSubmatch(string(page), -1)
	for _, block := range blocks {
		if block[1] == "sh" {
			lines = append(lines, strings.Split(strings.TrimSpace(block[2]), "\n")...)
			continue
		}
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(block[2]), &doc); err != nil {
			t.Fatalf("a block is no YAML: %v\n%s", err, block[2])
		}
		lines = append(lines, scripts(&doc, "")...)
		for id, a := range hookArgs(t, block[2]) {
			args[id] = a
		}
	}
	lines = append(lines, hookLines(t, hooks, args)...)
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Count(b, "--write-baseline") - strings.Count(a, "--write-baseline")
	})
	ran := 0
	for _, line := range lines {
		if words, ok := strings.CutPrefix(strings.TrimSpace(line), "cotalctl "); ok {
			ciCommand(t, strings.Fields(words))
			ran++
		}
	}
	if len(blocks) < 5 || len(args) != 3 || ran < 9 {
		t.Errorf("ran %d commands of %d blocks and %d hooks, want at least 9 of 5 and 2", ran, len(blocks), len(args))
	}
}

// TestHookPatterns: the hooks catch the files that they are about, and the seeds of every sort of nkey, which they do not print, and no
// other key.
func TestHookPatterns(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct{ ID, Entry, Files string }
	if err := yaml.Unmarshal(data, &hooks); err != nil {
		t.Fatal(err)
	}
	var files *regexp.Regexp
	entry := ""
	for _, h := range hooks {
		switch h.ID {
		case "cotalctl-audit":
			files = regexp.MustCompile(h.Files)
		case "cotalctl-seeds":
			entry = h.Entry
		}
	}
	for name, want := range map[string]bool{"a.creds": true, "d/a.jwt": true, "sets/agent.permissions.json": true, "nats.conf": true,
		"d/nats-server.conf": true, "package.json": false, "nginx.conf": false, "not-nats.conf": false, "a.creds.md": false} {
		if got := files.MatchString(name); got != want {
			t.Errorf("%s: audited %t, want %t", name, got, want)
		}
	}
	dir := t.TempDir()
	seeds, others := filepath.Join(dir, "seeds"), filepath.Join(dir, "others")
	if err := errors.Join(os.Mkdir(seeds, 0o700), os.Mkdir(others, 0o700)); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{} // file → seed
	put := func(dir, text, seed string) {
		name := filepath.Join(dir, fmt.Sprintf("f %d", len(all)))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all[name] = seed
	}
	for _, kind := range []nkeys.PrefixByte{nkeys.PrefixByteServer, nkeys.PrefixByteCluster, nkeys.PrefixByteOperator, nkeys.PrefixByteAccount,
		nkeys.PrefixByteUser, nkeys.PrefixByteCurve} {
		for range 8 {
			key, err := nkeys.CreatePair(kind)
			if err != nil {
				t.Fatal(err)
			}
			seed, serr := key.Seed()
			public, perr := key.PublicKey()
			if serr != nil || perr != nil {
				t.Fatal(serr, perr)
			}
			put(seeds, string(seed), string(seed))
			put(seeds, "\x00key: \""+string(seed)+"\"\n", string(seed))
			put(others, public, string(seed))
			put(others, "A"+string(seed), string(seed))
		}
	}
	for dir, want := range map[string]int{seeds: 3, others: 0} {
		out, err := exec.Command("sh", "-c", entry+` "`+dir+`"/*`).CombinedOutput()
		code := 0
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != want {
			t.Errorf("%s: exit %d, want %d", filepath.Base(dir), code, want)
		}
		for name, seed := range all {
			if told := strings.Contains(string(out), name+" holds"); told != (dir == seeds && filepath.Dir(name) == seeds) {
				t.Errorf("%s is told of: %t", name, told)
			}
			if strings.Contains(string(out), seed) {
				t.Error("a seed is printed")
			}
		}
	}
	if len(all) < 100 {
		t.Errorf("tried %d files, want 100", len(all))
	}
}

// hookLines are the command lines of the hooks, with the arguments that the page gives them; every hook must be shown there.
func hookLines(t *testing.T, data []byte, args map[string][]string) []string {
	t.Helper()
	var hooks []struct {
		ID, Entry     string
		Files         string
		PassFilenames *bool `yaml:"pass_filenames"`
	}
	if err := yaml.Unmarshal(data, &hooks); err != nil || len(hooks) == 0 {
		t.Fatalf("hooks: %v", err)
	}
	var out []string
	for _, h := range hooks {
		a, ok := args[h.ID]
		if !ok {
			t.Errorf("hook %s is not on the page", h.ID)
		}
		line := h.Entry + " " + strings.Join(a, " ")
		if h.PassFilenames == nil || *h.PassFilenames {
			line += " creds/old.json"
		}
		out = append(out, line)
	}
	return out
}

// ciCommand runs one command that ends in 0, and holds what it writes into a file to the form that was asked for.
func ciCommand(t *testing.T, words []string) {
	t.Helper()
	file := ""
	if n := len(words); n > 2 && words[n-2] == ">" {
		file, words = words[n-1], words[:n-2]
	}
	var stdout, stderr bytes.Buffer
	if code := run(words, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("cotalctl %s: exit %d\n%s%s", strings.Join(words, " "), code, stdout.String(), stderr.String())
	}
	var err error
	switch ext := filepath.Ext(file); ext {
	case "":
	case ".sarif":
		err = json.Unmarshal(stdout.Bytes(), &struct{ Runs []any }{})
	case ".xml":
		err = xml.Unmarshal(stdout.Bytes(), new(struct {
			XMLName xml.Name `xml:"testsuites"`
		}))
	default:
		err = fmt.Errorf("file %s is of no known form", file)
	}
	if err != nil {
		t.Errorf("cotalctl %s > %s: %v", strings.Join(words, " "), file, err)
	}
}
