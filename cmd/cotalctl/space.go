package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/embedded"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// spaceRequest says which space to work on, and where.
type spaceRequest struct {
	dir  string
	name string // "" is the only space of the directory
	contractFlags
	settings map[string]string // choice → value, as given now
	replicas int               // 0: as recorded, else 1
	server   serverFlags
	creds    string      // system credential for pushing claims; "" is the directory's
	planOnly bool        // nothing may change, not even the directory
	fit      *fitRequest // the doctor is asked first; nil: it is not
}

// spaceWork is an opened space: its directory, its contract, and the broker that it is worked on with.
type spaceWork struct {
	app      *app
	req      spaceRequest
	name     string
	contract *contract.Contract
	topology *contract.Topology
	info     trust.SpaceInfo
	dir      *trust.Dir // nil: only a plan was asked for and there is no directory yet
	broker   *embedded.Server
	dialer   *dialer
	system   *nats.Conn // to the system account of a broker elsewhere, once needed
	session  *provision.Session
	unlock   func()
	accounts []accountState
	after    func(provision.Action) // hears of every step that was applied
	known    bool                   // the space was provisioned before
	was      string                 // its contract as recorded then
	dropped  []string               // scoped signing keys that the account loses
	removing bool                   // the others stay as they are
	shareErr error                  // of composing exports, imports and scopes, which happens inside a callback
	servers  []string               // ids of those that must hold what is pushed by a change of trust; none: any one
	unproven error                  // why these may not be all of them
	edit     accountEdit            // what a change of trust does to the accounts
	fitness  *fitness               // what the doctor found; nil: nobody was asked
}

func (w *spaceWork) close() {
	if w.session != nil {
		w.session.Close()
	}
	if w.system != nil {
		w.system.Close()
	}
	if w.broker != nil {
		if err := w.broker.Shutdown(); err != nil {
			fmt.Fprintf(w.app.stderr, "cotalctl: warning: broker: %s\n", err)
		}
	}
	if w.unlock != nil {
		w.unlock()
	}
}

