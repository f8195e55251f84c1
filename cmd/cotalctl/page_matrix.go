package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// accounts says where everything stands, per topology.
func (p *page) accounts() {
	p.section("Accounts")
	var rows [][]string
	for _, t := range p.c.Topologies {
		name := mdCode(t.Name)
		if def, _ := p.c.Topology(""); def == t {
			name += " (default)"
		}
		rows = append(rows, []string{name, mdCodes(t.Accounts)})
	}
	p.table([]string{"topology", "accounts of a space"}, rows)
	p.line("")
	p.line("`%s` is the broker's system account, in every topology. A profile with several accounts has a credential in each; the first is",
		contract.SystemAccount)
	p.line("its home.")
	head := p.perTopology("resource")
	p.line("")
	rows = nil
	for _, r := range pageResources(p.c) {
		row := []string{mdLink("Resource", r.ID)}
		for _, t := range p.c.Topologies {
			row = append(row, t.Account(r.ID, r.Home))
		}
		rows = append(rows, row)
	}
	p.table(head, rows)
	p.line("")
	rows = nil
	for _, prof := range contract.Sorted(p.c.Profiles) {
		row := []string{mdLink("Profile", prof.Name)}
		for _, t := range p.c.Topologies {
			row = append(row, strings.Join(compile.Accounts(p.c, t, prof), ", "))
		}
		rows = append(rows, row)
	}
	p.table(p.perTopology("profile"), rows)
	p.line("")
	p.shares()
}

// shares lists what accounts export to each other.
func (p *page) shares() {
	var rows [][]string
	for _, row := range p.c.Rows {
		if op := row.Op; op.Kind == contract.OpShare {
			rows = append(rows, []string{row.ID, op.Type, mdCode(op.Subject.String()), op.From, strings.Join(op.To, ", "), mdCodes(row.Topologies), row.Class,
				mdText(row.Cite),
				mdLinks("Residual", row.Residuals)})
		}
	}
	if len(rows) == 0 {
		p.line("No account exports anything to another.")
		return
	}
	p.table([]string{"export", "type", "subject", "from", "to", "topologies", "class", "clause", "residuals"}, rows)
}

func (p *page) perTopology(first string) []string {
	head := []string{first}
	for _, t := range p.c.Topologies {
		head = append(head, "`"+t.Name+"`")
	}
	return head
}

// matrix is profiles × resources, streams and buckets apart so that either fits a screen.
func (p *page) matrix() {
	p.section("Matrix")
	p.line("Who does what to which resource, over all topologies, from the rows as they resolve for a full holder. `m:` are the letters of")
	p.line("mediated rows (one trusted writer per store, CAS and schema enforced there), `d:` those of direct rows (the broker confines the")
	p.line("subject, readers parse closed). `%s` is what no stream stores, `%s` what the broker itself answers. The rows of every profile", coreColumn,
		brokerColumn)
	p.line("are left out.")
	p.line("")
	var rows [][]string
	for _, l := range pageLegend {
		rows = append(rows, []string{mdCode(string(l.letter)), l.means})
	}
	p.table([]string{"letter", "operation"}, rows)
	var streams, buckets []string
	for _, r := range pageResources(p.c) {
		if r.Bucket {
			buckets = append(buckets, r.ID)
		} else {
			streams = append(streams, r.ID)
		}
	}
	p.grid("Streams", streams)
	p.grid("Buckets", buckets)
	p.grid("Core subjects and the broker", []string{coreColumn, brokerColumn})
}

// grid is one part of the matrix: the profiles that do anything in these columns.
func (p *page) grid(name string, columns []string) {
	p.line("")
	p.line("### %s", name)
	p.line("")
	head := []string{"profile"}
	for _, c := range columns {
		if _, resource := p.c.Resources[c]; resource {
			c = mdLink("Resource", c)
		}
		head = append(head, c)
	}
	var rows [][]string
	for _, profile := range contract.SortedKeys(p.c.Profiles) {
		row := []string{mdLink("Profile", profile)}
		for _, c := range columns {
			row = append(row, p.held.cell(profile, c))
		}
		if slices.ContainsFunc(row[1:], func(s string) bool { return s != "" }) {
			rows = append(rows, row)
		}
	}
	p.table(head, rows)
}

// sortedResources are the streams, then the buckets, each by id.
func pageResources(c *contract.Contract) []*contract.Resource {
	out := contract.Sorted(c.Resources)
	slices.SortStableFunc(out, func(a, b *contract.Resource) int {
		return cmp.Compare(fmt.Sprint(a.Bucket), fmt.Sprint(b.Bucket))
	})
	return out
}
