package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/trust"
	"github.com/cotalctl/cotalctl/matrix"
)

// listing is every file of a space directory but for locks and for what a server that was started tells late.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, "lock") || strings.HasSuffix(path, ".ports") {
			return err
		}
		info, err := e.Info()
		if err == nil {
			fmt.Fprintln(&out, path, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil || out.Len() == 0 {
		t.Fatalf("%s: %v, %d bytes listed", dir, err, out.Len())
	}
	return out.String()
}

func spaceLog(t *testing.T, d *trust.Dir, space string) []trust.LogEntry {
	t.Helper()
	entries, broken, err := d.Log(space)
	if err != nil || broken > 0 {
		t.Fatalf("log of %s: %d broken lines, %v", space, broken, err)
	}
	return entries
}

// TestGateOfCluster: with one server of three down, or one of three too small, nothing is provisioned or minted; the right one is named.
func TestGateOfCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes its time")
	}
	t.Parallel()
	dir, d := provisioned(t, "first")
	servers, urls := cluster(t, d)
	creds := filepath.Join(t.TempDir(), "alice.creds")
	args := []string{"--dir", dir, "--server", urls, "--servers", "3"}
	mint := append([]string{"mint", "probe", "-o", creds}, args...)
	space := append([]string{"provision", "space", "main", "--replicas", "1"}, args...)
	refused := func(want string, add ...string) {
		t.Helper()
		before := listing(t, dir)
		for _, args := range [][]string{mint, space} {
			began := time.Now()
			_, stderr := command(t, 3, append(slices.Clone(args), add...)...)
			if !strings.Contains(stderr, want) || strings.Count(stderr, "FAIL") != 1 {
				t.Errorf("%v: got %s, want one failure with %q", args[:2], stderr, want)
			}
			t.Logf("%s %s refused after %v", args[0], args[1], time.Since(began))
		}
		if _, err := os.Stat(creds); err == nil {
			t.Fatal("a credential was written")
		}
		if after := listing(t, dir); after != before {
			t.Errorf("the directory was written to:\n%s\n%s", before, after)
		}
	}
	command(t, 0, mint...) // the control
	if log := spaceLog(t, d, "first"); len(log) != 1 || log[0].Servers != 3 || log[0].Event != trust.LogDoctorPassed {
		t.Errorf("log, got %+v, want three servers that passed", log)
	}
	if err := os.Remove(creds); err != nil {
		t.Fatal(err)
	}

	small := servers[1]
	reload := func(line int32) {
		t.Helper()
		opts := nodeReload(t, small)
		opts.MaxControlLine = line
		if err := small.ReloadOptions(opts); err != nil {
			t.Fatal(err)
		}
	}
	reload(9000)
	refused("FAIL D004 max_control_line on n2: got 9000, want >= ")
	reload(trust.DefaultMaxControlLine)
	servers[2].Shutdown()
	servers[2].WaitForShutdown()
	refused("missing: n3", "--timeout", "1s")
	command(t, 0, append(mint, "--skip-doctor", "n3 is being replaced, ticket 4711")...)
	log := spaceLog(t, d, "first")
	if len(log) != 2 || log[1].Event != trust.LogSkipDoctor || log[1].Reason != "n3 is being replaced, ticket 4711" || len(log[1].Skipped) == 0 {
		t.Errorf("log, got %+v, want the reason", log)
	}
}

// nodeReload is the configuration that a node runs with, to be changed.
func nodeReload(t *testing.T, s *server.Server) *server.Options {
	t.Helper()
	opts, ok := nodeOpts.Load(s)
	if !ok {
		t.Fatal("a server that startNode did not start")
	}
	return opts.(*server.Options).Clone()
}

