package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/embedded"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

const (
	provisionWarm = 2                // pairs of spaces that are not recorded
	answerWait    = 30 * time.Second // longest wait for one answer of the broker
)

// provisionFigures are the samples of the two sides.
type provisionFigures struct {
	project, raw sample
	calls        int // requests that the raw side sends
}

// call is one request as the project sent it.
type call struct {
	account string
	msg     *nats.Msg
}

// bench is an embedded broker with unused spaces: each has accounts of its own, and in them the same names.
type bench struct {
	ctx     context.Context
	subject *subject
	dir     *trust.Dir
	broker  *embedded.Server
	spaces  int // made
	used    int
	calls   []call
}

// measureProvision times the project's plan and apply against the calls that it consists of, n spaces each.
func measureProvision(ctx context.Context, s *subject, n int) (f provisionFigures, err error) {
	path, err := os.MkdirTemp("", "bench")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
	b := &bench{ctx: ctx, subject: s}
	if err := b.start(path, 2*(n+provisionWarm)+1); err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, b.broker.Shutdown()) }()
	if err := b.record(); err != nil {
		return f, err
	}
	samples, err := alternate([]way{b.project(), b.raw()}, 1, provisionWarm, func(round int, _ time.Duration) bool { return round < n })
	if err != nil {
		return f, err
	}
	return provisionFigures{project: samples[0], raw: samples[1], calls: len(b.calls)}, nil
}

// start makes the directory, the accounts of n spaces, and the broker that knows them.
func (b *bench) start(path string, n int) (err error) {
	none := func(trust.SystemIssuer) (map[string][]byte, error) { return nil, nil }
	if b.dir, _, err = trust.Ensure(b.ctx, path, trust.Options{Now: time.Now(), Rand: rand.Reader, MintSystem: none}); err != nil {
		return err
	}
	unlock, err := b.dir.Lock(b.ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for b.spaces = range n {
		for _, account := range b.subject.topology.Accounts {
			spec := trust.AccountSpec{Space: spaceName(b.spaces), Account: b.accountID(account), Now: time.Now(), Rand: rand.Reader}
			if _, _, err := b.dir.EnsureAccount(spec); err != nil {
				return err
			}
		}
	}
	b.spaces = n
	b.broker, err = embedded.Start(b.ctx, embedded.Options{Dir: b.dir, Config: trust.ServerOptions{Port: -1, MaxControlLine: b.subject.contract.Broker.MaxControlLine}})
	return err
}

func spaceName(n int) string { return fmt.Sprintf("space%04d", n) }

func (b *bench) accountID(account string) string {
	return trust.AccountID(b.subject.topology.Accounts, account)
}

// nextSpace returns a space that nothing was done in.
func (b *bench) nextSpace() (string, error) {
	if b.used == b.spaces {
		return "", fmt.Errorf("spaces, got all %d used, want one more", b.spaces)
	}
	b.used++
	return spaceName(b.used - 1), nil
}

// conns are connections of the provisioning profile to a space's accounts.
type conns map[string]*provision.Conn

func (c conns) close() error {
	for _, conn := range c {
		conn.Close()
	}
	return nil
}

// connect opens the connections that either side works on, each with a credential of the profile that provisions.
func (b *bench) connect(space string) (conns, error) {
	out := conns{}
	for _, account := range b.subject.topology.Accounts {
		user, err := b.credential(space, account)
		if err != nil {
			return nil, err
		}
		if out[account], err = provision.Dial(b.broker.ClientURL(), user...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *bench) credential(space, account string) ([]nats.Option, error) {
	issuer, err := b.issuer(space, account)
	if err != nil {
		return nil, err
	}
	provisioner := *b.subject
	provisioner.profile = b.subject.contract.Profiles[b.subject.contract.Roles[contract.RoleProvision]]
	provisioner.params = map[string]any{compile.SpaceParam: b.subject.space}
	seed, err := newSeed()
	if err != nil {
		return nil, err
	}
	public, err := publicUser(seed)
	if err != nil {
		return nil, err
	}
	scope, err := provisioner.scope(public)
	if err != nil {
		return nil, err
	}
	set, err := compile.Compile(scope, account)
	if err != nil {
		return nil, err
	}
	cred, err := issuer.Mint(provisioner.request(compiled{set: set}, seed))
	if err != nil {
		return nil, err
	}
	text, err := cred.Creds()
	return []nats.Option{nats.UserCredentialBytes(text), nats.CustomInboxPrefix("_INBOX_" + public), nats.Timeout(answerWait)}, err
}

// space is the project's view of one space, over connections that are open.
func (b *bench) space(open conns) *provision.Space {
	return &provision.Space{Contract: b.subject.contract, Topology: b.subject.topology, Name: b.subject.space, Settings: b.subject.settings, Replicas: 1,
		Connect: func(_ context.Context, account, _ string, _ compile.Input) (*provision.Conn, error) {
			return open[account], nil
		}}
}

// provision plans a fresh space and applies the plan, as the command does, and returns what was done.
func (b *bench) provision(open conns) (*provision.Plan, error) {
	ctx, cancel := context.WithTimeout(b.ctx, answerWait)
	defer cancel()
	plan, err := b.space(open).Open().Plan(ctx, b.subject.topology.Accounts)
	if err != nil {
		return nil, err
	}
	return plan, plan.Apply(ctx, nil)
}

// project is the project's side.
func (b *bench) project() way {
	var open conns
	return way{
		name:   "plan and apply",
		before: func() (err error) { open, err = b.fresh(); return err },
		op:     func() error { _, err := b.provision(open); return err },
		after:  func() error { return open.close() },
	}
}

// raw sends the recorded calls one after another.
func (b *bench) raw() way {
	var open conns
	return way{
		name:   "the same calls, raw",
		before: func() (err error) { open, err = b.fresh(); return err },
		op: func() error {
			for _, c := range b.calls {
				if err := send(open[c.account].NATS(), c.msg); err != nil {
					return err
				}
			}
			return nil
		},
		after: func() error { return open.close() },
	}
}

func (b *bench) fresh() (conns, error) {
	space, err := b.nextSpace()
	if err != nil {
		return nil, err
	}
	return b.connect(space)
}

// send is one request as a client library sends it, with the least check of its answer.
func send(nc *nats.Conn, m *nats.Msg) error {
	answer, err := nc.RequestMsg(&nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}, answerWait)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Subject, err)
	}
	if bytes.Contains(answer.Data, []byte(`"error":`)) {
		return fmt.Errorf("%s: %s", m.Subject, answer.Data)
	}
	return nil
}

// changes reports whether a subject is a request that changes something: reading back is the project's own affair.
func changes(subject string) bool {
	for _, prefix := range []string{"$JS.API.STREAM.CREATE.", "$JS.API.CONSUMER.CREATE.", "$JS.API.CONSUMER.DURABLE.CREATE.", "$KV."} {
		if strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}
