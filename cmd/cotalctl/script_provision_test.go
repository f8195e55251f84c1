package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// oldserver VERSION VAR LOG: until the script ends, serve enough of the protocol that a client connects to a server which says
// that it is of this version; put its URL into VAR and write the first word of every line that a client sends to LOG.
func oldServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: oldserver VERSION VAR LOG")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	log, err := os.Create(ts.MkAbs(args[2]))
	ts.Check(err)
	ts.Defer(func() {
		l.Close()
		log.Close()
	})
	ts.Setenv(args[1], "nats://"+l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go greet(conn, args[0], log)
		}
	}()
}

// greet speaks as a server that lets everybody in and answers nothing but PING.
func greet(conn net.Conn, version string, log *os.File) {
	defer conn.Close()
	info := `INFO {"server_id":"NOLD","server_name":"old","version":%q,"proto":1,"headers":true,"max_payload":1048576,"nonce":"abcdefghijk"}`
	if _, err := fmt.Fprintf(conn, info+"\r\n", version); err != nil {
		return
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		verb, _, _ := strings.Cut(lines.Text(), " ")
		fmt.Fprintln(log, verb)
		if verb != "PING" {
			continue
		}
		if _, err := fmt.Fprint(conn, "PONG\r\n"); err != nil {
			return
		}
	}
}

// holdlock FILE: this process, which is not the tool's, holds the lock file until the script ends.
func holdLock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: holdlock FILE")
	}
	l := flock.New(ts.MkAbs(args[0]))
	ok, err := l.TryLock()
	ts.Check(err)
	if !ok {
		ts.Fatalf("%s is held by another process", args[0])
	}
	ts.Defer(func() { _ = l.Unlock() })
}

// stockserver DIR CONFIG VAR: run a separately built nats-server on CONFIG, which is of DIR, until the script ends, and put its
// URL into VAR once the directory says it.
func stockServerOn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: stockserver DIR CONFIG VAR")
	}
	bin, err := natstest.BuildStock()
	ts.Check(err)
	cmd := exec.Command(bin, "-c", ts.MkAbs(args[1]))
	log, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	lines := bufio.NewScanner(log)
	for ready := false; !ready; ready = strings.Contains(lines.Text(), "Server is ready") {
		if !lines.Scan() {
			ts.Fatalf("the server ended: %v", cmd.Wait())
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, log)
		_ = cmd.Wait()
		close(ended)
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	held, running := acquire(ts, args[0])
	if held != nil {
		ts.Fatalf("the server is not found: got the lock of %s (%v)", args[0], held.Release())
	}
	ts.Setenv(args[2], running.URL)
}

// acquire waits until the stores of a directory are free or their broker says where it listens.
func acquire(ts *testscript.TestScript, dir string) (*trust.BrokerLock, *trust.Running) {
	d, err := trust.Open(ts.MkAbs(dir))
	ts.Check(err)
	held, running, err := d.AcquireBroker(context.Background(), patience)
	ts.Check(err)
	return held, running
}

// killstock DIR: end the stock server of DIR as kill -9 does, and see that its stores are free; the ports file stays behind.
func killStock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: killstock DIR")
	}
	pid, err := strconv.Atoi(ts.ReadFile(filepath.Join(args[0], "nats-server.pid")))
	ts.Check(err)
	p, err := os.FindProcess(pid)
	ts.Check(err)
	ts.Check(p.Kill())
	held, _ := acquire(ts, args[0])
	if held == nil {
		ts.Fatalf("process %d is killed, and still found", pid)
	}
	ts.Check(held.Release())
}

// snapshot DIR OUT: list every file of a space directory with a digest of it, but for locks and the broker's stores.
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: snapshot DIR OUT")
	}
	var out strings.Builder
	root := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case relErr != nil:
			return relErr
		case e.IsDir() && (rel == "jetstream" || rel == "resolver"):
			return fs.SkipDir
		case e.IsDir() || strings.HasSuffix(rel, "lock"):
			return nil
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&out, "%x %s\n", sha256.Sum256(data), filepath.ToSlash(rel))
		return err
	}))
	if out.Len() == 0 {
		ts.Fatalf("%s holds no files", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out.String()), 0o600))
}
