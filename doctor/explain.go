package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/nats-io/nats.go"
)

// Explain turns an error of a connect or of a request into one line: what happened, then what to do about it. It returns the
// error's own text, on one line, where it knows no more, and "" for nil. It never shows a credential.
func Explain(err error) string {
	if err == nil {
		return ""
	}
	for _, e := range explanations() {
		if e.match(err) {
			return e.what + "; hint: " + e.hint
		}
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

type explanation struct {
	match      func(error) bool
	what, hint string
}

// is matches an error of nats.go by value, or by its text where the broker's own words come through.
func is(target error) func(error) bool {
	text := strings.TrimPrefix(target.Error(), "nats: ")
	return func(err error) bool {
		return errors.Is(err, target) || strings.Contains(strings.ToLower(err.Error()), text)
	}
}

func says(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(strings.ToLower(err.Error()), text) }
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func untrusted(err error) bool {
	return as[*tls.CertificateVerificationError](err) || as[x509.UnknownAuthorityError](err) || as[x509.HostnameError](err)
}

// explanations are tried in order, the special before the general.
func explanations() []explanation {
	return append(credentialErrors(), networkErrors()...)
}

func credentialErrors() []explanation {
	return []explanation{
		{says("maximum control line exceeded"), "the credential is larger than the broker's max_control_line",
			"raise max_control_line in every server's configuration to the largest CONNECT line plus 1024 bytes"},
		{is(nats.ErrAccountAuthExpired), "the account of the credential has expired", "renew the account JWT and push it to the resolver"},
		{is(nats.ErrAuthExpired), "the credential has expired", "mint a new one"},
		{is(nats.ErrAuthRevoked), "the credential was revoked", "mint a new one, if its holder may still connect"},
		{is(nats.ErrAuthorization), "the broker refuses the credential (authorization violation)",
			"it may be expired, revoked, not yet valid, of another operator or account, or not allowed on this connection type"},
		{is(nats.ErrPermissionViolation), "the credential lacks a permission for this operation", "use a credential of the profile that may do it"},
		{is(nats.ErrMaxAccountConnectionsExceeded), "the account has no connection left", "close connections of the account, or raise its limit"},
		{is(nats.ErrMaxConnectionsExceeded), "the server has no connection left", "close connections, or raise max_connections"},
		{func(err error) bool { return errors.Is(err, fs.ErrNotExist) }, "a credential or certificate file does not exist",
			"check the paths that were given"},
	}
}

func networkErrors() []explanation {
	return []explanation{
		{is(nats.ErrSecureConnRequired), "the server requires TLS", "use a tls:// URL, and --tlsca with the server's certificate authority"},
		{is(nats.ErrSecureConnWanted), "TLS was asked for and the server offers none", "use a nats:// URL, or turn on TLS at the server"},
		{untrusted, "the server's TLS certificate is not trusted", "pass its certificate authority with --tlsca, and use the host name of the certificate"},
		{is(nats.ErrNoServers), "no server is reachable at the given URLs", "check --server, and that the broker runs"},
		{is(nats.ErrNoResponders), "nothing answers this request in the account of the credential",
			"use a credential of the right account, and check that JetStream is on"},
		{func(err error) bool {
			return errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || timedOut(err)
		},
			"the server did not answer in time", "check that it is up and not overloaded, or raise --timeout"},
		{says("no such host"), "no address is known for the host name", "check the spelling in --server, and the name service of this machine"},
		{says("connection refused"), "no server is reachable at the given URLs", "check --server, and that the broker runs"},
		// The broker's own words are lost when it hangs up on a CONNECT line that is still being written.
		{func(err error) bool { return says("connection reset by peer")(err) || says("broken pipe")(err) },
			"the server hung up while the client was writing",
			"a credential larger than max_control_line looks like this: compare its CONNECT line with that of the server"},
		{func(err error) bool { return errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, io.EOF) },
			"the server closed the connection", "look into its log, and try again"},
	}
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
