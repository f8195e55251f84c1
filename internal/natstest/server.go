package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ready bounds the start of one server and one answer of it; a loaded machine needs a fraction of it.
const ready = 30 * time.Second

// Server is a running broker. Account is the account APP, with JetStream; System is the system account.
type Server struct {
	*server.Server
	Account *Account
	System  *Account

	operator *operator
	options  *server.Options // as they were asked for, before the server completed them
}

// Start runs one server on a free port of the loopback interface, with JetStream in a temporary directory and a control line
// bound of 64 KiB. edit changes its options before it starts.
func Start(t testing.TB, edit ...func(*server.Options)) *Server {
	t.Helper()
	o := newOperator(t)
	return o.start(t, o.account(t, "APP"), edit...)
}

func (o *operator) start(t testing.TB, app *Account, edit ...func(*server.Options)) *Server {
	t.Helper()
	opts := &server.Options{
		ServerName: "test", Host: "127.0.0.1", Port: -1,
		JetStream: true, StoreDir: t.TempDir(), MaxControlLine: 65536,
		NoLog: true, NoSigs: true,
		TrustedOperators: []*jwt.OperatorClaims{o.claims}, AccountResolver: o.resolver, SystemAccount: o.system.PublicKey(),
	}
	for _, f := range edit {
		f(opts)
	}
	asked := opts.Clone()
	s := must(server.NewServer(opts))(t)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(ready) {
		t.Fatalf("server %s not ready within %v", opts.ServerName, ready)
	}
	return &Server{Server: s, Account: app, System: o.system, operator: o, options: asked}
}

// URL is the client URL.
func (s *Server) URL() string { return s.ClientURL() }

// User signs a user of the account APP.
func (s *Server) User(t testing.TB, perms jwt.Permissions, edit ...func(*jwt.UserClaims)) Creds {
	t.Helper()
	return s.Account.User(t, perms, edit...)
}

// NewAccount signs a further account, with JetStream unlimited unless edit changes that.
func (s *Server) NewAccount(t testing.TB, name string, edit ...func(*jwt.AccountClaims)) *Account {
	t.Helper()
	return s.operator.account(t, name, edit...)
}

// UpdateAccount signs changed claims of an account and makes this server take them.
func (s *Server) UpdateAccount(t testing.TB, a *Account, edit func(*jwt.AccountClaims)) {
	t.Helper()
	edit(a.Claims)
	a.store(t)
	if acc, err := s.LookupAccount(a.PublicKey()); err == nil {
		s.UpdateAccountClaims(acc, a.Claims)
	}
}

// Connect opens a nats.go connection that is closed with the test. Asynchronous errors are dropped unless opts set a handler.
func (s *Server) Connect(t testing.TB, c Creds, opts ...nats.Option) *nats.Conn {
	t.Helper()
	return connect(t, s.URL(), c, opts...)
}

func connect(t testing.TB, url string, c Creds, opts ...nats.Option) *nats.Conn {
	t.Helper()
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	nc := must(nats.Connect(url, append([]nats.Option{c.Option(), quiet}, opts...)...))(t)
	t.Cleanup(nc.Close)
	return nc
}

// SetControlLine changes max_control_line of the running server for the clients that connect next.
func (s *Server) SetControlLine(t testing.TB, bytes int32) {
	t.Helper()
	s.Reload(t, func(o *server.Options) { o.MaxControlLine = bytes })
}

// Reload gives the running server the options that it was started with, changed by edit, as far as a server takes them without a
// restart. Without an edit it puts back what an earlier one changed.
func (s *Server) Reload(t testing.TB, edit ...func(*server.Options)) {
	t.Helper()
	opts := s.options.Clone()
	for _, f := range edit {
		f(opts)
	}
	if err := s.ReloadOptions(opts); err != nil {
		t.Fatalf("reload: %v", err)
	}
}
