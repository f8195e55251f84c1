package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

func (p *page) resources() {
	p.section("Resources")
	p.line("The floor of a resource may never be weakened: provisioning refuses a plan that would. Settings that are off, unlimited or the")
	p.line("broker's own default are left out of the rest.")
	for _, r := range pageResources(p.c) {
		p.line("")
		p.resource(r)
	}
}

func (p *page) resource(r *contract.Resource) {
	p.line("### Resource %s", r.ID)
	p.line("")
	kind, captures := "Stream", make([]string, len(r.Subjects))
	for i, s := range r.Subjects {
		captures[i] = s.String()
	}
	if r.Bucket {
		kind, captures = "Bucket", []string{"$KV." + r.Name.String() + ".>"}
	}
	change := "Created or verified, never updated"
	if r.Update {
		change = "Created, and updated by provisioning"
	}
	if r.Delete {
		change += "; a row may delete it"
	} else {
		change += "; no row may delete it"
	}
	p.line("- %s %s captures %s; %s.", kind, mdCode(r.Name.String()), mdCodes(captures), mdText(r.Cite))
	p.line("- %s.", change)
	for _, l := range r.Initial {
		p.line("- Initial record %s.", mdCode(l.Key.String()))
	}
	if len(r.Protect) > 0 {
		p.line("- Floor: %s.", strings.Join(p.floor(r), ", "))
	}
	if rest := p.settings(r); len(rest) > 0 {
		p.line("- Else: %s.", strings.Join(rest, ", "))
	}
}

// floor lists the protected keys with their values; what a contract cannot write has none: it must not be there.
func (p *page) floor(r *contract.Resource) []string {
	var out []string
	for _, k := range matrix.StreamKeys() {
		if !slices.Contains(r.Protect, k.Name) {
			continue
		}
		v, ok := r.Config[k.Name]
		if !ok {
			out = append(out, mdCode(k.Name))
			continue
		}
		out = append(out, mdCode(k.Name+" "+pageConfig(k, v)))
	}
	return out
}

// settings lists the other keys that are not neutral.
func (p *page) settings(r *contract.Resource) []string {
	var out []string
	for _, k := range matrix.StreamKeys() {
		v, ok := r.Config[k.Name]
		if ok && !slices.Contains(r.Protect, k.Name) && v != k.Default {
			out = append(out, mdCode(k.Name+" "+pageConfig(k, v)))
		}
	}
	return out
}

func pageConfig(k matrix.ConfigKey, v any) string {
	if n, ok := v.(int64); ok && k.Kind == matrix.KeyDuration {
		return mdSpan(time.Duration(n))
	}
	return fmt.Sprint(v)
}

func (p *page) kinds() {
	p.section("Record kinds")
	var rows [][]string
	for _, k := range contract.Sorted(p.c.Kinds) {
		rows = append(rows, []string{k.Name, mdCode(k.Key.String()), mdSaid(k.Split, "spec and status", "one key"), mdSaid(k.Readable, "yes", ""),
			mdSaid(k.NeverDeleted, "yes", ""), mdText(k.Cite)})
	}
	p.table([]string{"kind", "key", "halves", "callers may read", "never deleted", "clause"}, rows)
}

func mdSaid(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// consumers lists the name grammars, each with the argument that no two tuples give one name.
func (p *page) consumers() {
	p.section("Consumer names")
	p.line("Every consumer pulls. The last column says why no two tuples of values give one name.")
	p.line("")
	var rows [][]string
	for _, d := range contract.Sorted(p.c.Consumers) {
		filter := "the row's"
		if d.Filter != nil {
			filter = mdCode(d.Filter.String())
		}
		life := "durable"
		switch {
		case d.Standing:
			life = "durable, made with the space"
		case d.Ephemeral:
			life = "ephemeral"
		}
		rows = append(rows, []string{d.ID, mdCode(d.Name.String()), mdLink("Resource", d.Resource), filter, life, string(d.Start),
			strings.Join(pageConsumer(d), ", "), mdText(d.Unique), mdText(d.Cite)})
	}
	p.table([]string{"id", "name", "of", "filter", "life", "starts", "settings", "unique because", "clause"}, rows)
}

// pageConsumer lists the acknowledgement policy and what differs from the broker's default; the start has a column of its own.
func pageConsumer(d *contract.Consumer) []string {
	out := []string{}
	if ack, ok := d.Config["ack_policy"]; ok {
		out = append(out, mdCode(fmt.Sprintf("ack %v", ack)))
	}
	for _, k := range matrix.ConsumerKeys() {
		if v, ok := d.Config[k.Name]; ok && k.Name != "ack_policy" && k.Name != "deliver_policy" && v != k.Default {
			out = append(out, mdCode(k.Name+" "+pageConfig(k, v)))
		}
	}
	return out
}

func (p *page) lifecycles() {
	p.section("Lifecycles")
	var rows [][]string
	for _, l := range contract.Sorted(p.c.Lifecycles) {
		var durables, records []string
		for _, d := range l.Durables {
			text := mdCode(d.Consumer)
			if each := eachWords(d.Each); len(each) > 0 {
				text += " for " + strings.Join(each, ", ")
			}
			if when := condWords(d.When); when != "" {
				text += " if " + when
			}
			durables = append(durables, text+mdSaid(d.Keep, " (kept)", ""))
		}
		for _, r := range l.Records {
			records = append(records, mdCode(r.Key.String())+" in "+mdLink("Resource", r.Bucket))
		}
		rows = append(rows, []string{l.Name, mdLink("Profile", l.Profile), mdLink("Profile", l.By), cmp.Or(mdLinkIf("Profile", l.RemovedBy), "nobody"),
			strings.Join(durables, ", "), strings.Join(records, ", "), mdSaid(l.Once, "once", ""), mdText(l.Cite)})
	}
	p.table([]string{"lifecycle", "of", "made by", "removed by", "durables", "records", "begun again", "clause"}, rows)
}

func mdLinkIf(kind, name string) string {
	if name == "" {
		return ""
	}
	return mdLink(kind, name)
}
