package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if code, ok := killable(); ok {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"cotalctl": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"limited":  func() { os.Exit(limited(os.Args[1:])) },
	})
}

// TestScripts runs every script below testdata/script. "exits N cmd…" asserts an exact exit code, which the built-in exec
// cannot.
func TestScripts(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "script")
	scripts, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "lacks": lacks, "broker": broker, "onlynone": onlyNone, "remap": remap, "sameas": sameAs, "truncate": truncate,
			"oldserver": oldServer, "holdlock": holdLock, "snapshot": snapshot, "stockserver": stockServerOn, "killstock": killStock, "edit": edit,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			env.Setenv("U", "aaaaaaaaaaaaaaaaaaaaaaaaaa")
			env.Setenv("OWNER", "u_aaaaaaaaaaaaaaaaaaaaaaaaaa")
			return nil
		},
	})
}

// exits N command args: run and compare the exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("exits: %v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v exited %d, want %d", args[1:], got, want)
	}
}
