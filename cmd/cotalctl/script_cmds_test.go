package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// secrets are the shapes that no output may hold: a seed, or a whole JWT.
var secrets = regexp.MustCompile(`\bS[OAUNCX][A-Z2-7]{56}\b|\beyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{20,}`)

// lacks secrets [file...]: the last output, and the files, hold no seed and no JWT.
func lacks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || args[0] != "secrets" {
		ts.Fatalf("usage: lacks secrets [file...]")
	}
	for _, name := range append([]string{"stdout", "stderr"}, args[1:]...) {
		if m := secrets.FindString(ts.ReadFile(name)); m != "" {
			ts.Fatalf("%s holds a secret that begins with %s", name, m[:3])
		}
	}
}

// broker DIR VAR: run "cotalctl broker run" on DIR until the script ends, and put its URL into VAR.
func broker(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: broker DIR VAR")
	}
	exe, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(filepath.ListSeparator))[0], "cotalctl"))
	ts.Check(err)
	cmd := exec.Command(exe, "broker", "run", "--dir", ts.MkAbs(args[0]), "--listen", "127.0.0.1:-1")
	cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"))
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			ts.Logf("broker: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	ts.Setenv(args[1], strings.TrimSpace(line))
}

// onlynone FILE: FILE is a plan in JSON with at least one action, all of them none.
func onlyNone(ts *testscript.TestScript, neg bool, args []string) {
	var plan struct {
		Schema  string
		Actions []struct{ Kind, Name, Action string }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &plan))
	if plan.Schema != "cotalctl/plan/v1" || len(plan.Actions) == 0 {
		ts.Fatalf("%s is no plan with actions", args[0])
	}
	for _, a := range plan.Actions {
		if a.Action != "none" {
			ts.Fatalf("%s %s is planned as %s", a.Kind, a.Name, a.Action)
		}
	}
	ts.Logf("%d actions, all none", len(plan.Actions))
	if neg {
		ts.Fatalf("usage: onlynone FILE")
	}
}

// sameas A B: two files hold the same bytes, and some.
func sameAs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sameas A B")
	}
	a, b := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	if a != b || a == "" {
		ts.Fatalf("%s (%d bytes) and %s (%d bytes) differ or are empty", args[0], len(a), args[1], len(b))
	}
}

// truncate FILE: cut FILE to half its length, as a copy that was interrupted.
func truncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: truncate FILE")
	}
	data := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(data[:len(data)/2]), 0o600))
}

// edit FROM TO OLD NEW: write FROM to TO with every OLD replaced; there must be one.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: edit FROM TO OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[2]) {
		ts.Fatalf("%s does not hold %q", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.ReplaceAll(text, args[2], args[3])), 0o600))
}
