package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// overview is one line per profile: what it is trusted with, and for how long.
func (p *page) overview() {
	p.section("Lifetimes")
	var rows [][]string
	for _, prof := range contract.Sorted(p.c.Profiles) {
		l := prof.Lifetime
		def, most := "never expires", ""
		if l.Class != contract.LifetimeNone {
			def, most = mdSpan(l.Default), mdSpan(cmp.Or(l.Max, l.Default))
		}
		gate := ""
		if prof.Gate > 0 {
			gate = fmt.Sprint(prof.Gate)
		}
		rows = append(rows, []string{mdLink("Profile", prof.Name), prof.Trust, l.Class, def, most, gate, mdText(prof.Cite)})
	}
	p.table([]string{"profile", "trust", "lifetime", "default", "longest", "gate (bytes)", "clause"}, rows)
}

func (p *page) profiles() {
	p.section("Profiles")
	p.line("Operations and targets stand as the rows write them; a column per topology says in which account the row stands there, with a")
	p.line("dash where it does not.")
	var every [][]string
	for _, row := range p.c.Rows {
		if slices.Contains(row.Profiles, "*") {
			every = append(every, p.rowCells(row, ""))
		}
	}
	if len(every) > 0 {
		p.line("")
		p.line("### Every profile")
		p.line("")
		p.table(p.rowHead(false), every)
	}
	for _, prof := range contract.Sorted(p.c.Profiles) {
		p.line("")
		p.profile(prof)
	}
}

func (p *page) profile(prof *contract.Profile) {
	p.line("### Profile %s", prof.Name)
	p.line("")
	home := make([]string, 0, len(p.c.Topologies))
	for _, t := range p.c.Topologies {
		home = append(home, fmt.Sprintf("%s in `%s`", t.Account(prof.Name, prof.Home), t.Name))
	}
	p.line("Trust %s; lifetime %s; at home in %s; %s.", prof.Trust, pageLifetime(prof), strings.Join(home, ", "), mdText(prof.Cite))
	if n := len(prof.Tags); n > 0 {
		p.line("Its tags: %s.", mdCodes(prof.Tags))
	}
	p.line("")
	var params [][]string
	for _, s := range showParams(p.c, prof) {
		def := mdCode(s.Default)
		if s.Required {
			def = "required"
		}
		name := mdCode(s.Name)
		if s.Also != "" {
			name += ", in a file also " + mdCode(s.Also)
		}
		params = append(params, []string{name, mdText(s.Shape), def, mdText(s.Hint)})
	}
	if len(params) > 0 {
		p.table([]string{"parameter", "shape", "default", "values"}, params)
		p.line("")
	}
	var rows [][]string
	for _, row := range p.c.Rows {
		if slices.Contains(row.Profiles, prof.Name) {
			rows = append(rows, p.rowCells(row, prof.Name))
		}
	}
	if len(rows) == 0 {
		p.line("It has no row of its own.")
		return
	}
	p.table(p.rowHead(true), rows)
}

func pageLifetime(prof *contract.Profile) string {
	l := prof.Lifetime
	if l.Class == contract.LifetimeNone {
		return "none: it never expires"
	}
	return fmt.Sprintf("%s, %s, at most %s", l.Class, mdSpan(l.Default), mdSpan(cmp.Or(l.Max, l.Default)))
}

func (p *page) rowHead(accounts bool) []string {
	head := []string{"row", "operation", "target", "for each, if", "class", "clause", "residuals"}
	if accounts {
		head = append(head, p.perTopology("")[1:]...)
	}
	return head
}

// rowCells is one row; with a profile, also where it stands for that one.
func (p *page) rowCells(row *contract.Row, profile string) []string {
	op := string(row.Op.Kind)
	if row.Deny {
		op = "**deny** " + op
	}
	cells := []string{row.ID, op, mdCode(target(&row.Op)), rowCondition(row), row.Class, mdText(row.Cite), mdLinks("Residual", row.Residuals)}
	if profile == "" {
		return cells
	}
	for _, t := range p.c.Topologies {
		where := strings.Join(p.held.accounts[rowPlace{profile, row.ID, t.Name}], ", ")
		if !row.In(t.Name) {
			where = "—"
		}
		cells = append(cells, cmp.Or(where, "no sample"))
	}
	return cells
}

// eachWords say over what something is repeated.
func eachWords(items []contract.Each) []string {
	var out []string
	for _, e := range items {
		over := mdCode(strings.Join(e.Path, "."))
		if e.Path == nil {
			texts := make([]string, len(e.Literals))
			for i, l := range e.Literals {
				texts[i] = cmp.Or(l.Resource, l.Text.String())
			}
			over = mdCodes(texts)
		}
		out = append(out, fmt.Sprintf("each `%s` of %s", e.As, over))
	}
	return out
}

// rowCondition says for what a row is repeated, and when it stands.
func rowCondition(row *contract.Row) string {
	out := eachWords(row.Each)
	if when := condWords(row.When); when != "" {
		out = append(out, "if "+when)
	}
	if len(row.Except) > 0 {
		out = append(out, "not "+mdCodes(row.Except))
	}
	if row.Exception != "" {
		out = append(out, "the declared exception "+mdCode(row.Exception))
	}
	return strings.Join(out, "; ")
}

func condWords(conds []contract.Cond) string {
	var out []string
	for _, c := range conds {
		path := mdCode(strings.Join(c.Path, "."))
		switch c.Kind {
		case contract.CondPresent:
			out = append(out, path+" is given")
		case contract.CondAbsent:
			out = append(out, path+" is not given")
		case contract.CondEqual, contract.CondIn:
			out = append(out, path+" is "+strings.ReplaceAll(mdCodes(c.Values), ", ", " or "))
		case contract.CondHas:
			out = append(out, path+" has "+mdCodes(c.Values))
		case contract.CondAny:
			out = append(out, fmt.Sprintf("for one of %s: %s", path, condWords(c.Sub)))
		default:
			out = append(out, fmt.Sprintf("%s %s %s", path, c.Kind, mdCodes(c.Values)))
		}
	}
	return strings.Join(out, " and ")
}
