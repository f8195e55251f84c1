package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// TestDoctorRepliesThatNeverEnd: a process that is flooded ends in time, with little memory.
func TestDoctorRepliesThatNeverEnd(t *testing.T) {
	t.Parallel()
	exe, err := exec.LookPath("cotalctl")
	if err != nil {
		t.Fatal(err)
	}
	s := natstest.Start(t)
	creds := doctorsUser(t, s)
	peak := func(code int, args ...string) (int64, time.Duration, string) {
		start := time.Now()
		args = append([]string{"doctor", "--contract", "cotal-v0.5", "--server", s.URL(), "--creds", creds, "--timeout", "2s"}, args...)
		cmd := exec.Command(exe, args...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
			t.Fatalf("exit %d, want %d: %v %s", cmd.ProcessState.ExitCode(), code, err, out)
		}
		return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10, time.Since(start), string(out)
	}
	quiet, _, _ := peak(0)
	for _, size := range []int{2, 1 << 10, 512 << 10} {
		flood := s.Connect(t, s.System.User(t, jwt.Permissions{}))
		ended, stop := make(chan struct{}), make(chan struct{})
		if _, err := flood.Subscribe("$SYS.REQ.SERVER.PING.VARZ", func(m *nats.Msg) {
			defer close(ended)
			for reply := bytes.Repeat([]byte("x"), size); ; {
				select {
				case <-stop:
					return
				default:
					if flood.Publish(m.Reply, reply) != nil {
						return
					}
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := flood.Flush(); err != nil {
			t.Fatal(err)
		}
		// One server would be a complete set before the flood begins; with two awaited only a bound can end it.
		used, took, out := peak(1, "--servers", "2")
		close(stop)
		<-ended
		flood.Close()
		t.Logf("replies of %d bytes: %v, %d MiB at most; no flood: %d MiB", size, took, used>>20, quiet>>20)
		if took > 6*time.Second || used > quiet+256<<20 {
			t.Errorf("replies of %d bytes: took %v and %d MiB, want at most 6s and %d MiB", size, took, used>>20, (quiet+256<<20)>>20)
		}
		if len(out) > 8<<10 || !strings.Contains(out, "replies") {
			t.Errorf("replies of %d bytes: got %d bytes of output: %s", size, len(out), out[:min(len(out), 2000)])
		}
	}
}
