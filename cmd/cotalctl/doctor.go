package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/fixtures"
	"github.com/cotalctl/cotalctl/internal/trust"
)

type doctorCmd struct {
	Server       string            `help:"Server URLs. Default: the broker that runs on the directory." placeholder:"URL[,URL…]"`
	Creds        string            `type:"path" help:"System-account credential. Default: the directory's doctor credential." placeholder:"FILE"`
	Context      string            `help:"Connect as a context of the NATS command line says." placeholder:"NAME"`
	Servers      int               `help:"Servers of the cluster that must answer. Default: what two agreeing sources say." placeholder:"N"`
	Cluster      map[string]int    `help:"Servers of a further cluster." placeholder:"NAME=N"`
	Space        string            `help:"Space whose contract states the floors. Default: the directory's only one." placeholder:"NAME"`
	Snapshot     string            `type:"path" help:"Write what was gathered to FILE, also where checks fail." placeholder:"FILE"`
	From         string            `type:"path" help:"Judge a snapshot of before; nothing is connected to." placeholder:"FILE"`
	Watch        bool              `help:"Gather again and again and show what changes, until a signal ends it."`
	Every        waitFlag          `default:"5s" help:"Interval of --watch, at least 1s." placeholder:"DURATION"`
	Address      map[string]string `help:"Where a server is reached from here, if not where it says." placeholder:"NAME=HOST:PORT"`
	Active       bool              `help:"Also connect to each server with the largest credential, and have a schedule fire in a scratch stream."`
	ActiveCreds  string            `type:"path" help:"Do it with this credential instead of minting with the space's keys." placeholder:"FILE"`
	EqualConfig  bool              `help:"Every server is meant to have one and the same configuration file."`
	SingleServer bool              `help:"The space relies on the single-server proof: one server, no cluster, gateway or leaf node."`
	Verbose      bool              `short:"v" help:"Text: every row that passed, and every name."`
	timeoutFlag
	tlsFlags
	dirFlag
	contractFlags
	doctorOutputFlag
}

// doctorOutputFlag is the outputFlag of a command that CI systems read.
type doctorOutputFlag struct {
	Output string `short:"o" enum:"text,json,junit" default:"text" help:"Output format: text, json or junit."`
}

// Help is the example under the flags.
func (doctorCmd) Help() string {
	return "Example: cotalctl doctor --server nats://127.0.0.1:4222 --creds D/creds/doctor.creds --servers 3\n\n" +
		"Exit 0 all passed, 3 a check failed, 1 a check could not look."
}

func (c *doctorCmd) Run(a *app) error {
	began := a.now()
	if err := c.check(a.given); err != nil {
		return err
	}
	ct, topology, space, err := c.loadFor(a, c.Dir, c.Space, mustExist)
	if err != nil {
		return err
	}
	dc, err := c.ask(a, ct, topology, space)
	if err != nil {
		return err
	}
	if dc.space, err = c.tries(a, dc, ct, topology); err != nil {
		return err
	}
	if c.From != "" {
		snapshot, err := readSnapshot(c.From)
		if err != nil {
			return err
		}
		report, err := dc.judge(snapshot)
		if err != nil {
			return err
		}
		return c.finish(a, report)
	}
	if c.Snapshot != "" {
		if err := snapshotTarget(c.Snapshot); err != nil {
			return err
		}
	}
	g := &doctorRounds{cmd: c, app: a, contract: ct, doctorCase: dc, progress: progressOf(a.stderr, os.Getenv), began: began}
	defer g.close()
	if c.Watch {
		if steers(a.stdout, os.Getenv) { // it draws over the whole terminal
			g.progress = &progressLine{}
		}
		return c.watch(a, g.round)
	}
	report, err := g.round(a.ctx)
	if report == nil {
		return err
	}
	if shown := c.finish(a, report); err == nil {
		err = shown
	}
	return err
}

// doctorRounds gathers over one connection, which it replaces where it was lost.
type doctorRounds struct {
	cmd      *doctorCmd
	app      *app
	contract *contract.Contract
	*doctorCase
	progress *progressLine
	nc       *nats.Conn
	began    time.Time // of the command, in the first round
}

// round gathers and judges once. With a report, an error means that the snapshot could not be written.
func (g *doctorRounds) round(ctx context.Context) (*doctor.Report, error) {
	if g.nc == nil || !g.nc.IsConnected() {
		g.close()
		nc, err := g.cmd.connect(g.app, g.contract)
		if err != nil {
			return nil, err
		}
		g.nc = nc
	}
	look, err := g.options()
	if err != nil {
		return nil, err
	}
	snapshot, err := doctor.Gather(ctx, g.nc, look)
	g.progress.end()
	if err != nil {
		return nil, explained("gather", err)
	}
	report, err := g.judge(snapshot)
	if g.cmd.Snapshot != "" {
		err = errors.Join(g.cmd.writeSnapshot(g.app, snapshot), err)
	}
	return report, err
}

