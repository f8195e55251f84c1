package main

import (
	"os"

	"github.com/cotalctl/cotalctl/audit"
)

type auditCmd struct {
	Paths  []string `arg:"" optional:"" help:"Credentials (.creds, user JWTs), compiled sets (JSON), directories of these. Default: the contract itself." placeholder:"PATH"`
	Space  string   `help:"Space whose record names the contract. Default: the directory's only one." placeholder:"NAME"`
	FailOn string   `enum:"error,warning,note" default:"error" help:"Exit 3 on findings of this severity and above: error, warning or note." placeholder:"SEVERITY"`
	List   bool     `help:"List every rule that the audit judges by, and judge nothing."`
	dirFlag
	contractFlags
	auditOutputFlag
}

// auditOutputFlag is the outputFlag of a command with forms that other tools read; neither changes the exit code.
type auditOutputFlag struct {
	Output string `short:"o" enum:"text,json,sarif,junit" default:"text" help:"Output format: text, json, sarif or junit."`
}

// Help is the example under the flags.
func (auditCmd) Help() string {
	return "Example: cotalctl audit alice.creds -o json\n\nExit 3 where a finding is an error, or as severe as --fail-on says; exit 1, which comes before it, where something could not be judged. Residuals that the contract declares are notes."
}

func (c *auditCmd) Run(a *app) error {
	ct, topology, space, err := c.loadFor(a, c.Dir, c.Space, mustExist)
	if err != nil {
		return err
	}
	if c.List {
		return c.list(a, audit.Rules(ct))
	}
	cfg := audit.Config{Contract: ct, Topology: topology.Name, Space: space, Now: a.now()}
	var report *audit.Report
	if len(c.Paths) == 0 {
		report, err = audit.Contract(cfg)
	} else {
		report, err = audit.Paths(cfg, c.Paths)
	}
	if report != nil {
		if perr := c.print(a, report); perr != nil {
			return perr
		}
	}
	switch {
	case err != nil:
		return err
	case report.Failing(c.FailOn) > 0:
		return errFindings
	}
	return nil
}

func (c *auditCmd) print(a *app, report *audit.Report) error {
	wd, err := os.Getwd()
	if err != nil {
		wd = "" // files are named as they were given
	}
	return report.Write(a.stdout, audit.Render{Format: c.Output, Color: colors(a.stdout, os.Getenv), Version: toolVersion(), Dir: wd, FailOn: c.FailOn})
}
