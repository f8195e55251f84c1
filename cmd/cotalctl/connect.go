package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/mod/semver"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// tlsFlags are what a connection needs beside its credential.
type tlsFlags struct {
	TLSCA   string `name:"tlsca" type:"path" help:"CA certificates that the server is checked against." placeholder:"FILE"`
	TLSCert string `name:"tlscert" type:"path" help:"Client certificate." placeholder:"FILE"`
	TLSKey  string `name:"tlskey" type:"path" help:"Key of the client certificate." placeholder:"FILE"`
}

func (f tlsFlags) options() ([]nats.Option, error) {
	var opts []nats.Option
	if f.TLSCA != "" {
		opts = append(opts, nats.RootCAs(f.TLSCA))
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return nil, usage(fmt.Errorf("--tlscert and --tlskey, got one of them, want both or neither"), "")
	}
	if f.TLSCert != "" {
		opts = append(opts, nats.ClientCert(f.TLSCert, f.TLSKey))
	}
	return opts, nil
}

// dialer reaches the broker of a space with credentials minted for the purpose.
type dialer struct {
	app      *app
	dir      *trust.Dir
	contract *contract.Contract
	topology *contract.Topology
	space    string
	url      string
	opts     []nats.Option
	timeout  time.Duration
	fitIDs   []string // servers that the doctor found fit; nil: it was not asked
}

// connect compiles, mints and uses a one-time credential of a profile.
func (d *dialer) connect(ctx context.Context, account, profile string, in compile.Input) (*provision.Conn, error) {
	p, err := findProfile(d.contract, profile)
	if err != nil {
		return nil, err
	}
	cred, _, err := d.app.issueIn(d.dir, d.space, account, order{contract: d.contract, topology: d.topology, profile: p, input: in})
	if err != nil {
		return nil, err
	}
	opts, err := userOptions(cred)
	if err != nil {
		return nil, err
	}
	conn, err := interruptible(ctx, func() (*provision.Conn, error) { return provision.Dial(d.url, append(opts, d.options()...)...) })
	if err != nil {
		return nil, d.unreachable(err, cred.ConnectBytes(clientName))
	}
	if err := errors.Join(d.checkLooked(conn.NATS()), checkVersion(conn.NATS().ConnectedServerVersion(), d.contract.Broker.Floor)); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// system connects with a credential that the directory keeps.
func (d *dialer) system(profile string) (*nats.Conn, error) {
	path, err := d.dir.Creds("", profile)
	if err != nil {
		return nil, err
	}
	return d.systemFile(path)
}

func (d *dialer) systemFile(path string) (*nats.Conn, error) {
	opts, line, err := fileOptions(path)
	if err != nil {
		return nil, err
	}
	nc, err := interruptible(d.app.ctx, func() (*nats.Conn, error) { return nats.Connect(d.url, append(opts, d.options()...)...) })
	if err != nil {
		return nil, d.unreachable(err, line+len(clientName))
	}
	if err := d.checkLooked(nc); err != nil {
		nc.Close()
		return nil, err
	}
	return nc, nil
}

// checkLooked refuses a server that the doctor has not looked at: one of several URLs may lead elsewhere, and a server that was started
// anew may have other settings.
func (d *dialer) checkLooked(nc *nats.Conn) error {
	id := nc.ConnectedServerId()
	if d.fitIDs == nil || slices.Contains(d.fitIDs, id) {
		return nil
	}
	return failed(fmt.Errorf("server %s (%s), got one that the doctor has not looked at, want one of those that it found fit",
		nc.ConnectedServerName(), id),
		"run it again; --server is to name servers of one deployment")
}

// clientName is what the servers know the tool by.
const clientName = "cotalctl"

func (d *dialer) options() []nats.Option {
	return append([]nats.Option{nats.Timeout(d.timeout), boundedFirstLine(d.timeout), nats.NoReconnect(), nats.Name(clientName), quiet()}, d.opts...)
}

// quiet keeps asynchronous errors off the terminal: what they mean for a command is in its own result.
func quiet() nats.Option { return nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}) }

// interruptible ends the wait for a dial when ctx ends. A connection that comes later is closed.
func interruptible[C interface{ Close() }](ctx context.Context, dial func() (C, error)) (C, error) {
	type outcome struct {
		conn C
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		conn, err := dial()
		done <- outcome{conn, err}
	}()
	select {
	case o := <-done:
		return o.conn, o.err
	case <-ctx.Done():
		go func() {
			if o := <-done; o.err == nil {
				o.conn.Close()
			}
		}()
		var none C
		return none, ctx.Err()
	}
}

func (d *dialer) unreachable(err error, line int) error {
	return notConnected("server "+redacted(d.url), err, line, d.contract.Broker.Margin)
}

// notConnected is explained for a connect whose CONNECT line has so many bytes: where the server's bound is what refused it, it says what
// the bound must be. What the bound is, no server tells before a login (§13.12).
func notConnected(what string, err error, line, margin int) error {
	want := line + margin
	hint := fmt.Sprintf("set max_control_line to at least %d on every server, or mint a smaller credential; "+
		"cotalctl doctor reads what each server has", want)
	text := strings.ToLower(err.Error())
	switch {
	case strings.Contains(text, "maximum control line exceeded"):
		return failed(fmt.Errorf("%s: the CONNECT line is larger than the server's max_control_line, got %d bytes, "+
			"want a max_control_line of at least %d", what, line, want), hint)
	case strings.Contains(text, "connection reset by peer") || strings.Contains(text, "broken pipe"):
		return failed(fmt.Errorf("%s: the server hung up while a CONNECT line of %d bytes was being written: "+
			"it may be larger than its max_control_line", what, line), hint)
	}
	return explained(what, err)
}

// explained turns an error of a connect or a request into one line and what to do about it.
func explained(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	text, hint, _ := strings.Cut(doctor.Explain(err), "; hint: ")
	return failed(fmt.Errorf("%s: %s", what, text), hint)
}

// redacted is a URL list without user information.
func redacted(urls string) string {
	parts := strings.Split(urls, ",")
	for i, u := range parts {
		scheme, rest, ok := strings.Cut(u, "://")
		if !ok { // nats.go takes it for nats://
			scheme, rest = "", u
		}
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			parts[i] = strings.TrimPrefix(scheme+"://", "://") + rest[at+1:]
		}
	}
	return strings.Join(parts, ",")
}

// userOptions connects with a credential in memory, under its own inbox prefix (§10: before any request).
func userOptions(cred *mint.Credential) ([]nats.Option, error) {
	text, err := cred.Creds()
	if err != nil {
		return nil, err
	}
	return []nats.Option{nats.UserCredentialBytes(text), nats.CustomInboxPrefix("_INBOX_" + cred.PublicKey)}, nil
}

// fileOptions connects with a .creds file, under the inbox that its key names, and measures the CONNECT line of a client without a name.
func fileOptions(path string) ([]nats.Option, int, error) {
	data, err := source.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	parsed, err := mint.ReadCreds(data)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", shown(path), err)
	}
	return []nats.Option{nats.UserCredentialBytes(data), nats.CustomInboxPrefix("_INBOX_" + parsed.PublicKey)}, mint.ConnectBytes(len(parsed.JWT), ""), nil
}

// checkVersion refuses a server below the contract's floor.
func checkVersion(got, floor string) error {
	if floor != "" && semver.Compare("v"+got, canonical(floor)) < 0 {
		return refused(fmt.Errorf("server version, got %s, want at least %s", got, floor), "upgrade nats-server before a space is provisioned on it")
	}
	return nil
}

func canonical(version string) string { return semver.Canonical("v" + version) }
