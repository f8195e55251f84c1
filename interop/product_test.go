package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// product is the command of the parent module with the directory that it works on.
type product struct {
	program, dir, home string
}

func newProduct(t *testing.T, built programs) *product {
	t.Helper()
	work := t.TempDir()
	return &product{program: built.product, dir: filepath.Join(work, "D"), home: work}
}

func (p *product) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir, cmd.Env = p.home, []string{"HOME=" + p.home}
	return cmd
}

// run waits for one call to end; "--dir" is added.
func (p *product) run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return finish(t, p.command(ctx, append(args, "--dir", p.dir)...))
}

// must is run for a call that has to succeed.
func (p *product) must(t *testing.T, args ...string) string {
	t.Helper()
	r := p.run(t, args...)
	if r.code != 0 {
		t.Fatalf("cotalctl %s, got exit %d and %q, want 0", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

// plan carries out a plan and expects one verb in all of it.
func (p *product) plan(t *testing.T, want string, args ...string) {
	t.Helper()
	var plan struct {
		Actions []struct{ Kind, Name, Action string }
	}
	if err := json.Unmarshal([]byte(p.must(t, append(args, "-o", "json")...)), &plan); err != nil {
		t.Fatal(err)
	}
	if len(plan.Actions) == 0 {
		t.Fatalf("cotalctl %s: got no action, want some", strings.Join(args, " "))
	}
	for _, a := range plan.Actions {
		if a.Action != want {
			t.Errorf("cotalctl %s: %s %s, got %q, want %q", strings.Join(args, " "), a.Kind, a.Name, a.Action, want)
		}
	}
}

// principal is a holder of the agent profile who may read team.> and write team.backend.
type principal struct {
	owner, actor, uid string
}

func newPrincipal(actor string) principal {
	letters := strings.Repeat(actor[:1], 26)
	return principal{owner: "u_" + letters, actor: actor, uid: letters}
}

func (p principal) flags() []string {
	return []string{"--space", "main", "--set", "owner=" + p.owner, "--set", "actor=" + p.actor, "--set", "uid=" + p.uid, "--set", "allowSubscribe=team.>"}
}

// durable is the name of a principal's own consumer.
func (p principal) durable() string { return "dm_" + p.owner + "-" + p.actor + "-" + p.uid }

// chat is the subject of what the principal says in a channel.
func (p principal) chat(channel string) string {
	return "cotal.main.chat." + p.owner + "." + p.actor + "." + channel
}

// dm is the subject of a message from one principal to another.
func (p principal) dm(to principal) string {
	return "cotal.main.inst." + to.owner + "." + to.actor + "." + p.owner + "." + p.actor
}

var minted = regexp.MustCompile(`, user (U[A-Z2-7]{55}),`)

// mint makes a principal's credential and the stock program that uses it, which has to be told the inbox of its key.
func (p *product) mint(t *testing.T, program string, who principal) *commandLine {
	t.Helper()
	file := filepath.Join(p.home, who.actor+".creds")
	said := p.must(t, slices.Concat([]string{"mint", "agent"}, who.flags(), []string{"--set", "allowPublish=team.backend", "-o", file})...)
	m := minted.FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("cotalctl mint, got %q, want the user key", said)
	}
	return &commandLine{program: program, home: t.TempDir(), creds: file, inbox: "_INBOX_" + m[1]}
}

// broker runs the product's own broker as a process and returns its URL, the first line that it prints. stop ends it as an
// operator would and returns its exit code.
func (p *product) broker(t *testing.T) (url string, stop func() int) {
	t.Helper()
	cmd := p.command(context.WithoutCancel(t.Context()), "broker", "run", "--dir", p.dir, "--listen", "127.0.0.1:-1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder // read after Wait only
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	watchdog.Stop()
	stop = sync.OnceValue(func() int {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode()
	})
	t.Cleanup(func() { stop() })
	if err != nil {
		code := stop()
		t.Fatalf("cotalctl broker run: exit %d before it was ready\n%s", code, &log)
	}
	return strings.TrimSpace(line), stop
}

// configuration is what "broker config" prints, for any free port.
func (p *product) configuration(t *testing.T) string {
	t.Helper()
	return p.must(t, "broker", "config", "--listen", "127.0.0.1:-1")
}
