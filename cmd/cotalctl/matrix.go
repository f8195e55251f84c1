package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

type matrixCmd struct {
	Check matrixCheckCmd `cmd:"" help:"Load a contract and report everything that is wrong with it."`
	Show  matrixShowCmd  `cmd:"" help:"List the rows of a contract."`
}

type matrixCheckCmd struct {
	Path string `arg:"" optional:"" help:"Contract: an embedded name, or a directory. Default: every embedded contract." placeholder:"NAME|DIR"`
}

func (c *matrixCheckCmd) Run(a *app) error {
	names := []string{c.Path}
	if c.Path == "" {
		names = matrix.EmbeddedNames()
	}
	for _, name := range names {
		ct, err := loadContract(name)
		if err != nil {
			return err
		}
		if err := compiles(ct); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s: ok: %d rows, %d profiles, %d resources, %d consumers, %d invariants, %d residuals\n", ct.Name,
			len(ct.Rows), len(ct.Profiles), len(ct.Resources), len(ct.Consumers), len(ct.Invariants), len(ct.Residuals))
	}
	return nil
}

// Help is the example under the flags.
func (matrixCheckCmd) Help() string { return "Example: cotalctl matrix check my-contract" }

// Help is the example under the flags.
func (matrixShowCmd) Help() string {
	return "Example: cotalctl matrix show --profile agent\n\nLists of records go into a file for -f, in the shape that is shown: capabilities: [{endpoint: com.acme.deploy, commands: [{name: start, class: ephemeral, rails: [one], targets: [self]}]}]"
}