// TestGateExpired: an expired doctor's credential is named with its time, before any server is asked.
func TestGateExpired(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "D")
	past := time.Now().Add(-31 * 24 * time.Hour)
	ct, err := matrix.Embedded(defaultContract)
	if err != nil {
		t.Fatal(err)
	}
	topology, _ := ct.Topology("")
	a := &app{ctx: bounded(t), now: func() time.Time { return past }, rand: rand.Reader}
	if _, _, err = trust.Ensure(a.ctx, dir, trust.Options{Now: past, Rand: a.rand, MintSystem: a.mintSystem(ct, topology, "main")}); err != nil {
		t.Fatal(err)
	}
	command(t, 0, "provision", "space", "main", "--dir", dir) // the broker in this process asks for no system credential
	before := listing(t, dir)
	mint := []string{"mint", "probe", "--dir", dir, "--server", "nats://127.0.0.1:1", "-o", filepath.Join(dir, "x.creds")}
	_, stderr := command(t, 1, mint...)
	want := "creds/doctor.creds: the doctor's credential expired at " + past.Add(30*24*time.Hour).UTC().Format(time.RFC3339)
	if !strings.Contains(stderr, want) || !strings.Contains(stderr, "hint: make the system credentials anew: cotalctl rotate system") {
		t.Errorf("got %s, want %q", stderr, want)
	}
	_, stderr = command(t, 1, "provision", "space", "main", "--dir", dir, "--server", "nats://127.0.0.1:1")
	if !strings.Contains(stderr, want) {
		t.Errorf("got %s, want %q", stderr, want)
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the directory was written to:\n%s\n%s", before, after)
	}
	command(t, 0, append(mint, "--skip-doctor", "it is rotated tomorrow")...) // nobody is connected to
}

// TestGateJudges: what is no floor refuses nothing, and is said; what could not look is no pass; every id is one of the doctor's.
func TestGateJudges(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range doctor.Checks() {
		known[c.ID] = true
	}
	for _, id := range gateChecks {
		if !known[id] {
			t.Errorf("%s is no check of the doctor", id)
		}
	}
	n1 := "n1"
	row := func(id string, s doctor.Status) doctor.Result {
		return doctor.Result{ID: id, Title: "title", Status: s, Server: &n1, Got: "this", Want: "that", Hint: "do it"}
	}
	for name, tc := range map[string]struct {
		checks []doctor.Result
		code   int
		text   string
	}{
		"all passed": {[]doctor.Result{row("D001", doctor.Pass), row("D004", doctor.Pass)}, exitClean, ""},
		"a floor": {[]doctor.Result{row("D001", doctor.Pass), row("D004", doctor.Fail)}, exitFindings,
			"cotalctl: FAIL D004 title on n1: got this, want that\n"},
		"a skip": {[]doctor.Result{row("D001", doctor.Pass), row("D004", doctor.Skip)}, exitFailed, "cotalctl: SKIP D004"},
		"both":   {[]doctor.Result{row("D001", doctor.Skip), row("D004", doctor.Fail)}, exitFindings, "cotalctl: SKIP D001"},
		"something else": {[]doctor.Result{row("D001", doctor.Pass), row("D999", doctor.Fail), row("D998", doctor.Skip)}, exitClean,
			"cotalctl: warning: the doctor says what refuses nothing here\ncotalctl: FAIL D999"},
		"no fan-out": {[]doctor.Result{row("D004", doctor.Pass)}, exitFailed, ""},
		"nothing":    {nil, exitFailed, ""},
	} {
		var errs bytes.Buffer
		a := &app{ctx: t.Context(), stderr: &errs}
		err := a.refuseUnfit(&doctor.Report{Schema: doctor.ReportSchema, Checks: tc.checks})
		code := exitClean
		if err != nil {
			code = codeOf(err)
		}
		if code != tc.code || !strings.Contains(errs.String(), tc.text) || tc.text == "" && errs.Len() > 0 {
			t.Errorf("%s: got exit %d, %v, %q, want %d, %q", name, code, err, errs.String(), tc.code, tc.text)
		}
	}
}

