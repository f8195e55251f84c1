package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cotalctl/cotalctl/internal/embedded"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

type demoCmd struct {
	outputFlag
}

// Help is the example under the flags.
func (demoCmd) Help() string {
	return "The seven steps of §12 with real clients on minted credentials, and beside each the attempt that must be refused.\n\nNothing is kept. Exit 3 where any line fails.\n\nExample: cotalctl demo"
}

// demoDocument is the JSON form of a demo run.
type demoDocument struct {
	Schema string     `json:"schema"`
	Steps  []demoStep `json:"steps"`
	Failed int        `json:"failed"`
}

type demoStep struct {
	Title string     `json:"title"`
	Lines []demoLine `json:"lines"`
}

// demoLine is one attempt: what was tried, what must come of it, what the broker answered.
type demoLine struct {
	Tried  string `json:"tried"`
	Expect string `json:"expect"` // "accepted", "refused" or "residual"
	Answer string `json:"answer"`
	Pass   bool   `json:"pass"`
}

func (c *demoCmd) Run(a *app) error {
	dir, err := os.MkdirTemp("", "cotalctl-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d := &demo{app: a, dir: filepath.Join(dir, "space"), text: !c.json(), doc: demoDocument{Schema: "cotalctl/demo/v1", Steps: []demoStep{}}}
	defer d.close()
	if err := d.run(); err != nil {
		return err
	}
	if c.json() {
		if err := writeJSON(a.stdout, d.doc); err != nil {
			return err
		}
	} else {
		d.summary()
	}
	if d.doc.Failed > 0 {
		return errFindings
	}
	return nil
}

// demo is one run: a space in a directory of its own, its broker, and the clients that take part.
type demo struct {
	app     *app
	dir     string
	text    bool
	doc     demoDocument
	work    *spaceWork
	trust   *trust.Dir
	broker  *embedded.Server
	clients []*demoClient
}

func (d *demo) close() {
	for _, c := range d.clients {
		c.nc.Close()
	}
	if d.work != nil {
		d.work.close()
	}
	if d.broker != nil {
		if err := d.broker.Shutdown(); err != nil {
			fmt.Fprintf(d.app.stderr, "cotalctl: warning: broker: %s\n", err)
		}
	}
}

func (d *demo) run() error {
	for _, step := range []func() error{d.provision, d.connect, d.join, d.multicast, d.unicast, d.anycast, d.lateJoiner, d.residual} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) step(title string) {
	d.doc.Steps = append(d.doc.Steps, demoStep{Title: title, Lines: []demoLine{}})
	if d.text {
		fmt.Fprintf(d.app.stdout, "\n%s\n", title)
	}
}

// line records one attempt.
func (d *demo) line(expect, tried, answer string, pass bool) {
	s := &d.doc.Steps[len(d.doc.Steps)-1]
	s.Lines = append(s.Lines, demoLine{Tried: tried, Expect: expect, Answer: answer, Pass: pass})
	verdict := "pass"
	if !pass {
		verdict = "FAIL"
		d.doc.Failed++
	}
	if d.text {
		fmt.Fprintf(d.app.stdout, "  %s  %-8s  %s\n                  → %s\n", verdict, expect, tried, answer)
	}
}

// accepted records an operation that must work.
func (d *demo) accepted(tried, answer string, err error) {
	if err != nil {
		answer = err.Error()
	}
	d.line("accepted", tried, answer, err == nil)
}

// refused records an operation that the broker must deny: a timeout or another error is a failure, not a denial.
func (d *demo) refused(tried string, denial string, err error) {
	if err != nil {
		denial = err.Error()
	}
	d.line("refused", tried, denial, err == nil)
}

func (d *demo) summary() {
	n := 0
	for _, s := range d.doc.Steps {
		n += len(s.Lines)
	}
	fmt.Fprintf(d.app.stdout, "\n%d attempts, %d failed\n", n, d.doc.Failed)
}

// provision makes the space as "cotalctl provision space main" does, then runs a broker with a listener on it.
func (d *demo) provision() error {
	d.step("1. Provision a space and credentials for Alice and Bob")
	req := spaceRequest{dir: d.dir, name: "main", settings: map[string]string{}, server: serverFlags{Timeout: waitFlag(10 * time.Second)}}
	w, err := d.app.prepare(req)
	if err != nil {
		return err
	}
	plan, err := w.plan()
	if err == nil {
		err = w.apply(plan)
	}
	w.close()
	if err != nil {
		return err
	}
	d.accepted("provision space main on an embedded broker", fmt.Sprintf("%d streams, buckets, durables and records created", plan.Pending()), nil)
	if err := d.start(req); err != nil {
		return err
	}
	for _, p := range []*principal{&alice, &bob, &carol, &rita, &ron} {
		plan, err := d.work.lifecycle((*provision.Session).PlanLifecycle, lifecyclePrincipal, p.input())
		if err == nil {
			err = plan.Apply(d.app.ctx, nil)
		}
		if err != nil {
			return fmt.Errorf("principal %s: %w", p.actor, err)
		}
		d.accepted("provision principal "+p.id().Dot(), fmt.Sprintf("%d durables and records", len(plan.Actions)), nil)
	}
	again, err := d.work.plan()
	if err != nil {
		return err
	}
	d.line("accepted", "provision space main again", fmt.Sprintf("%d changes planned", again.Pending()), again.Pending() == 0)
	return nil
}

// start runs the broker and opens the space on it.
func (d *demo) start(req spaceRequest) error {
	var err error
	if d.trust, err = trust.Open(d.dir); err != nil {
		return err
	}
	if d.broker, err = embedded.Start(d.app.ctx, embedded.Options{Dir: d.trust, Announce: true, Config: trust.ServerOptions{Port: -1}}); err != nil {
		return err
	}
	req.server.Server = d.broker.ClientURL()
	d.work, err = d.app.open(req)
	return err
}
