package main

import (
	"cmp"
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

// listedTitle is how much of a title a line has room for.
const listedTitle = 60

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if list := []rune(text); len(list) > most {
		return string(list[:most-1]) + "…"
	}
	return text
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
	fmt.Fprintln(w, "CODE\tSEVERITY\tTITLE\tPAGE")
	for i := range rules {
		r := &rules[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Code, r.Severity, cut(r.Title, listedTitle), cmp.Or(r.Page, r.Cite))
	}
	return w.Flush()
}
