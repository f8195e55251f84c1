package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
)

type compileCmd struct {
	Profile string `arg:"" help:"Profile to compile."`
	Space   string `help:"Space to compile for. Default: the directory's only one, else main." placeholder:"NAME"`
	Account string `help:"Account of the topology. Default: every account in which the profile has rows." placeholder:"NAME"`
	Scoped  bool   `help:"Print the template of a scoped signing key: what is given is fixed, the rest is left to its users' tags."`
	dirFlag
	contractFlags
	paramFlags
	outputFlag
}

// Help is the example under the flags.
func (compileCmd) Help() string {
	return "Example: cotalctl compile agent --set owner=local --set actor=alice --set uid=aaaaaaaaaaaaaaaaaaaaaaaaaa --set 'allowSubscribe=team.>' -o json\n\n" +
		"Where connId is not given, a key of A's stands for the credential's own key."
}

func (c *compileCmd) Run(a *app) error {
	ct, topology, space, err := c.loadFor(a, c.Dir, c.Space, mayBeFree)
	if err != nil {
		return err
	}
	if space == "" {
		if names, err := spacesIn(c.Dir); err != nil || len(names) > 1 {
			return usage(errors.Join(fmt.Errorf("--space is missing, got %d spaces in %s", len(names), shown(c.Dir)), err),
				"name one of: "+strings.Join(names, ", "))
		}
		space = "main"
	}
	if err := checkSpaceName(ct, space); err != nil {
		return err
	}
	profile, err := findProfile(ct, c.Profile)
	if err != nil {
		return err
	}
	accounts := compile.Accounts(ct, topology, profile)
	if c.Account != "" {
		account, err := accountOf(ct, topology, profile, c.Account)
		if err != nil {
			return err
		}
		accounts = []string{account}
	}
	in, err := c.input(profile, space)
	if err != nil {
		return err
	}
	if c.Scoped {
		return c.templates(a, ct, topology, profile, in, accounts)
	}
	scope, err := newScope(ct, topology, profile, in)
	if err != nil {
		return err
	}
	docs, err := documents(ct, topology, scope, profile, accounts)
	if err != nil {
		return err
	}
	if c.json() {
		return writeJSON(a.stdout, compileDocument{docs[0], docs[1:]})
	}
	for i, doc := range docs {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		printSet(a.stdout, doc)
	}
	return nil
}

// compileDocument is the set of the profile's home account, or of the one that was asked for, with those of its other accounts
// beside it: a holder connects to each with a credential of its own.
type compileDocument struct {
	*compile.Document
	Accounts []*compile.Document `json:"accounts"`
}

// granted compiles a profile in each account: the one way to a set that somebody is given or shown. What grants nothing in any of them
// is refused, and what an invariant of the contract calls an error.
func granted(c *contract.Contract, t *contract.Topology, scope *compile.Scope, profile *contract.Profile,
	accounts []string) ([]*compile.PermissionSet, error) {
	out := make([]*compile.PermissionSet, len(accounts))
	for i, account := range accounts {
		set, err := compile.Compile(scope, account)
		if err != nil {
			return nil, badInput(err)
		}
		out[i] = set
	}
	if err := scope.Unused(); err != nil {
		return nil, badInput(err)
	}
	for _, set := range out {
		if err := gate(c, t, profile, scope, set); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// documents are the sets of a profile in each account.
func documents(c *contract.Contract, t *contract.Topology, scope *compile.Scope, profile *contract.Profile,
	accounts []string) ([]*compile.Document, error) {
	sets, err := granted(c, t, scope, profile, accounts)
	if err != nil {
		return nil, err
	}
	out := []*compile.Document{}
	for _, set := range sets {
		doc, err := document(set, profile, scope)
		if err != nil {
			return nil, err
		}
		out = append(out, doc)
	}
	return out, nil
}

// document adds the sizes that the set would have as a credential.
func document(set *compile.PermissionSet, profile *contract.Profile, scope *compile.Scope) (*compile.Document, error) {
	doc := set.Document()
	tags, err := scope.Tags()
	if err != nil {
		return nil, err
	}
	if doc.JWTBytes, err = mint.Size(set, profile, tags); err != nil {
		return nil, err
	}
	doc.ConnectBytes = mint.ConnectBytes(doc.JWTBytes, "")
	return doc, nil
}

func printSet(w io.Writer, d *compile.Document) {
	fmt.Fprintf(w, "%s of %s, space %s, account %s (%s): jwt %d bytes, connect %d bytes\n", d.Profile, d.Contract, d.Space, d.Account, d.Topology,
		d.JWTBytes, d.ConnectBytes)
	printLists(w, d.Pub, d.Sub)
}

func printLists(w io.Writer, pub, sub compile.List) {
	for _, dir := range []struct {
		name string
		list compile.List
	}{{"pub", pub}, {"sub", sub}} {
		fmt.Fprintf(w, "\n%s: %s\n", dir.name, dir.list.Mode)
		printEntries(w, "allow", dir.list.Allow)
		printEntries(w, "deny", dir.list.Deny)
	}
}

func printEntries(w io.Writer, verb string, entries []compile.Entry) {
	for _, e := range entries {
		fmt.Fprintf(w, "  %-5s %s  [%s]\n", verb, e, strings.Join(e.Rows, " "))
	}
}

// writeJSON prints one indented JSON value and a line end.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
