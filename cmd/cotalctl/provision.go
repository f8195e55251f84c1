package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/provision"
)

type provisionCmd struct {
	Space     provisionSpaceCmd     `cmd:"" help:"Create or verify a space: accounts, streams, buckets, durables, first records."`
	Principal provisionPrincipalCmd `cmd:"" help:"Create or verify the durables and records of one principal."`
	Endpoint  provisionEndpointCmd  `cmd:"" help:"Create or verify the durables of one endpoint, as its serve file says."`
	Scoped    provisionScopedCmd    `cmd:"" help:"Create or verify a scoped signing key: the template of a profile, whose users carry tags alone."`
}

type deprovisionCmd struct {
	Principal deprovisionPrincipalCmd `cmd:"" help:"Remove exactly the durables and records of one principal."`
	Endpoint  deprovisionEndpointCmd  `cmd:"" help:"Remove exactly the durables of one endpoint."`
	Scoped    deprovisionScopedCmd    `cmd:"" help:"Remove a scoped signing key, which disconnects its users."`
}

// serverFlags reach a broker that is not the directory's own.
type serverFlags struct {
	Server  string   `help:"Server URLs. Default: the broker that runs on the directory, else an embedded one." placeholder:"URL[,URL…]"`
	Timeout waitFlag `default:"10s" help:"Longest wait for a server." placeholder:"DURATION"`
	tlsFlags
}

type planFlags struct {
	Plan bool `help:"Print what would change and change nothing."`
	outputFlag
}

// planDocument is the JSON form of a plan and what became of it.
type planDocument struct {
	*provision.Plan
	Applied bool `json:"applied"`
}

// finish is carryOut of a plan whose updates bring back what differs from the contract: found, they are drift.
func (f planFlags) finish(a *app, plan *provision.Plan, apply func() error) error {
	if err := f.carryOut(a, plan, apply); err != nil || !f.Plan {
		return err
	}
	if drift := plan.Drift(); drift > 0 {
		return refused(fmt.Errorf("%d of %d differ from the contract", drift, len(plan.Actions)), "run it without --plan to bring them back")
	}
	return nil
}

// carryOut prints a plan, and applies it unless only the plan was asked for or something of it is refused.
func (f planFlags) carryOut(a *app, plan *provision.Plan, apply func() error) error {
	refusal := plan.Refused()
	if f.Plan || len(refusal) > 0 {
		if err := f.print(a.stdout, plan, false); err != nil {
			return err
		}
		if len(refusal) > 0 {
			return refused(&provision.RefusedError{Actions: refusal}, "put right what the refused lines say, then run it again")
		}
		return nil
	}
	if err := apply(); err != nil {
		return err
	}
	return f.print(a.stdout, plan, true)
}

func (f planFlags) print(w io.Writer, plan *provision.Plan, applied bool) error {
	if f.json() {
		return writeJSON(w, planDocument{plan, applied})
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	count := map[string]int{}
	for _, act := range plan.Actions {
		count[act.Action]++
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", act.Action, act.Kind, act.Name, act.Reason)
		for _, d := range act.Diff {
			fmt.Fprintf(tw, "\t\t  %s\n", d) // no cell of its own: a long line widens no column
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	verb := "planned"
	if applied {
		verb = "applied"
	}
	of := "system account"
	if plan.Space != "" {
		of = "space " + plan.Space
	}
	fmt.Fprintf(w, "%s: %d actions %s", of, len(plan.Actions), verb)
	for _, k := range contract.SortedKeys(count) {
		fmt.Fprintf(w, ", %d %s", count[k], k)
	}
	fmt.Fprintln(w)
	return nil
}

// progress reports applied steps where somebody watches.
func (a *app) progress(act provision.Action) {
	if isTerminal(a.stderr) {
		fmt.Fprintf(a.stderr, "cotalctl: %s %s %s\n", act.Action, act.Kind, act.Name)
	}
}

type provisionSpaceCmd struct {
	Name       string `arg:"" help:"Name of the space."`
	Deployment string `help:"Deployment profile, which sets the default delivery class (§7): local or public. Default: local." placeholder:"local|public"`
	Replicas   *int   `help:"Replicas of every stream and bucket, 1 to 5. Default: 1." placeholder:"N"`
	Creds      string `type:"path" help:"System credential that may push account JWTs. Default: the directory's." placeholder:"FILE"`
	dirFlag
	contractFlags
	serverFlags
	fitFlags
	planFlags
}

// Help is the example under the flags.
func (provisionSpaceCmd) Help() string {
	return "Example: cotalctl provision space main --dir D --plan\n\nA second run changes nothing. A change that would weaken a protected setting is refused."
}

func (c *provisionSpaceCmd) Run(a *app) error {
	settings := map[string]string{}
	if c.Deployment != "" {
		settings["deployment"] = c.Deployment
	}
	replicas := 0
	if c.Replicas != nil {
		if replicas = *c.Replicas; replicas < 1 || replicas > 5 {
			return usage(fmt.Errorf("--replicas, got %d, want 1 to 5", replicas), "")
		}
	}
	p, err := a.prepare(spaceRequest{dir: c.Dir, name: c.Name, contractFlags: c.contractFlags, settings: settings, replicas: replicas,
		server: c.serverFlags, creds: c.Creds, planOnly: c.Plan, fit: &fitRequest{c.fitFlags, "provision space"}})
	if err != nil {
		return err
	}
	defer p.close()
	plan, err := p.plan()
	if err != nil {
		return err
	}
	return c.finish(a, plan, func() error {
		if err := p.begin(plan); err != nil {
			return err
		}
		return p.apply(plan)
	})
}
