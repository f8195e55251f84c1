package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/cotalctl/cotalctl/audit"
)

// rulesDocument is the JSON form of the rules of an audit.
type rulesDocument struct {
	Schema string       `json:"schema"`
	Rules  []audit.Rule `json:"rules"`
}

// list prints the rules, without judging anything.
func (c *auditCmd) list(a *app, rules []audit.Rule) error {
	switch {
	case len(c.Paths) > 0:
		return usage(errors.New("--list beside a path"), "it lists the rules and judges nothing")
	case c.Output == audit.FormatJSON:
		return writeJSON(a.stdout, rulesDocument{"cotalctl/rules/v1", rules})
	case c.Output != audit.FormatText:
		return usage(fmt.Errorf("--list goes with text and json, got -o %s", c.Output), "sarif and junit list every rule beside its findings")
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CODE\tSEVERITY\tTITLE\tCITATION")
	for i := range rules {
		r := &rules[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Code, r.Severity, r.Title, r.Cite)
	}
	return w.Flush()
}
