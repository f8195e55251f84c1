package compile

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Accounts returns the accounts in which a profile has rows of its own in a topology, its home first, the rest sorted. A row
// counts whatever its conditions say.
func Accounts(c *contract.Contract, t *contract.Topology, p *contract.Profile) []string {
	return accounts(c, t, p, func(*contract.Row) bool { return true })
}

// accounts is Accounts for some of the rows.
func accounts(c *contract.Contract, t *contract.Topology, p *contract.Profile, some func(*contract.Row) bool) []string {
	home := t.Account(p.Name, p.Home)
	var rest []string
	for _, row := range c.Rows {
		if !slices.Contains(row.Profiles, p.Name) || !appliesTo(row, p.Name, t.Name) || row.Op.Kind == contract.OpShare || !some(row) {
			continue
		}
		for _, a := range rowAccounts(c, t, p, row) {
			if a != home && !slices.Contains(rest, a) {
				rest = append(rest, a)
			}
		}
	}
	slices.Sort(rest)
	return append([]string{home}, rest...)
}

// rowAccounts lists where a row can stand: one account, or those of the resources that its each items name.
func rowAccounts(c *contract.Contract, t *contract.Topology, p *contract.Profile, row *contract.Row) []string {
	if row.Account != "" {
		return []string{t.Account(row.ID, row.Account)}
	}
	if id := resourceOf(c, &row.Op); id != "" {
		return []string{t.Account(id, c.Resources[id].Home)}
	}
	for _, part := range subjectParts(&row.Op) {
		if ids := resourcesNamed(c, row, part); len(ids) > 0 {
			out := make([]string, len(ids))
			for i, id := range ids {
				out[i] = t.Account(id, c.Resources[id].Home)
			}
			return out
		}
	}
	return []string{t.Account(p.Name, p.Home)}
}

// resourceOf is the resource that an operation declares, or "".
func resourceOf(c *contract.Contract, op *contract.Op) string {
	if op.Consumer != "" {
		return c.Consumers[op.Consumer].Resource
	}
	return op.Resource
}

// subjectParts are the parts of a subject that may name a resource: an API request, or a publish below a "$" prefix.
func subjectParts(op *contract.Op) []contract.Part {
	if op.Kind == contract.OpAPI || op.Kind == contract.OpPublish && strings.HasPrefix(op.Subject.Source, "$") {
		return op.Subject.Parts
	}
	return nil
}

// resourcesNamed are the resources that a placeholder can stand for in a row.
func resourcesNamed(c *contract.Contract, row *contract.Row, part contract.Part) []string {
	if part.Path == nil {
		return nil
	}
	name := part.Path[0]
	for _, e := range row.Each {
		if e.As != name {
			continue
		}
		var ids []string
		for _, l := range e.Literals {
			if l.Resource != "" {
				ids = append(ids, l.Resource)
			}
		}
		return ids
	}
	if _, ok := c.Resources[name]; ok {
		return []string{name}
	}
	return nil
}

// rowAccount is where the current row stands for one binding of its names: as it says, else with the resource that it names,
// else with its profile.
func (r *resolver) rowAccount(s *Scope) string {
	if r.row.Account != "" {
		return s.topology.Account(r.row.ID, r.row.Account)
	}
	if id := resourceOf(s.c, &r.row.Op); id != "" {
		return s.Account(id)
	}
	for _, part := range subjectParts(&r.row.Op) {
		if part.Path == nil {
			continue
		}
		if v, err := s.lookup(part.Path[0]); err == nil && v != nil && v.resource != nil {
			return s.Account(v.resource.ID)
		}
	}
	if slices.Contains(r.row.Profiles, "*") {
		return r.account // a row of every profile stands wherever the profile has a credential
	}
	return s.topology.Account(s.profile.Name, s.profile.Home)
}
