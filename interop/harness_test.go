package interop

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// The stock programs, at the versions of go.mod.
const (
	natsPackage   = "github.com/nats-io/natscli/nats"
	serverPackage = "github.com/nats-io/nats-server/v2"
)

const patience = 60 * time.Second // for one process; the tests wait on events, this only ends a hung one

// programs are the executables that the tests drive, each built once.
type programs struct {
	nats, server string // stock
	product      string
}

// build compiles the stock programs of this module's go.mod, and the product from the parent module.
func build(t *testing.T) programs {
	t.Helper()
	bin := t.TempDir()
	compile := func(dir string, packages ...string) {
		// No symbols, no version stamp: neither is looked at, and both take time.
		cmd := exec.Command("go", append([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", bin + string(filepath.Separator)}, packages...)...)
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build %v: %v\n%s", packages, err, text)
		}
	}
	compile(".", natsPackage, serverPackage)
	compile("..", "./cmd/cotalctl")
	return programs{nats: filepath.Join(bin, "nats"), server: filepath.Join(bin, "nats-server"), product: filepath.Join(bin, "cotalctl")}
}

// space is an operator with one account, and the seed of the signing key that the account lists.
type space struct {
	operator    string // JWT
	account     string // public key
	accountJWT  string
	signingSeed []byte
}

func newSpace(t *testing.T) *space {
	t.Helper()
	create := func(kind nkeys.PrefixByte) (nkeys.KeyPair, string) {
		pair, err := nkeys.CreatePair(kind)
		if err != nil {
			t.Fatal(err)
		}
		key, err := pair.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return pair, key
	}
	operator, operatorKey := create(nkeys.PrefixByteOperator)
	_, account := create(nkeys.PrefixByteAccount)
	signing, signingKey := create(nkeys.PrefixByteAccount)
	s := &space{account: account}
	var errs [3]error
	operatorClaims, accountClaims := jwt.NewOperatorClaims(operatorKey), jwt.NewAccountClaims(account)
	accountClaims.Name = "main"
	accountClaims.SigningKeys.Add(signingKey)
	s.operator, errs[0] = operatorClaims.Encode(operator)
	s.accountJWT, errs[1] = accountClaims.Encode(operator)
	s.signingSeed, errs[2] = signing.Seed()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return s
}

// config is a configuration for a stock nats-server on a free port.
func (s *space) config() string {
	return fmt.Sprintf(`listen: "127.0.0.1:-1"
max_control_line: 65536
operator: %q
resolver: MEMORY
resolver_preload: { %s: %q }
`, s.operator, s.account, s.accountJWT)
}

var (
	listening = regexp.MustCompile(`Listening for client connections on (\S+)`)
	ready     = regexp.MustCompile(`Server is ready`)
)

// serve runs a nats-server process until the test ends and returns its URL, which its log tells.
func serve(t *testing.T, program, config string) string {
	t.Helper()
	url, _ := serveUntil(t, program, config)
	return url
}

// serveUntil is serve with a function that ends the process before the test ends.
func serveUntil(t *testing.T, program, config string) (url string, stop func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", file)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // ends the scan of a server that never gets ready
	url, text := scanLog(log)
	watchdog.Stop()
	drained := make(chan struct{})
	go func() { defer close(drained); _, _ = io.Copy(io.Discard, log) }()
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-drained
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	if url == "" {
		t.Fatalf("nats-server does not get ready:\n%s", text)
	}
	return url, stop
}

func scanLog(log io.Reader) (url, text string) {
	var seen bytes.Buffer
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		seen.Write(append(lines.Bytes(), '\n'))
		if m := listening.FindSubmatch(lines.Bytes()); m != nil {
			url = "nats://" + string(m[1])
		}
		if ready.Match(lines.Bytes()) {
			return url, seen.String()
		}
	}
	return "", seen.String()
}

// commandLine is a stock nats program with the user it acts for.
type commandLine struct {
	program, url, creds, home string
	inbox                     string // prefix of its inboxes, which its credential names
	timeout                   string // of one request; "" is long enough for any that is answered
}

// result is how a process ended.
type result struct {
	stdout, stderr string
	code           int
}

// command prepares one call. The environment is empty but for a home of the test's own: no context of the machine applies.
func (c *commandLine) command(ctx context.Context, args ...string) *exec.Cmd {
	common := []string{"--no-context", "--server", c.url, "--creds", c.creds, "--inbox-prefix", c.inbox, "--timeout", cmp.Or(c.timeout, "5s")}
	cmd := exec.CommandContext(ctx, c.program, slices.Concat(common, args)...)
	cmd.Env = []string{"HOME=" + c.home, "XDG_CONFIG_HOME=" + c.home, "NO_COLOR=1"}
	return cmd
}

// run waits for one call to end.
func (c *commandLine) run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return finish(t, c.command(ctx, args...))
}

// finish runs a process to its end.
func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Error(err) // not Fatal: a call may run beside the test
		return result{code: -1}
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
