package main

import (
	"fmt"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/provision"
)

// Lifecycles of a contract that have commands here.
const (
	lifecyclePrincipal = "principal" // of one (owner, actor, uid, role)
	lifecycleEndpoint  = "endpoint"  // of one endpoint and an instance of it
	lifecycleInstance  = "instance"  // of that instance alone
)

// holderFlags name the holder of a lifecycle in a space.
type holderFlags struct {
	Space string `help:"Space; may be left out where the directory has one." placeholder:"NAME"`
	dirFlag
	paramFlags
	serverFlags
	planFlags
}

type provisionPrincipalCmd struct {
	holderFlags
	fitFlags
}

// Help is the example under the flags.
func (provisionPrincipalCmd) Help() string {
	return "Example: cotalctl provision principal --space main --set owner=local --set actor=alice --set uid=… --set role=reviewer " +
		"--set 'allowSubscribe=team.>'\n\n" +
		"Durables for the read mediator stand where the file names readers: readers: [{dec: {endpoint: com.acme.deploy}}]"
}

func (c *provisionPrincipalCmd) Run(a *app) error {
	return c.run(a, lifecyclePrincipal, (*provision.Session).PlanLifecycle, (*spaceWork).mintable, &fitRequest{c.fitFlags, "provision principal"})
}

type deprovisionPrincipalCmd struct{ holderFlags }

// Help is the example under the flags.
func (deprovisionPrincipalCmd) Help() string {
	return "Example: cotalctl deprovision principal --space main --set owner=local --set actor=alice --set uid=… --plan\n\n" +
		"Readers are removed as the file names them: give the file that they were provisioned with."
}

func (c *deprovisionPrincipalCmd) Run(a *app) error {
	err := c.run(a, lifecyclePrincipal, (*provision.Session).PlanRemoval, nil, nil)
	if err == nil && !c.Plan {
		fmt.Fprintln(a.stderr, "cotalctl: note: credentials minted for it stay valid until they expire, and its identity cannot be provisioned again")
	}
	return err
}

type provisionEndpointCmd struct {
	holderFlags
	fitFlags
}

// Help is the example under the flags.
func (provisionEndpointCmd) Help() string {
	return "Example: cotalctl provision endpoint --space main -f serve.yaml --plan\n\n" +
		"serve.yaml: {name: com.acme.deploy, instance: …, epoch: \"0\", " +
		"commands: [{name: start, class: journal, action: true}], pools: [work], timers: true}\n\n" +
		"Its service record and governance are the registration's to write. owner and actor, where they are given, are its principal."
}

func (c *provisionEndpointCmd) Run(a *app) error {
	return c.run(a, lifecycleEndpoint, (*provision.Session).PlanLifecycle, (*spaceWork).mintable, &fitRequest{c.fitFlags, "provision endpoint"})
}

type deprovisionEndpointCmd struct {
	InstanceOnly bool `help:"Remove what is this instance's alone: the effects and pool durables, which all instances share, stay."`
	holderFlags
}

// Help is the example under the flags.
func (deprovisionEndpointCmd) Help() string {
	return "Example: cotalctl deprovision endpoint --space main -f serve.yaml --plan\n\n" +
		"The effects and pool durables are those of all instances: until the endpoint's last one, give --instance-only. " +
		"Stored facts and work stay."
}

func (c *deprovisionEndpointCmd) Run(a *app) error {
	lifecycle := lifecycleEndpoint
	if c.InstanceOnly {
		lifecycle = lifecycleInstance
	}
	err := c.run(a, lifecycle, (*provision.Session).PlanRemoval, nil, nil)
	if err == nil && !c.Plan {
		fmt.Fprintln(a.stderr, "cotalctl: note: credentials minted for it stay valid until they expire; "+
			"stored facts and work stay, and are delivered again to durables made anew")
	}
	return err
}

// run plans and applies for one holder. check and the doctor come first, where they are not nil: a removal has neither, so that
// whatever was once provisioned can go.
func (c holderFlags) run(a *app, lifecycle string, planner planLifecycle, check func(*spaceWork, string, compile.Input) error, fit *fitRequest) error {
	p, err := a.open(spaceRequest{dir: c.Dir, name: c.Space, server: c.serverFlags, fit: fit})
	if err != nil {
		return err
	}
	defer p.close()
	in, err := p.holder(lifecycle, c.paramFlags)
	if err != nil {
		return err
	}
	if check != nil {
		if err := check(p, lifecycle, in); err != nil {
			return err
		}
	}
	plan, err := p.lifecycle(planner, lifecycle, in)
	if err != nil {
		return err
	}
	return c.finish(a, plan, func() error {
		if err := p.begin(plan); err != nil {
			return err
		}
		return plan.Apply(a.ctx, a.progress)
	})
}

// holder reads and checks the parameters of a lifecycle's holder.
func (w *spaceWork) holder(lifecycle string, flags paramFlags) (compile.Input, error) {
	decl, ok := w.contract.Lifecycles[lifecycle]
	if !ok {
		return compile.Input{}, failed(fmt.Errorf("contract %s declares no lifecycle %q", w.contract.Name, lifecycle), "")
	}
	profile := w.contract.Profiles[decl.Profile]
	in, err := flags.input(profile, w.name)
	if err != nil {
		return in, err
	}
	_, err = newScope(w.contract, w.topology, profile, in)
	return in, err
}

// mintable refuses a holder that could get no credential: everything that compile and mint refuse of its parameters.
func (w *spaceWork) mintable(lifecycle string, in compile.Input) error {
	profile := w.contract.Profiles[w.contract.Lifecycles[lifecycle].Profile]
	scope, err := newScope(w.contract, w.topology, profile, in)
	if err != nil {
		return err
	}
	_, err = granted(w.contract, w.topology, scope, profile, compile.Accounts(w.contract, w.topology, profile))
	return err
}