// TestGateTakes: a credential that is larger than every fixture is held against the servers that answered, before it is written.
func TestGateTakes(t *testing.T) {
	t.Parallel()
	dir, d := provisioned(t, "main")
	opts := nodeOptions(t, d, "n1", freeRoutes(t, 1)[0])
	opts.MaxControlLine, opts.Cluster = 20_000, server.ClusterOpts{}
	s := startNode(t, opts)
	var channels []string
	for i := range 120 {
		channels = append(channels, fmt.Sprintf("a-channel-with-a-long-name-%03d", i))
	}
	file := filepath.Join(t.TempDir(), "big.creds")
	mint := []string{"mint", "agent", "--dir", dir, "--set", "owner=local", "--set", "actor=alice", "--set", "uid=" + strings.Repeat("a", 26),
		"--set", "allowSubscribe=" + strings.Join(channels, ","), "--gate", "64000", "-o", file}
	_, stderr := command(t, 3, append(mint, "--server", s.ClientURL())...)
	if !strings.Contains(stderr, "FAIL D004 max_control_line on n1: got 20000, want >= ") {
		t.Errorf("got %s, want the server's bound", stderr)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the credential was written: %v", err)
	}
	if log := spaceLog(t, d, "main"); len(log) != 0 {
		t.Errorf("log, got %+v, want nothing of what was refused", log)
	}
	if issued, err := d.Issued("main", time.Now()); err != nil || len(issued) != 0 {
		t.Errorf("issued, got %v, %v, want nothing", issued, err)
	}
	command(t, 0, mint...)
}

