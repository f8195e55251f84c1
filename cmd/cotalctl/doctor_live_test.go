package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// TestDoctorWatch: a live view outlives its server, tells what another one at the same address lacks, and ends with the exit code of
// what it saw last.
func TestDoctorWatch(t *testing.T) {
	t.Parallel()
	dir, d := provisioned(t, "main")
	opts := nodeOptions(t, d, "n1", freeRoutes(t, 1)[0])
	opts.Cluster = server.ClusterOpts{}
	opts.StoreDir = filepath.Join(dir, "jetstream") // where the space is
	small := opts.Clone()
	s := startNode(t, opts)
	url := s.ClientURL()
	port := s.Addr().(*net.TCPAddr).Port

	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	var errs bytes.Buffer
	a := &app{ctx: ctx, stdout: writer, stderr: &errs, now: time.Now, rand: rand.Reader, given: map[string]bool{"dir": true}}
	c := &doctorCmd{Server: url, Watch: true, Every: leastEvery, Servers: 1, Snapshot: filepath.Join(dir, "last.json"),
		timeoutFlag: timeoutFlag{waitFlag(2 * time.Second)}, dirFlag: dirFlag{dir}, doctorOutputFlag: doctorOutputFlag{"text"}}
	ended := make(chan error, 1)
	go func() {
		err := c.Run(a)
		writer.CloseWithError(io.EOF)
		ended <- err
	}()
	lines := bufio.NewScanner(reader)
	await := func(parts ...string) {
		t.Helper()
		for lines.Scan() {
			missing := 0
			for _, part := range parts {
				if !strings.Contains(lines.Text(), part) {
					missing++
				}
			}
			if missing == 0 {
				return
			}
			t.Logf("passed over %s", lines.Text())
		}
		<-ended
		t.Fatalf("no line with %q: %s", parts, errs.String())
	}
	time.AfterFunc(patience, cancel) // a line that does not come ends the test
	await("Z FIT: ", " passed on 1 server")
	s.Shutdown()
	s.WaitForShutdown()
	await(" LOST: server "+url+": ", "hint: ")
	small.Port, small.MaxControlLine = port, 4096
	startNode(t, small)
	await(" NOT FIT: 1 check failed on n1; failed: D004 max_control_line on n1")
	cancel()
	if err := <-ended; err == nil || codeOf(err) != exitFindings {
		t.Errorf("got %v, want the exit code of the last round", err)
	}
	if out, _ := command(t, 3, "doctor", "--dir", dir, "--from", c.Snapshot, "--servers", "1"); !strings.Contains(out, "\nFAIL D004 ") {
		t.Errorf("the snapshot of the last round, got\n%s", out)
	}
}
