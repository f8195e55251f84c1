package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// showParam is a parameter as a caller needs to know it.
type showParam struct {
	Name     string `json:"name"`
	Shape    string `json:"shape"`
	Required bool   `json:"required"`
	Default  string `json:"default"`
	Hint     string `json:"hint"`
	Also     string `json:"also"` // a second key of it in a file, or ""
}

func showParams(c *contract.Contract, p *contract.Profile) []showParam {
	out := []showParam{}
	if f := p.Family; f != nil {
		out = append(out, showParam{Name: f.Param, Shape: members(c, &contract.Filter{Of: f.Of, Where: f.Where}), Required: true})
	}
	for _, param := range p.Params {
		s := showParam{Name: param.Name, Shape: shape(c, param.Type), Default: param.From}
		if param.From != "" && param.Type.Kind != contract.TypeList {
			s.Default = "{" + param.From + "}" // else it could be the text itself
		}
		if param.Default != nil {
			s.Default = fmt.Sprint(param.Default)
		}
		s.Required = !param.Optional && s.Default == "" && param.Type.Kind != contract.TypeBool
		if param.Type.Grammar != nil {
			s.Hint = param.Type.Grammar.Hint
		}
		s.Also = param.Also
		out = append(out, s)
	}
	return out
}

// shape writes a type in the words of the contract format.
func shape(c *contract.Contract, t *contract.Type) string {
	switch t.Kind {
	case contract.TypeList:
		if t.Unique != "" {
			return "list of " + shape(c, t.Elem) + ", each " + t.Unique + " once"
		}
		return "list of " + shape(c, t.Elem)
	case contract.TypeEnum:
		return strings.Join(t.Enum, "|")
	case contract.TypeRecord:
		return t.Record.Name
	case contract.TypeBool:
		return "true|false"
	case contract.TypeMember:
		return members(c, t.Within)
	case contract.TypePattern:
		return "a subtree of " + t.Of
	}
	return cmp.Or(t.Grammar.Name, t.Grammar.Source)
}

// members are the kinds that a filter admits, in one phrase.
func members(c *contract.Contract, f *contract.Filter) string {
	var names []string
	for _, k := range contract.Sorted(c.Kinds) {
		if f.Holds(k) {
			names = append(names, k.Name)
		}
	}
	if len(names) == 0 {
		return "a member of kinds, of which this contract has none"
	}
	return "a member of kinds: " + strings.Join(names, ", ")
}

// printParams lists the parameters of a profile and the records that they are made of.
func printParams(w io.Writer, c *contract.Contract, p *contract.Profile) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\nPARAMETER\tSHAPE\tDEFAULT\tHINT\n")
	for _, s := range showParams(c, p) {
		def := s.Default
		if s.Required {
			def = "(required)"
		}
		name := s.Name
		if s.Also != "" {
			name += ", in a file also " + s.Also
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", name, s.Shape, def, s.Hint)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, param := range p.Params {
		printRecord(w, c, param.Type, seen)
	}
	return nil
}

// printRecord prints the shape of a record, as a parameter file writes it, and of the records within.
func printRecord(w io.Writer, c *contract.Contract, t *contract.Type, seen map[string]bool) {
	if t.Kind == contract.TypeList {
		t = t.Elem
	}
	if t.Kind != contract.TypeRecord || seen[t.Record.Name] {
		return
	}
	r := t.Record
	seen[r.Name] = true
	fmt.Fprintf(w, "\nrecord %s\n", r.Name)
	for _, f := range r.Fields {
		fmt.Fprintf(w, "  %s\n", field(c, f))
	}
	for _, name := range contract.SortedKeys(r.Cases) {
		fields := make([]string, len(r.Cases[name]))
		for i, f := range r.Cases[name] {
			fields[i] = field(c, f)
		}
		if len(fields) == 0 {
			fmt.Fprintf(w, "  one of: %s\n", name)
		} else {
			fmt.Fprintf(w, "  one of: {%s: {%s}}\n", name, strings.Join(fields, ", "))
		}
	}
	for _, f := range r.Fields {
		printRecord(w, c, f.Type, seen)
	}
}

func field(c *contract.Contract, f *contract.Param) string {
	text := f.Name + ": " + shape(c, f.Type)
	switch {
	case f.Optional:
		text += " (optional)"
	case f.Default != nil:
		text += fmt.Sprintf(" (default %v)", f.Default)
	}
	if f.Within != "" {
		text += ", within " + f.Within
	}
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	return text
}
