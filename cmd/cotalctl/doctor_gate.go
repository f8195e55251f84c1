package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// fitRequest asks for the doctor before a command writes.
type fitRequest struct {
	fitFlags
	command string // as the log names it
}

// valid is check of what may be nil.
func (r *fitRequest) valid(a *app) error {
	if r == nil {
		return nil
	}
	return r.check(a)
}

// fitness is what the doctor found before anything was written, or that it was not asked. Nil: there was nobody to ask.
type fitness struct {
	dialer *dialer
	floors doctor.Floors
	judge  func(doctor.Floors) *doctor.Report // nil: it was not asked
	entry  trust.LogEntry
}

// gateChecks are the checks of which each must pass: the answers are of every server, and each has what the contract needs. What else
// the doctor finds is for the operator to weigh.
var gateChecks = []string{"D001", "D002", "D003", "D004", "D005", "D006"}

// fit has the doctor look at every server and refuses those that are not fit. It writes nothing.
func (d *dialer) fit(r fitRequest) (*fitness, error) {
	f := &fitness{dialer: d, entry: trust.LogEntry{Command: r.command, Server: loggedURLs(d.url)}}
	if r.SkipDoctor != "" {
		f.entry.Event, f.entry.Reason, f.entry.Skipped = trust.LogSkipDoctor, strings.TrimSpace(r.SkipDoctor), gateChecks
		fmt.Fprintf(d.app.stderr, "cotalctl: warning: nobody looked whether the servers are fit: --skip-doctor %q\n", f.entry.Reason)
		return f, nil
	}
	var err error
	if f.floors, err = floorsFor(d.dir.Path(), d.contract, d.topology); err != nil {
		return nil, err
	}
	nc, err := d.doctor()
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	if err := checkVersion(nc.ConnectedServerVersion(), d.contract.Broker.Floor); err != nil {
		return nil, err
	}
	wait := doctor.DefaultTimeout
	if d.app.given["timeout"] { // its default is for the work, and a server that is down would cost all of it
		wait = d.timeout
	}
	if f.judge, err = consult(d.app.ctx, nc, wait, doctor.Expect{Servers: r.Servers, Clusters: r.Cluster}); err != nil {
		return nil, err
	}
	report := f.judge(f.floors)
	f.passed(report)
	if err := d.app.refuseUnfit(report); err != nil {
		return nil, err
	}
	d.fitIDs = []string{}
	for _, s := range report.Servers {
		d.fitIDs = append(d.fitIDs, s.ID)
	}
	return f, nil
}

// beFit has the doctor look at the broker that a space is worked on with. One in this process has its settings from the directory and
// is not asked; one that was found running on the directory may be of an older contract or an edited configuration, and is.
func (w *spaceWork) beFit() (err error) {
	r := w.req.fit
	switch {
	case r == nil:
		return nil
	case w.broker != nil && (r.Servers > 1 || len(r.Cluster) > 0):
		return usage(fmt.Errorf("--servers or --cluster, and no server runs on %s: got more than the embedded broker", shown(w.req.dir)),
			"name a server with --server URL")
	case w.broker != nil && w.info.Replicas > 1: // it would refuse the first stream, or hold a space beside that of the cluster
		return usage(fmt.Errorf("space %s is to have %d replicas, and no server runs on %s: got the embedded broker, which holds one",
			w.name, w.info.Replicas, shown(w.req.dir)), "name the servers of the cluster with --server URL[,URL…]; docs/cluster.md makes one")
	case w.broker != nil:
		return nil
	case w.req.server.Server == "" && r.SkipDoctor == "" && w.duty(contract.RoleDoctor) != nil:
		return nil // a contract without a doctor, on the directory's own broker
	}
	w.fitness, err = w.dialer.fit(*r)
	return err
}

// begin is the first step of a plan that changes something.
func (w *spaceWork) begin(plan *provision.Plan) error {
	if plan.Pending() == 0 {
		return nil
	}
	return w.fitness.record("")
}

// checkServer refuses flags of mint about a server where none is named.
func (c *mintCmd) checkServer(a *app) error {
	if err := c.fitFlags.check(a); err != nil || c.Server != "" {
		return err
	}
	if a.given["server"] { // such as an unset variable of a script, which must not skip the doctor
		return usage(errors.New("--server, got nothing, want a URL"), "leave it out to mint without asking anybody")
	}
	for _, flag := range []string{"servers", "cluster", "skip-doctor", "timeout", "tlsca", "tlscert", "tlskey"} {
		if a.given[flag] {
			return usage(fmt.Errorf("--%s, and no server: without --server nobody is asked", flag), "name a server with --server URL, or leave it out")
		}
	}
	return nil
}

// fit asks the doctor about the server that mint was given; without one it asks nobody.
func (c *mintCmd) fit(a *app, u mintUse) (*fitness, error) {
	if c.Server == "" {
		return nil, nil
	}
	opts, err := c.tlsFlags.options()
	if err != nil {
		return nil, err
	}
	d := &dialer{app: a, dir: u.dir, contract: u.contract, topology: u.topology, space: u.record.space, url: c.Server, opts: opts,
		timeout: c.Timeout.duration()}
	return d.fit(fitRequest{c.fitFlags, "mint " + u.profile.Name})
}

// consult asks the doctor once; what it returns judges the answers as often as there are floors.
func consult(ctx context.Context, nc *nats.Conn, wait time.Duration, expect doctor.Expect) (func(doctor.Floors) *doctor.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*wait)
	defer cancel()
	snapshot, err := doctor.Gather(ctx, nc, doctor.Options{Timeout: wait, Servers: expect.Servers, Clusters: expect.Clusters})
	if err != nil {
		return nil, explained("gather", err)
	}
	return func(f doctor.Floors) *doctor.Report { return doctor.Judge(snapshot, f, expect) }, nil
}

