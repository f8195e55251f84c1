package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// scopeSchema names the JSON form of a template.
const scopeSchema = "cotalctl/scope/v1"

// scopeDocument is the JSON form of the template of a scoped signing key.
type scopeDocument struct {
	Schema   string         `json:"schema"`
	Contract string         `json:"contract"`
	Profile  string         `json:"profile"`
	Space    string         `json:"space"`
	Topology string         `json:"topology"`
	Account  string         `json:"account"`
	Pub      compile.List   `json:"pub"`
	Sub      compile.List   `json:"sub"`
	Tags     []*compile.Tag `json:"tags"`
	Keys     []string       `json:"keys"`        // parameters that are each user's own public key
	Bytes    int            `json:"scope_bytes"` // what the scope adds to the claims of the account
}

// scopeOutput is the template of the home account, or of the one that was asked for, with those of the others.
type scopeOutput struct {
	*scopeDocument
	Accounts []*scopeDocument `json:"accounts"`
}

// templates prints the profile as the scope of a signing key.
func (c *compileCmd) templates(a *app, ct *contract.Contract, topology *contract.Topology, profile *contract.Profile, in compile.Input,
	accounts []string) error {
	docs := []*scopeDocument{}
	for _, account := range accounts {
		if err := unscopable(profile, account); err != nil {
			return err
		}
		t, err := compile.NewTemplate(ct, topology, profile, in, account)
		if err != nil {
			return noTemplate(err)
		}
		text, err := json.Marshal(t.Scope(strings.Repeat("A", 56), profile.Name, "", profile))
		if err != nil {
			return err
		}
		docs = append(docs, &scopeDocument{Schema: scopeSchema, Contract: t.Set.Contract, Profile: t.Set.Profile, Space: t.Set.Space,
			Topology: t.Set.Topology, Account: t.Set.Account, Pub: t.Set.Pub, Sub: t.Set.Sub, Tags: t.Tags, Keys: t.Keys, Bytes: len(text)})
	}
	if c.json() {
		return writeJSON(a.stdout, scopeOutput{docs[0], docs[1:]})
	}
	for i, doc := range docs {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := printTemplate(a.stdout, doc); err != nil {
			return err
		}
	}
	return nil
}

func printTemplate(w io.Writer, d *scopeDocument) error {
	fmt.Fprintf(w, "template of %s of %s, space %s, account %s (%s): %d bytes of the account's claims\n", d.Profile, d.Contract, d.Space,
		d.Account, d.Topology, d.Bytes)
	printLists(w, d.Pub, d.Sub)
	if len(d.Tags) == 0 {
		fmt.Fprintf(w, "\ntags of a user: those of every %s alone\n", d.Profile)
	} else {
		fmt.Fprintf(w, "\ntags of a user, beside those of every %s:\n", d.Profile)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, tag := range d.Tags {
		what := "parameter " + tag.Param
		if tag.Param == "" {
			what = tag.Text + ", one for each that row " + tag.Row + " takes"
		}
		if tag.Several {
			what += "; several"
		}
		switch {
		case tag.Required != "":
			what += "; required by row " + tag.Required
		case !tag.Optional:
			what += "; required"
		}
		fmt.Fprintf(tw, "  %s\t%s\n", tag.Name, what)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, key := range d.Keys {
		fmt.Fprintf(w, "%s is the user's own public key\n", key)
	}
	return nil
}