// options are what a round looks at over the connection that it has.
func (g *doctorRounds) options() (doctor.Options, error) {
	o := g.look
	o.Progress = g.progress.tell
	if !g.began.IsZero() { // who waits for the answer waits for all of the command
		o.Timeout = max(o.Timeout/2, o.Timeout-g.app.now().Sub(g.began))
		g.began = time.Time{}
	}
	var err error
	if o.TLS, err = tlsOf(g.nc); err != nil || g.space == nil {
		return o, err
	}
	if g.space.opts, err = g.cmd.tlsFlags.options(); err != nil {
		return o, err
	}
	g.space.urls = g.nc.ConnectedUrl()
	if g.cmd.Active || g.cmd.ActiveCreds != "" {
		o.Active, err = g.cmd.active(g.space)
	}
	return o, err
}

func (g *doctorRounds) close() {
	if g.nc != nil {
		g.nc.Close()
		g.nc = nil
	}
}

// doctorName is what the servers know the doctor by.
const doctorName = "cotalctl doctor"

func (c *doctorCmd) connect(a *app, ct *contract.Contract) (*nats.Conn, error) {
	opts, err := c.tlsFlags.options()
	if err != nil {
		return nil, err
	}
	opts = append(opts, nats.Timeout(c.Timeout.duration()), nats.Name(doctorName), quiet())
	if c.Context != "" {
		nc, err := interruptible(a.ctx, func() (*nats.Conn, error) {
			nc, _, err := natscontext.Connect(c.Context, opts...)
			return nc, err
		})
		if err != nil {
			return nil, explained("context "+c.Context, err)
		}
		return nc, nil
	}
	creds, err := c.credential(ct)
	if err != nil {
		return nil, err
	}
	user, line, err := fileOptions(creds)
	if err != nil {
		return nil, err
	}
	if has, err := credential(creds); err == nil && has.Expires <= a.now().Unix() {
		return nil, failed(fmt.Errorf("%s: the credential expired at %s", shown(creds), time.Unix(has.Expires, 0).UTC().Format(time.RFC3339)),
			"make the system credentials anew: cotalctl rotate system")
	}
	url, err := c.url(a)
	if err != nil {
		return nil, err
	}
	wait := c.Timeout.duration()
	if n := len(strings.Split(url, ",")); n > 1 { // a frozen one must not cost the time of all
		wait /= time.Duration(n + 1)
	}
	opts = append(opts, nats.Timeout(wait), boundedFirstLine(wait)) // a context may have a dialer of its own
	nc, err := interruptible(a.ctx, func() (*nats.Conn, error) { return nats.Connect(url, append(opts, user...)...) })
	if err != nil {
		return nil, notConnected("server "+redacted(url), err, line+len(doctorName), ct.Broker.Margin)
	}
	return nc, nil
}

func (c *doctorCmd) credential(ct *contract.Contract) (string, error) {
	if c.Creds != "" {
		return c.Creds, nil
	}
	d, err := trust.Open(c.Dir)
	if err != nil {
		return "", failed(fmt.Errorf("no system credential: %w", err), "name one with --creds FILE, or the space directory with --dir D")
	}
	return d.Creds("", ct.Roles[contract.RoleDoctor])
}

// url is the named server, else the broker that runs on the directory.
func (c *doctorCmd) url(a *app) (string, error) {
	if c.Server != "" {
		return c.Server, nil
	}
	d, err := trust.Open(c.Dir)
	if err != nil {
		return "", failed(fmt.Errorf("no server: %w", err), "name one with --server URL")
	}
	lock, running, err := d.AcquireBroker(a.ctx, 0)
	if a.ctx.Err() != nil { // what it says then is that nobody waited
		err = a.ctx.Err()
		if lock != nil {
			err = errors.Join(err, lock.Release())
		}
	}
	if err != nil {
		return "", err
	}
	if running == nil {
		return "", failed(errors.Join(fmt.Errorf("no broker runs on %s", shown(c.Dir)), lock.Release()),
			"start it with cotalctl broker run, or name one with --server URL")
	}
	return running.URL, nil
}

// floorsFor are the contract's version floors and the control line of its largest credential: of its fixtures (§13.12), and of every
// credential that the directory holds.
func floorsFor(dir string, ct *contract.Contract, t *contract.Topology) (doctor.Floors, error) {
	largest, declared, err := fixtures.LargestConnect(ct)
	if err == nil && !declared {
		largest, err = largestSample(ct, t)
	}
	if err != nil {
		return doctor.Floors{}, err
	}
	held, err := largestHeld(dir)
	if err != nil {
		return doctor.Floors{}, err
	}
	return doctor.Floors{Version: ct.Broker.Floor, Hardened: ct.Broker.Hardened, ControlLine: max(largest, held) + ct.Broker.Margin,
		Payload: ct.Broker.MaxPayload}, nil
}

// largestSample is the largest CONNECT line of a contract without fixtures: of every profile with sample parameters, in every account
// where it has rows.
func largestSample(ct *contract.Contract, t *contract.Topology) (int, error) {
	largest := 0
	err := sampleScopes(ct, t, func(p *contract.Profile, scope *compile.Scope, err error) error {
		if err != nil {
			return err
		}
		for _, account := range compile.Accounts(ct, t, p) {
			set, err := compile.Compile(scope, account)
			if err != nil {
				return err
			}
			doc, err := document(set, p, scope)
			if err != nil {
				return err
			}
			largest = max(largest, doc.ConnectBytes)
		}
		return nil
	})
	return largest, err
}