// doctor connects with the doctor's credential of the directory.
func (d *dialer) doctor() (*nats.Conn, error) {
	remedy := "make the system credentials anew: cotalctl rotate system --dir " + shown(d.dir.Path()) + "; or go on without: --skip-doctor REASON"
	profile := d.contract.Roles[contract.RoleDoctor]
	if profile == "" {
		return nil, failed(fmt.Errorf("contract %s gives the role %s to no profile, so that nobody can ask whether the servers are fit",
			d.contract.Name, contract.RoleDoctor), "name one under roles: in its contract.yaml; or go on without: --skip-doctor REASON")
	}
	path, err := d.dir.Creds("", profile)
	if errors.Is(err, trust.ErrNotFound) {
		return nil, failed(fmt.Errorf("no credential to ask whether the servers are fit: %w", err), remedy)
	}
	if err != nil {
		return nil, err
	}
	has, err := credential(path)
	if err != nil {
		return nil, failed(err, remedy)
	}
	if now := d.app.now(); has.Expires <= now.Unix() {
		return nil, failed(fmt.Errorf("%s: the doctor's credential expired at %s", shown(path),
			time.Unix(has.Expires, 0).UTC().Format(time.RFC3339)), remedy)
	}
	return d.systemFile(path)
}

// refuseUnfit is nil where every check of the gate passed; else the others are printed as the doctor prints them.
func (a *app) refuseUnfit(report *doctor.Report) error {
	gate, rest := *report, *report
	gate.Checks, rest.Checks = []doctor.Result{}, []doctor.Result{}
	for _, c := range report.Checks {
		switch {
		case slices.Contains(gateChecks, c.ID):
			gate.Checks = append(gate.Checks, c)
		case c.Status == doctor.Fail:
			rest.Checks = append(rest.Checks, c)
		}
	}
	code, all := gate.ExitCode(), len(gate.Checks)
	if code == exitClean && !slices.ContainsFunc(gate.Checks, func(c doctor.Result) bool { return c.ID == gateChecks[0] }) {
		return failed(errors.New("whether the servers are fit cannot be told: nobody looked whether all answered"), "")
	}
	gate.Checks = slices.DeleteFunc(gate.Checks, func(c doctor.Result) bool { return c.Status == doctor.Pass })
	if err := errors.Join(a.quote(gate, ""), a.quote(rest, "warning: the doctor says what refuses nothing here")); err != nil {
		return err
	}
	const hint = "cotalctl doctor says the same; put it right, or go on in spite of it, which is logged: --skip-doctor REASON"
	switch n := gate.Count(doctor.Fail); code {
	case exitClean:
		return nil
	case exitFindings:
		return refused(fmt.Errorf("the servers are not fit: %d of %d checks failed, and nothing was written", n, all), hint)
	}
	return failed(fmt.Errorf("whether the servers are fit cannot be told: %d of %d checks could not look, and nothing was written",
		gate.Count(doctor.Skip), all), hint)
}

// quote prints what is left of a report under a title.
func (a *app) quote(r doctor.Report, title string) error {
	if len(r.Checks) == 0 {
		return nil
	}
	var text strings.Builder
	if err := r.Write(&text, doctor.Render{Bare: true}); err != nil {
		return err
	}
	if title != "" {
		fmt.Fprintf(a.stderr, "cotalctl: %s\n", title)
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprintf(a.stderr, "cotalctl: %s", contract.Redact(line))
	}
	return nil
}

// mostVersions and mostURLs bound what the log takes from a network and a command line.
const (
	mostVersions = 8
	mostURLs     = 1024
)

// passed fills the line of the log.
func (f *fitness) passed(report *doctor.Report) {
	f.entry.Event, f.entry.Servers = trust.LogDoctorPassed, len(report.Servers)
	f.entry.Floors = &trust.LogFloors{Version: f.floors.Version, ControlLine: f.floors.ControlLine, Payload: f.floors.Payload}
	f.entry.Versions = nil
	for _, s := range report.Servers {
		f.entry.Versions = append(f.entry.Versions, cutTo(s.Version, 40))
	}
	slices.Sort(f.entry.Versions)
	f.entry.Versions = slices.Compact(f.entry.Versions)
	f.entry.Versions = f.entry.Versions[:min(mostVersions, len(f.entry.Versions))]
}

func loggedURLs(urls string) string { return cutTo(contract.Redact(redacted(urls)), mostURLs) }

// cutTo is the beginning of a text, as valid UTF-8.
func cutTo(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "")
}

// takes refuses a credential that is larger than what the floors were measured for, and that some server would not take.
func (f *fitness) takes(cred *mint.Credential) error {
	if f == nil || f.judge == nil {
		return nil
	}
	line := cred.ConnectBytes("") + f.dialer.contract.Broker.Margin
	if line <= f.floors.ControlLine {
		return nil
	}
	f.floors.ControlLine = line
	report := f.judge(f.floors)
	f.passed(report)
	return f.dialer.app.refuseUnfit(report)
}

// record writes the line of the log, before what it is about: what is not in the log is not done.
func (f *fitness) record(user string) error {
	if f == nil {
		return nil
	}
	f.entry.User = user
	return f.dialer.dir.AppendLog(f.dialer.space, f.entry, f.dialer.app.now())
}
