package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// Errors as a real broker and nats.go give them.
func TestExplainRealErrors(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.MaxControlLine = 4096 })
	var perms jwt.Permissions
	for i := range 400 {
		perms.Pub.Allow.Add(fmt.Sprintf("subject.%d.of.many", i))
	}
	secure := natstest.Start(t, func(o *server.Options) { o.TLS, o.TLSConfig, o.TLSTimeout = true, selfSigned(t), 5 })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "nats://" + closed.Addr().String()
	closed.Close()
	good := s.User(t, jwt.Permissions{})
	cases := []struct {
		name, url string
		opts      []nats.Option
		want      string
	}{
		{"control line", s.URL(), []nats.Option{s.User(t, perms).Option()}, "larger than"}, // with the broker's words, or without them where the client was still writing
		{"other operator", s.URL(), []nats.Option{secure.User(t, jwt.Permissions{}).Option()}, "refuses the credential"},
		{"no credential", s.URL(), nil, "refuses the credential"},
		{"nobody listens", nobody, []nats.Option{good.Option()}, "no server is reachable"},
		{"untrusted certificate", secure.URL(), []nats.Option{good.Option()}, "TLS certificate is not trusted"},
		{"no TLS there", s.URL(), []nats.Option{good.Option(), nats.Secure()}, "the server offers none"},
		{"no file", s.URL(), []nats.Option{nats.UserCredentials("absent.creds")}, "does not exist"},
	}
	for _, tt := range cases {
		nc, err := nats.Connect(tt.url, tt.opts...)
		if err == nil {
			nc.Close()
			t.Errorf("%s: connected, want an error", tt.name)
			continue
		}
		oneLine(t, tt.name, doctor.Explain(err), tt.want)
	}
	s.Connect(t, good) // the positive control: the same server takes a small credential of its own
}

func TestExplainValues(t *testing.T) {
	cases := []struct {
		err  error
		want string
	}{
		{nats.ErrAuthExpired, "has expired"},
		{nats.ErrAuthRevoked, "was revoked"},
		{nats.ErrAccountAuthExpired, "the account of the credential has expired"},
		{nats.ErrSecureConnRequired, "requires TLS"},
		{nats.ErrTimeout, "did not answer in time"},
		{&net.DNSError{Err: "no such host", Name: "nats.example", IsNotFound: true}, "no address is known for the host name"},
		{fmt.Errorf("gather: %w", context.DeadlineExceeded), "did not answer in time"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "did not answer in time"},
		{nats.ErrNoResponders, "nothing answers this request"},
		{fmt.Errorf("%w: publish", nats.ErrPermissionViolation), "lacks a permission"},
		{nats.ErrConnectionClosed, "closed the connection"},
	}
	for _, tt := range cases {
		oneLine(t, tt.err.Error(), doctor.Explain(tt.err), tt.want)
	}
	if got := doctor.Explain(errors.New("two\n lines")); got != "two lines" {
		t.Errorf("unknown error: got %q", got)
	}
	if got := doctor.Explain(nil); got != "" {
		t.Errorf("nil: got %q", got)
	}
}

func oneLine(t *testing.T, name, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) || !strings.Contains(got, "; hint: ") || strings.Contains(got, "\n") {
		t.Errorf("%s: got %q, want one line that says %q and a hint", name, got, want)
	}
}

func selfSigned(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
