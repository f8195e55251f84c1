package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// TestControlLineIsNamed: a server of a small max_control_line refuses the credentials of provisioning. The doctor says so first; where
// it was skipped, the message says how large the line is and what the server must take, and with that bound it takes them.
func TestControlLineIsNamed(t *testing.T) {
	t.Parallel()
	dir, d := provisioned(t, "main")
	opts := nodeOptions(t, d, "n1", freeRoutes(t, 1)[0])
	opts.MaxControlLine, opts.Cluster = 2048, server.ClusterOpts{}
	asked := opts.Clone()
	s := startNode(t, opts)
	provision := []string{"provision", "space", "main", "--dir", dir, "--server", s.ClientURL(), "--timeout", patience.String()}
	if _, stderr := command(t, 3, provision...); !strings.Contains(stderr, "FAIL D004 max_control_line on n1: got 2048, want >= ") {
		t.Errorf("the doctor, got:\n%s", stderr)
	}
	provision = append(provision, "--skip-doctor", "what the server itself says is looked at")
	_, stderr := command(t, 1, provision...)
	m := regexp.MustCompile(`(?:larger than the server's max_control_line, got (\d+) bytes|a CONNECT line of (\d+) bytes was being written)`).FindStringSubmatch(stderr)
	hint := regexp.MustCompile(`hint: set max_control_line to at least (\d+) on every server`).FindStringSubmatch(stderr)
	if m == nil || hint == nil {
		t.Fatalf("the refused login, got:\n%s", stderr)
	}
	var line, bound int
	if _, err := fmt.Sscan(m[1]+m[2]+" "+hint[1], &line, &bound); err != nil || line <= 2048 || bound != line+1024 {
		t.Fatalf("line of %d bytes, bound %d, %v, want more than 2048 and 1024 more", line, bound, err)
	}
	asked.MaxControlLine = int32(line + 1024)
	if err := s.ReloadOptions(asked); err != nil {
		t.Fatal(err)
	}
	command(t, 0, provision...)
}
