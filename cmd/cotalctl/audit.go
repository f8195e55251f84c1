package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/internal/trust"
)

type auditCmd struct {
	Paths    []string `arg:"" optional:"" help:"Credentials (.creds), JWTs of users, accounts and operators, server configurations, compiled sets (JSON), directories of these, - for stdin. Default: the contract itself. With --contract none: no contract judges them." placeholder:"PATH"`
	Deputies bool     `help:"Print what holders can have the server place, by class, store and row. The exit code is the findings'."`
	Notes    bool     `help:"Show the notes, in text and SARIF: what the contract declares, and what is only worth knowing."`
	Space    string   `help:"Space whose record names the contract. Default: the directory's only one." placeholder:"NAME"`
	// ControlLine is asked for, not taken from the contract: the servers of foreign credentials are not known.
	ControlLine int    `help:"Judge whether a JWT's CONNECT fits a max_control_line of so many bytes. Default: not judged." placeholder:"N"`
	FailOn      string `enum:"error,warning,note" default:"error" help:"Exit 3 on findings of this severity and above: error, warning or note." placeholder:"SEVERITY"`
	Known       string `name:"baseline" xor:"baseline" help:"File of findings that are known: they are reported apart and do not count." placeholder:"FILE"`
	Write       string `name:"write-baseline" xor:"baseline" help:"Write the findings that would fail to FILE, and take them for known." placeholder:"FILE"`
	List        bool   `help:"List every rule that the audit judges by, and judge nothing."`
	dirFlag
	contractFlags
	auditOutputFlag
	ruleFlags
}

// auditOutputFlag is the outputFlag of a command with forms that other tools read; neither changes the exit code.
type auditOutputFlag struct {
	Output string `short:"o" enum:"text,json,sarif,junit" default:"text" help:"Output format: text, json, sarif or junit."`
}

// Help is the example under the flags.
func (auditCmd) Help() string {
	return "Example: cotalctl audit alice.creds -o json\n\nExit 3 where a finding is an error, or as severe as --fail-on says; exit 1, which comes before it, where something could not be read or run. Residuals that the contract declares are notes; --notes shows them."
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
	cfg := audit.Config{Now: a.now(), Stdin: a.stdin, ControlLine: c.ControlLine, Rules: ruler}
	if err := c.contract(a, &cfg); err != nil {
		return err
	}
	if err := c.provisioned(a, &cfg); err != nil {
		return err
	}
	if c.List {
		return c.list(a, audit.AllRules(cfg.Contract, ruler))
	}
	return c.judge(a, cfg)
}

// noContract is what --contract says for generic hygiene alone; a directory of that name is ./none.
const noContract = "none"

// contract finds what is judged by. Where nothing names one, it is taken only if what is judged speaks of it.
func (c *auditCmd) contract(a *app, cfg *audit.Config) error {
	if c.Contract == noContract {
		switch {
		case c.Topology != "" || c.Space != "" || a.given["dir"]:
			return usage(errors.New("--contract none beside --topology, --space or --dir, which are of a contract"), "leave them out")
		case len(c.Paths) == 0 && !c.List:
			return usage(errors.New("--contract none, got nothing to judge"), "name credentials, or a directory of them")
		}
		return nil
	}
	ct, topology, space, err := c.loadFor(a, c.Dir, c.Space, mustExist)
	if err != nil {
		return err
	}
	spaces, err := spacesIn(c.Dir)
	if err != nil {
		return err
	}
	cfg.Contract, cfg.Topology, cfg.Space = ct, topology.Name, space
	cfg.Unnamed = c.Contract == "" && c.Topology == "" && space == "" && len(spaces) == 0 && !a.given["dir"]
	return nil
}

// provisioned finds the operators and the accounts of the directory, unless another's contract judges, and of those that are judged whole.
func (c *auditCmd) provisioned(a *app, cfg *audit.Config) error {
	dirs := c.Paths
	if c.Contract == "" || a.given["dir"] {
		dirs = append([]string{c.Dir}, dirs...)
	}
	for i, path := range dirs {
		d, err := openIfMade(path)
		if i < len(dirs)-len(c.Paths) && err != nil {
			return err
		}
		if err != nil || d == nil {
			continue // a path is judged as what it is
		}
		tokens, err := d.JWTs()
		if err != nil {
			return err
		}
		cfg.Provisioned = append(cfg.Provisioned, tokens...)
	}
	return nil
}

func (c *auditCmd) judge(a *app, cfg audit.Config) error {
	var known *audit.Baseline
	var err error
	if c.Known != "" {
		if known, err = audit.ReadBaseline(c.Known, audit.AllRules(cfg.Contract, cfg.Rules)...); err != nil { // before anything long is begun
			return err
		}
	}
	if c.Write != "" {
		if err := audit.BaselineTarget(c.Write); err != nil {
			return err
		}
	}
	var report *audit.Report
	if len(c.Paths) == 0 {
		report, err = audit.Contract(cfg)
	} else {
		report, err = audit.Paths(cfg, c.Paths)
	}
	if collector, ok := cfg.Rules.(*audit.Collector); ok {
		return errors.Join(collector.WriteJSON(a.stdout), err)
	}
	if report != nil {
		if why := report.Why(); why != "" {
			fmt.Fprintf(a.stderr, "cotalctl: %s\n", why)
		}
		if perr := c.show(a, report, known); perr != nil {
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

// show prints the report, with what a baseline knows, or is now written to know, apart.
func (c *auditCmd) show(a *app, report *audit.Report, known *audit.Baseline) error {
	if c.Write != "" {
		var err error
		if known, err = c.writeBaseline(a, report); err != nil {
			return err
		}
	}
	if known != nil {
		report.Known(known)
	}
	return c.print(a, report)
}

func (c *auditCmd) writeBaseline(a *app, report *audit.Report) (*audit.Baseline, error) {
	b, err := report.NewBaseline(c.Write, c.FailOn)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := b.Write(&text); err != nil {
		return nil, err
	}
	if err := trust.ReplaceFile(c.Write, text.Bytes()); err != nil {
		return nil, err
	}
	fmt.Fprintf(a.stderr, "cotalctl: wrote %s: %d findings\n", c.Write, b.Len())
	return b, nil
}

func (c *auditCmd) print(a *app, report *audit.Report) error {
	if c.Deputies && c.Output == "text" {
		return report.WriteDeputies(a.stdout)
	}
	wd, err := os.Getwd()
	if err != nil {
		wd = "" // files are named as they were given
	}
	return report.Write(a.stdout, audit.Render{Format: c.Output, Color: colors(a.stdout, os.Getenv), Version: toolVersion(), Dir: wd, FailOn: c.FailOn, Notes: c.Notes})
}
