package main

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// doctorsUser is a credential that a doctor needs, as a file.
func doctorsUser(t *testing.T, s *natstest.Server, edit ...func(*jwt.UserClaims)) string {
	t.Helper()
	var p jwt.Permissions
	for _, z := range []string{"VARZ", "JSZ", "ROUTEZ", "GATEWAYZ", "LEAFZ", "ACCOUNTZ", "CONNZ", "STATSZ"} {
		p.Pub.Allow.Add("$SYS.REQ.SERVER.PING." + z)
	}
	p.Pub.Allow.Add("$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP")
	minted := func(c *jwt.UserClaims) {
		c.Sub.Allow.Add("_INBOX_" + c.Subject + ".>")
		c.Expires = time.Now().Add(time.Hour).Unix()
		c.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard)
	}
	return s.System.User(t, p, append([]func(*jwt.UserClaims){minted}, edit...)...).File(t)
}

// TestDoctorBadInput: what is wrong with the input is named, in time, and nothing is called fit. The control has nothing wrong.
func TestDoctorBadInput(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	good := doctorsUser(t, s)
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "nats://" + dead.Addr().String()
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	past := func(c *jwt.UserClaims) { c.Expires = time.Now().Add(-time.Hour).Unix() }
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"control", []string{"--server", s.URL(), "--creds", good}, 0, ""},
		{"no credential", []string{"--server", s.URL()}, 1, "no system credential"},
		{"no credential file", []string{"--server", s.URL(), "--creds", t.TempDir() + "/none.creds"}, 1, "none.creds"},
		{"a data account", []string{"--server", s.URL(), "--creds", s.User(t, jwt.Permissions{}).File(t)}, 1,
			"no server listens for $SYS.REQ.SERVER.PING.VARZ in the account of this credential"},
		{"expired", []string{"--server", s.URL(), "--creds", doctorsUser(t, s, past)}, 1, "expired"},
		{"a dead entry", []string{"--server", gone + "," + s.URL(), "--creds", good}, 0, ""},
		{"dead entries alone", []string{"--server", gone, "--creds", good}, 1, "no server is reachable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			out, stderr := command(t, tt.code, append([]string{"doctor", "--contract", "cotal-v0.5", "--timeout", "2s"}, tt.args...)...)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if !strings.Contains(out+stderr, tt.want) {
				t.Errorf("got %s%s, want it to say %q", out, stderr, tt.want)
			}
		})
	}
}

// severed relays connections to a server, each until the client asks the first question.
func severed(t *testing.T, s *natstest.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go relay(client, s.Addr().String())
		}
	}()
	return "nats://" + l.Addr().String()
}

func relay(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(client, server) }()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil || bytes.Contains(buf[:n], []byte("$SYS.REQ.SERVER.PING.")) {
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func TestDoctorServerClosesWhileGathering(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	start := time.Now()
	out, stderr := command(t, 1, "doctor", "--contract", "cotal-v0.5", "--server", severed(t, s), "--creds", doctorsUser(t, s), "--timeout", "5s")
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("took %v: the end of the connection was waited for", took)
	}
	if want := "the connection was lost while gathering"; !strings.Contains(out+stderr, want) {
		t.Errorf("got %s%s, want it to say %q", out, stderr, want)
	}
}
