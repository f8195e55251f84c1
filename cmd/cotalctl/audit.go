package main

import (
	"errors"
	"fmt"

	"github.com/cotalctl/cotalctl/audit"
)

type auditCmd struct {
	Paths    []string `arg:"" optional:"" help:"Credentials (.creds), JWTs of users, accounts and operators, server configurations, compiled sets (JSON), directories of these, - for stdin. Default: the contract itself." placeholder:"PATH"`
	Deputies bool     `help:"Print what holders can have the server place, by class, store and row. The exit code is the findings'."`
	Space    string   `help:"Space whose record names the contract. Default: the directory's only one." placeholder:"NAME"`
	// ControlLine is asked for, not taken from the contract: the servers of foreign credentials are not known.
	ControlLine int `help:"Judge whether a JWT's CONNECT fits a max_control_line of so many bytes. Default: not judged." placeholder:"N"`
	dirFlag
	contractFlags
	outputFlag
	ruleFlags
}

// Help is the example under the flags.
func (auditCmd) Help() string {
	return "Example: cotalctl audit alice.creds -o json\n\nExit 3 where a finding is an error. Residuals that the contract declares are notes."
}

func (c *auditCmd) Run(a *app) error {
	if c.ControlLine < 0 {
		return usage(fmt.Errorf("--control-line, got %d, want a number of bytes", c.ControlLine), "")
	}
	if c.TestRules {
		return c.test(a)
	}
	ruler, err := c.ruler(a)
	if err != nil {
		return err
	}
	ct, topology, space, err := c.loadFor(a, c.Dir, c.Space, mustExist)
	if err != nil {
		return err
	}
	cfg := audit.Config{Contract: ct, Topology: topology.Name, Space: space, Now: a.now(), Stdin: a.stdin, ControlLine: c.ControlLine, Rules: ruler}
	var report *audit.Report
	if len(c.Paths) == 0 {
		report, err = audit.Contract(cfg)
	} else {
		report, err = audit.Paths(cfg, c.Paths)
	}
	if collector, ok := ruler.(*audit.Collector); ok {
		return errors.Join(collector.WriteJSON(a.stdout), err)
	}
	if report != nil {
		if perr := c.print(a, report); perr != nil {
			return perr
		}
	}
	switch {
	case err != nil:
		return err
	case report.Errors() > 0:
		return errFindings
	}
	return nil
}

func (c *auditCmd) print(a *app, report *audit.Report) error {
	if c.json() {
		return report.WriteJSON(a.stdout)
	}
	if c.Deputies {
		return report.WriteDeputies(a.stdout)
	}
	return report.WriteText(a.stdout)
}