// compiles compiles every profile in every account of every topology for sample parameters: what only the compiler sees, such
// as a subscribe that no deny can close, is wrong with the contract and not with its first user's parameters.
func compiles(c *contract.Contract) error {
	var probs contract.Problems
	for _, t := range c.Topologies {
		err := sampleScopes(c, t, func(p *contract.Profile, scope *compile.Scope, err error) error {
			probs = append(probs, problemsOf(err, t, p)...)
			for _, account := range compile.Accounts(c, t, p) {
				if scope != nil {
					_, err := compile.Compile(scope, account)
					probs = append(probs, problemsOf(err, t, p)...)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return probs.Err()
}

func problemsOf(err error, t *contract.Topology, p *contract.Profile) contract.Problems {
	var probs contract.Problems
	var one *contract.Problem
	switch {
	case err == nil, errors.As(err, &probs):
		return probs
	case errors.As(err, &one):
		return contract.Problems{one}
	}
	return contract.Problems{{Pos: p.Pos, What: fmt.Sprintf("profile %s, topology %s: %s", p.Name, t.Name, err)}}
}

type matrixShowCmd struct {
	Profile  string `help:"Only the rows of this profile, and its parameters." placeholder:"NAME"`
	Deputies bool   `help:"With -o markdown: what every profile can have the server place, in place of the page of the contract."`
	Space    string `help:"Space whose record names the contract. Default: the directory's only one." placeholder:"NAME"`
	dirFlag
	contractFlags
	Invariants bool   `help:"With -o markdown: the page of the contract's invariants."`
	Scoped     bool   `help:"With -o markdown: which profiles can be the scope of a signing key."`
	Output     string `short:"o" enum:"text,json,markdown" default:"text" help:"Output format: text, json, or markdown for a page of the whole contract."`
}

// matrixDocument is the JSON form of a contract's rows.
type matrixDocument struct {
	Schema   string          `json:"schema"`
	Contract string          `json:"contract"`
	Rows     []matrixRow     `json:"rows"`
	Profiles []matrixProfile `json:"profiles"`
}

type matrixRow struct {
	ID        string   `json:"id"`
	Profile   string   `json:"profile"`
	Operation string   `json:"operation"`
	Effect    string   `json:"effect"`
	Target    string   `json:"target"`
	Class     string   `json:"class"`
	Cite      string   `json:"cite"`
	Residuals []string `json:"residuals"`
}

type matrixProfile struct {
	Name     string      `json:"name"`
	Trust    string      `json:"trust"`
	Lifetime string      `json:"lifetime"`
	Account  string      `json:"account"`
	Params   []showParam `json:"params"`
}

func (c *matrixShowCmd) Run(a *app) error {
	ct, topology, _, err := c.loadFor(a, c.Dir, c.Space, mustExist)
	if err != nil {
		return err
	}
	if c.Profile != "" {
		if _, err := findProfile(ct, c.Profile); err != nil {
			return err
		}
	}
	if c.Deputies && (c.Output != "markdown" || c.Profile != "") {
		return usage(errors.New("--deputies goes with -o markdown and without --profile"), "cotalctl audit --deputies prints the table as text")
	}
	if c.Invariants && (c.Output != "markdown" || c.Profile != "") {
		return usage(errors.New("--invariants goes with -o markdown, for the whole contract"), "text and JSON have them from cotalctl audit --list")
	}
	if c.Scoped && (c.Output != "markdown" || c.Profile != "") {
		return usage(errors.New("--scoped goes with -o markdown, for the whole contract"), "cotalctl compile PROFILE --scoped prints one template")
	}
	if c.Output == "markdown" {
		return c.markdown(a, ct)
	}
	doc := matrixDocument{Schema: "cotalctl/matrix/v1", Contract: ct.Name, Rows: []matrixRow{}, Profiles: []matrixProfile{}}
	for _, row := range ct.Rows {
		for _, p := range row.Profiles {
			if c.Profile == "" || p == c.Profile || p == "*" && row.Holds(c.Profile) {
				doc.Rows = append(doc.Rows, showRow(row, p))
			}
		}
	}
	for _, p := range contract.Sorted(ct.Profiles) {
		if c.Profile == "" || p.Name == c.Profile {
			doc.Profiles = append(doc.Profiles, matrixProfile{p.Name, p.Trust, lifetime(p), topology.Account(p.Name, p.Home), showParams(ct, p)})
		}
	}
	if c.Output == "json" {
		return writeJSON(a.stdout, doc)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ROW\tPROFILE\tOPERATION\tTARGET\tCLASS\tCITATION\tRESIDUALS")
	for _, r := range doc.Rows {
		op := r.Operation
		if r.Effect == "deny" {
			op = "deny " + op
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Profile, op, r.Target, r.Class, r.Cite, strings.Join(r.Residuals, " "))
	}
	if err := w.Flush(); err != nil || c.Profile == "" {
		return err
	}
	return printParams(a.stdout, ct, ct.Profiles[c.Profile])
}

// markdown prints the reference page. It has a column per topology, so that none is chosen.
func (c *matrixShowCmd) markdown(a *app, ct *contract.Contract) error {
	if c.Topology != "" {
		return usage(errors.New("--topology goes with text and json, got -o markdown"), "the page shows every topology")
	}
	render := func() (string, error) { return matrixPage(ct, c.Profile) }
	switch {
	case c.Deputies:
		render = func() (string, error) { return deputiesPage(ct) }
	case c.Scoped:
		render = func() (string, error) { return scopedPage(ct) }
	case c.Invariants:
		render = func() (string, error) { return invariantsPage(ct) }
	}
	text, err := render()
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.stdout, text)
	return err
}

func showRow(row *contract.Row, profile string) matrixRow {
	r := matrixRow{ID: row.ID, Profile: profile, Operation: string(row.Op.Kind), Effect: "allow", Target: target(&row.Op),
		Class: row.Class, Cite: row.Cite, Residuals: slices.Clone(row.Residuals)}
	if row.Deny {
		r.Effect = "deny"
	}
	if r.Residuals == nil {
		r.Residuals = []string{}
	}
	return r
}

// target says in one phrase what an operation acts on, as the row writes it.
func target(op *contract.Op) string {
	switch op.Kind {
	case contract.OpConsume:
		return strings.Join(op.Verbs, ",") + " " + cmp.Or(op.Consumer, op.Resource+"/"+op.Name.String())
	case contract.OpRead:
		return op.How + " " + op.Resource
	case contract.OpKV:
		return op.Verbs[0] + " " + op.Resource + "/" + op.Key.String()
	case contract.OpStream:
		return strings.Join(op.Verbs, ",") + " " + op.Resource
	case contract.OpServe:
		return op.Subject.String() + " queue " + op.Queue.String()
	}
	return op.Subject.String()
}

func lifetime(p *contract.Profile) string {
	if p.Lifetime.Class == contract.LifetimeNone {
		return contract.LifetimeNone
	}
	return fmt.Sprintf("%s %s", p.Lifetime.Class, p.Lifetime.Default)
}