// TestLoggedURLs: no user information, no key material, bounded.
func TestLoggedURLs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"nats://u:secret@a:4222,tls://b:4222": "nats://a:4222,tls://b:4222",
		"u:secret@a:4222":                     "a:4222",
		"a:4222":                              "a:4222",
		"nats://u:p@ss@a":                     "nats://a",
		"ws://a/eyJhbGciOiJub25lIn0.e30.x":    "ws://a/[key material]",
	} {
		if got := loggedURLs(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := loggedURLs(strings.Repeat("nats://ü:4222,", 500)); len(got) > mostURLs {
		t.Errorf("got %d bytes, want at most %d", len(got), mostURLs)
	}
}

// TestGatePage runs every command of docs/doctor-gate.md in its order, with the exit code that stands there; what it shows of a log reads
// as one.
func TestGatePage(t *testing.T) {
	data, err := os.ReadFile("../../docs/doctor-gate.md")
	if err != nil {
		t.Fatal(err)
	}
	page, ran := string(data), 0
	t.Chdir(t.TempDir())
	command(t, 0, "provision", "space", "main")
	visit(t, ".cotal", func(d *trust.Dir, url string) {
		for _, block := range fenced.FindAllStringSubmatch(page, -1) {
			for line := range strings.Lines(block[2]) {
				line, remark, _ := strings.Cut(strings.ReplaceAll(line, "nats://127.0.0.1:4222", url), "    # exit ")
				want := 0
				if remark != "" {
					want = int(remark[0] - '0')
				}
				args := quoted(line)
				if len(args) < 3 || args[0] != "cotalctl" {
					t.Fatalf("line %q is no command", line)
				}
				command(t, want, args[1:]...)
				ran++
			}
		}
		if log := spaceLog(t, d, "main"); len(log) != 2 || log[1].Event != trust.LogSkipDoctor {
			t.Errorf("log of main, got %+v, want one that passed and one that was skipped", log)
		}
		_, shown, _ := strings.Cut(page, "```json\n")
		shown, _, _ = strings.Cut(shown, "```")
		if err := os.WriteFile(filepath.Join(".cotal", "spaces", "second", "log.jsonl"), []byte(shown), 0o600); err != nil {
			t.Fatal(err)
		}
		if log := spaceLog(t, d, "second"); len(log) != strings.Count(shown, "\n") || len(log) < 2 {
			t.Errorf("the page shows %d lines of a log, want %d", len(log), strings.Count(shown, "\n"))
		}
	})
	if ran < 6 {
		t.Errorf("ran %d commands, want at least 6", ran)
	}
}

// quoted splits a line of a shell that knows single quotes only.
func quoted(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// TestGateOfSeveralURLs: of two URLs that lead to two deployments, whichever the doctor reached says nothing of the other one. A server that it
// did not look at, such as one that was started in between, is written to by no command.
func TestGateOfSeveralURLs(t *testing.T) {
	t.Parallel()
	dir, d := provisioned(t, "main")
	start := func(name string, line int32) *server.Server {
		opts := nodeOptions(t, d, name, freeRoutes(t, 1)[0])
		opts.MaxControlLine, opts.Cluster = line, server.ClusterOpts{}
		return startNode(t, opts)
	}
	fit, unfit := start("fit", trust.DefaultMaxControlLine), start("unfit", 9000)
	creds := filepath.Join(t.TempDir(), "probe.creds")
	mint := []string{"mint", "probe", "--dir", dir, "-o", creds, "--server"}
	before := listing(t, dir)
	for range 4 { // the client library takes the URLs in any order
		_, stderr := command(t, 3, append(mint, fit.ClientURL()+","+unfit.ClientURL(), "--timeout", "500ms")...)
		if !strings.Contains(stderr, "FAIL D001") {
			t.Errorf("got %s, want a server that is missing", stderr)
		}
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the directory was written to: %s", cmp.Diff(before, after))
	}
	command(t, 0, append(mint, fit.ClientURL())...) // the control

	ct, err := matrix.Embedded(defaultContract)
	if err != nil {
		t.Fatal(err)
	}
	topology, _ := ct.Topology("")
	a := &app{ctx: bounded(t), now: time.Now, rand: rand.Reader, stderr: t.Output()}
	dial := &dialer{app: a, dir: d, contract: ct, topology: topology, space: "main", url: fit.ClientURL(), timeout: patience}
	if _, err := dial.fit(fitRequest{command: "test"}); err != nil {
		t.Fatal(err)
	}
	reach := func() error {
		nc, err := dial.system(ct.Roles[contract.RoleDoctor])
		if err == nil {
			nc.Close()
		}
		return err
	}
	if err := reach(); err != nil {
		t.Error(err)
	}
	dial.url = unfit.ClientURL()
	if err := reach(); err == nil || !strings.Contains(err.Error(), "the doctor has not looked at") {
		t.Errorf("another server: got %v, want a refusal", err)
	}
}

// TestDoctorFlagsThatStateNothing: a number or an address that asks for nothing is no way to pass, such as that of an unset variable.
func TestDoctorFlagsThatStateNothing(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--servers=0", "--servers=-5", "--cluster=west=0", "--cluster=west=-1", "--cluster==1", "--address==", "--address=n1=",
		"--address=n1=host", "--address=n1=:4222", "--address=n1=host:0", "--address=n1=host:x", "--address==host:1"} {
		for _, args := range [][]string{{"doctor", flag}, {"doctor", flag, "--from", "none.json"}} {
			if _, stderr := command(t, 2, args...); !strings.Contains(stderr, strings.SplitN(flag, "=", 2)[0]) {
				t.Errorf("%v: got %s, want the flag named", args, stderr)
			}
		}
	}
	for _, address := range []string{"host:1", "[::1]:4222", "nats://host:4222", "tls://host:4222/"} {
		if err := checkAddress("n1", address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestFirstLineThatNeverEnds: what listens there is not read for as long as the command waits.
func TestFirstLineThatNeverEnds(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	sent := make(chan int, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		n, part := 0, bytes.Repeat([]byte("a"), 1<<16)
		for err == nil {
			var wrote int
			wrote, err = conn.Write(part)
			n += wrote
		}
		sent <- n
	}()
	dir := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", dir)
	_, stderr := command(t, 1, "doctor", "--dir", dir, "--server", "nats://"+listener.Addr().String(), "--timeout", "20s")
	if !strings.Contains(stderr, "first line has more than") {
		t.Errorf("got %s, want the line named", stderr)
	}
	if n := <-sent; n > 64<<20 {
		t.Errorf("%d bytes were read", n)
	}
}
