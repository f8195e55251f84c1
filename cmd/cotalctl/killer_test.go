//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// killAt makes the test binary a run of provisioning that kills itself after so many events; 0 is never.
const killAt = "COTALCTL_TEST_KILL_AT"

// killer counts the events of a run: every file written in the directory, every action applied at the broker.
type killer struct {
	at     int
	events []string
}

func (k *killer) event(name string) {
	if k.events = append(k.events, name); len(k.events) == k.at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal does not come back
	}
}

func (k *killer) wrote(rel string) error {
	k.event("file " + rel)
	return nil
}

func (k *killer) applied(a provision.Action) { k.event(a.Action + " " + a.Kind + " " + a.Name) }

// killable is main of the re-executed test binary: an operation that run knows, and the directory.
func killable() (code int, ok bool) {
	at, ok := os.LookupEnv(killAt)
	if !ok {
		return 0, false
	}
	k := &killer{}
	err := errors.New("want: OPERATION DIRECTORY")
	if k.at, _ = strconv.Atoi(at); len(os.Args) == 3 {
		err = k.run(testApp(context.Background()), os.Args[1], os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	if err := json.NewEncoder(os.Stdout).Encode(k.events); err != nil {
		return 1, true
	}
	return 0, true
}

func (k *killer) run(a *app, op, dir string) error {
	req := spaceRequest{dir: dir, name: "main", server: serverFlags{Timeout: waitFlag(patience)}}
	switch op {
	case "space":
		return k.space(a, req)
	case "scoped":
		return k.scoped(a, req, func(w *spaceWork) error {
			return w.provisionScoped(trust.ScopedKey{Name: "agent", Profile: "agent", Account: "space", Params: map[string]any{"reads": "mediated"}}, planFlags{})
		})
	case "deprovision-scoped":
		return k.scoped(a, req, func(w *spaceWork) error { return w.deprovisionScoped("agent", planFlags{}) })
	case "principal":
		return k.lifecycle(a, req, lifecyclePrincipal, paramFlags{Set: principalSet}, (*provision.Session).PlanLifecycle)
	case "deprovision":
		return k.lifecycle(a, req, lifecyclePrincipal, paramFlags{Set: principalSet}, (*provision.Session).PlanRemoval)
	case "endpoint":
		return k.lifecycle(a, req, lifecycleEndpoint, paramFlags{Params: []string{serveFile}}, (*provision.Session).PlanLifecycle)
	case "deprovision-endpoint":
		return k.lifecycle(a, req, lifecycleEndpoint, paramFlags{Params: []string{serveFile}}, (*provision.Session).PlanRemoval)
	}
	return k.trust(a, op, dir)
}

// space is "provision space main" with an observer of every file: the directory is made first, as the command would make it.
func (k *killer) space(a *app, req spaceRequest) error {
	c, topology, err := req.load(record{})
	if err != nil {
		return err
	}
	if _, _, err := trust.Ensure(a.ctx, req.dir, trust.Options{Now: a.now(), Rand: a.rand,
		MintSystem: a.mintSystem(c, topology, req.name), OnWrite: k.wrote}); err != nil {
		return err
	}
	w, err := a.prepare(req)
	if err != nil {
		return err
	}
	defer w.close()
	w.dir.Observe(k.wrote)
	w.after = k.applied
	plan, err := w.plan()
	if err != nil {
		return err
	}
	return w.apply(plan)
}

// scoped edits a scoped key with an observer of every file.
func (k *killer) scoped(a *app, req spaceRequest, edit func(*spaceWork) error) error {
	a.stdout = io.Discard
	w, err := a.open(req)
	if err != nil {
		return err
	}
	defer w.close()
	w.dir.Observe(k.wrote)
	k.event("opened")
	return edit(w)
}

// trust is a change of trust, as its command makes it; its events are also what every server was given.
func (k *killer) trust(a *app, op, dir string) error {
	a.watch = func(w *spaceWork) {
		w.dir.Observe(k.wrote)
		w.after = k.applied
	}
	flags := trustFlags{Space: "main", dirFlag: dirFlag{dir}, serverFlags: serverFlags{Timeout: waitFlag(patience)}}
	switch op {
	case "add-key":
		return (&rotateSigningKeyCmd{trustFlags: flags}).Run(a)
	case "remove-key":
		return (&rotateSigningKeyCmd{RemoveOld: true, trustFlags: flags}).Run(a)
	case "rotate-system":
		return (&rotateSystemCmd{flags}).Run(a)
	case "revoke":
		return (&revokeCmd{User: filepath.Join(filepath.Dir(dir), "alice.creds"), trustFlags: flags}).Run(a)
	}
	return fmt.Errorf("unknown operation %q", op)
}

func (k *killer) lifecycle(a *app, req spaceRequest, name string, flags paramFlags, planner planLifecycle) error {
	w, err := a.open(req)
	if err != nil {
		return err
	}
	defer w.close()
	in, err := w.holder(name, flags)
	if err != nil {
		return err
	}
	plan, err := w.lifecycle(planner, name, in)
	if err != nil {
		return err
	}
	k.event("planned")
	return plan.Apply(a.ctx, k.applied)
}

// child runs an operation that is killed after the given event, or not at all for 0; it returns the events of a complete run.
func child(t *testing.T, op, dir string, at int) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, op, dir)
	cmd.Env = append(os.Environ(), killAt+"="+strconv.Itoa(at))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if at == 0 {
		var events []string
		if err := errors.Join(err, json.Unmarshal(out, &events)); err != nil {
			t.Fatalf("%s: %v\n%s", op, err, errs.String())
		}
		return events
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s killed at %d: got %v, want killed\n%s", op, at, err, errs.String())
	}
	return nil
}