// prepare opens or makes what provisioning a space needs. The caller closes it.
func (a *app) prepare(req spaceRequest) (*spaceWork, error) {
	w := &spaceWork{app: a, req: req, name: req.name, after: a.progress}
	if err := req.fit.valid(a); err != nil {
		return nil, err
	}
	recorded, err := recordedSpace(req.dir, req.name)
	if err != nil {
		return nil, err
	}
	if w.contract, w.topology, err = req.load(recorded); err != nil {
		return nil, err
	}
	if err := errors.Join(checkSpaceName(w.contract, req.name), w.duty(contract.RoleProvision)); err != nil {
		return nil, err
	}
	w.known, w.was = recorded.Contract != "", recorded.Contract
	if w.info, err = w.record(recorded); err != nil {
		return nil, err
	}
	if err := w.trustable(); err != nil {
		return nil, err
	}
	if err := w.openDir(); err != nil {
		w.close()
		return nil, err
	}
	if w.dir == nil {
		w.session = w.space().Open() // it plans without a broker
		return w, nil
	}
	if err := w.start(); err != nil {
		w.close()
		return nil, err
	}
	if err = w.beFit(); err == nil {
		err = w.greet()
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// open opens a space that was provisioned before.
func (a *app) open(req spaceRequest) (*spaceWork, error) {
	if err := req.fit.valid(a); err != nil {
		return nil, err
	}
	d, rec, err := openSpace(req.dir, req.name)
	if err != nil {
		return nil, err
	}
	w := &spaceWork{app: a, req: req, name: rec.space, dir: d, info: rec.SpaceInfo, after: a.progress}
	if w.contract, w.topology, err = req.load(rec); err != nil {
		return nil, err
	}
	if err := w.lock(); err != nil {
		return nil, err
	}
	if err = w.start(); err == nil {
		err = w.beFit()
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// record joins what was recorded of the space with what is asked for now. A choice once made is not silently made anew.
func (w *spaceWork) record(old record) (trust.SpaceInfo, error) {
	info := trust.SpaceInfo{Topology: w.topology.Name, Settings: map[string]string{}, Replicas: max(1, old.Replicas), Scoped: old.Scoped}
	var err error
	if info.Contract, err = lastingName(cmp.Or(w.req.Contract, old.Contract, defaultContract)); err != nil {
		return info, err
	}
	if info.Contract != w.contract.Name {
		info.Name = w.contract.Name // the path alone does not tell what stands there later
	}
	if w.req.replicas != 0 {
		info.Replicas = w.req.replicas
	}
	if err := w.sameContract(old); err != nil {
		return info, err
	}
	if old.Topology != "" && old.Topology != w.topology.Name {
		return info, refused(fmt.Errorf("topology of space %s, got %q, want %q as provisioned", w.name, w.topology.Name, old.Topology),
			"a space keeps its topology: provision another space")
	}
	for name := range w.req.settings {
		if w.contract.Settings[name] == nil {
			return info, usage(fmt.Errorf("contract %s has no setting %q", w.contract.Name, name), "")
		}
	}
	for _, choice := range contract.Sorted(w.contract.Settings) {
		given, was := w.req.settings[choice.Name], old.Settings[choice.Name]
		if given != "" && was != "" && given != was {
			return info, refused(fmt.Errorf("setting %s of space %s, got %q, want %q as provisioned", choice.Name, w.name, given, was),
				"first records are written once: change the row itself")
		}
		value := cmp.Or(given, was, choice.Default)
		if _, ok := choice.Values[value]; !ok {
			return info, usage(fmt.Errorf("--%s, got %q, want one of %s", choice.Name, value, strings.Join(contract.SortedKeys(choice.Values), ", ")), "")
		}
		info.Settings[choice.Name] = value
	}
	return info, nil
}

func (w *spaceWork) openDir() error {
	var err error
	if w.req.planOnly {
		if w.dir, err = trust.Open(w.req.dir); errors.Is(err, trust.ErrNotMade) && isVacant(w.req.dir) {
			w.dir = nil
			return nil
		}
	} else {
		ctx, cancel := w.lockContext()
		defer cancel()
		w.dir, _, err = trust.Ensure(ctx, w.req.dir, trust.Options{Now: w.app.now(), Rand: w.app.rand,
			MintSystem: w.app.mintSystem(w.contract, w.topology, w.name)})
	}
	if err != nil {
		return err
	}
	return w.lock()
}

// isVacant reports whether nothing stands at a path, or an empty directory.
func isVacant(dir string) bool {
	entries, err := os.ReadDir(dir)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// lock takes the directory for editing, or says who has it: another command must not wait for ever on one that hangs.
func (w *spaceWork) lock() (err error) {
	ctx, cancel := w.lockContext()
	defer cancel()
	w.unlock, err = w.dir.Lock(ctx)
	return err
}

func (w *spaceWork) lockContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.app.ctx, w.req.server.Timeout.duration())
}

// start finds the broker: the named server, the one that runs on the directory, else an embedded one.
func (w *spaceWork) start() error {
	w.dialer = &dialer{app: w.app, dir: w.dir, contract: w.contract, topology: w.topology, space: w.name, url: w.req.server.Server,
		timeout: w.req.server.Timeout.duration()}
	opts, err := w.req.server.options()
	if err != nil {
		return err
	}
	w.dialer.opts = opts
	if w.dialer.url == "" {
		broker, err := embedded.Start(w.app.ctx, embedded.Options{Dir: w.dir,
			Config: trust.ServerOptions{Port: -1, MaxControlLine: w.contract.Broker.MaxControlLine}})
		var running *embedded.RunningError
		switch {
		case errors.As(err, &running):
			w.dialer.url = running.Running.URL
		case err != nil:
			return err
		default:
			// Over loopback, not inside the process: credentials are confined to STANDARD and WEBSOCKET connections, and the
			// broker counts an in-process one as neither.
			w.broker, w.dialer.url = broker, broker.ClientURL()
		}
	}
	w.session = w.space().Open()
	return nil
}

func (w *spaceWork) space() *provision.Space {
	settings := map[string]string{}
	for name, value := range w.info.Settings {
		if choice := w.contract.Settings[name]; choice != nil {
			for k, v := range choice.Values[value] {
				settings[k] = v
			}
		}
	}
	sp := &provision.Space{Contract: w.contract, Topology: w.topology, Name: w.name, Settings: settings, Replicas: w.info.Replicas}
	if w.dialer != nil {
		sp.Connect = w.dialer.connect
	}
	return sp
}

// plan compares accounts, then everything in them.
func (w *spaceWork) plan() (*provision.Plan, error) {
	if err := w.inspectAccounts(); err != nil {
		return nil, err
	}
	var fresh []string
	for _, acc := range w.accounts {
		if acc.fresh {
			fresh = append(fresh, acc.name)
		}
	}
	plan, err := w.session.Plan(w.app.ctx, fresh)
	if err != nil {
		return nil, err
	}
	var head []provision.Action
	for _, acc := range w.accounts {
		head = append(head, w.accountActions(&acc)...)
	}
	plan.Actions = append(head, plan.Actions...)
	return plan, nil
}

// apply makes the accounts, tells the broker, and carries out the plan.
func (w *spaceWork) apply(plan *provision.Plan) error {
	changed := false
	for range 2 { // the second pass adds the imports from accounts that the first one made
		for i := range w.accounts {
			acc := &w.accounts[i]
			_, change, err := w.dir.EnsureAccount(acc.spec)
			if err := errors.Join(err, w.shareErr); err != nil {
				return err
			}
			changed = changed || change != trust.None || acc.stale || acc.fresh
		}
	}
	if !w.known { // from its first credential on, whom the space has issued one to is on record
		if err := w.dir.BeginIssued(w.name); err != nil {
			return err
		}
	}
	if _, err := w.dir.WriteSpace(w.name, w.info); err != nil {
		return err
	}
	if w.known && w.was != w.info.Contract {
		fmt.Fprintf(w.app.stderr, "cotalctl: note: the contract of space %s is now recorded as %s, before as %s\n", w.name, w.info.Contract, w.was)
	}
	if _, _, err := w.dir.WriteServerConfig(trust.ServerOptions{MaxControlLine: w.contract.Broker.MaxControlLine}); err != nil {
		return err
	}
	if changed {
		if err := w.push(); err != nil {
			return err
		}
	}
	return plan.Apply(w.app.ctx, w.after)
}

// planLifecycle is one of the session's two lifecycle planners.
type planLifecycle = func(*provision.Session, context.Context, string, compile.Input) (*provision.Plan, error)

func (w *spaceWork) lifecycle(planner planLifecycle, name string, in compile.Input) (*provision.Plan, error) {
	plan, err := planner(w.session, w.app.ctx, name, in)
	return plan, badInput(err)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
