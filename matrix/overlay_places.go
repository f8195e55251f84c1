package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// overlayPlaces reads in which accounts of the base's topologies the overlay's own resources and profiles stand.
func (l *loader) overlayPlaces(n source.Node) {
	known := map[string]*contract.Topology{}
	for _, t := range l.c.Topologies {
		known[t.Name] = t
	}
	for _, f := range optionalFields(n) {
		t := known[f.Name]
		if t == nil {
			f.Key.Fail(fmt.Sprintf("topology %q is not one of %s", f.Name, l.c.Base.Name), "", "one of "+strings.Join(contract.SortedKeys(known), ", "), source.Suggest(f.Name, contract.SortedKeys(known)))
			continue
		}
		for _, p := range f.Value.Map("place").Need("place").Fields() {
			r, q := l.c.Resources[p.Name], l.c.Profiles[p.Name]
			account := p.Value.Text()
			switch {
			case (r == nil || !r.Overlay) && (q == nil || !q.Overlay):
				p.Key.Fail(fmt.Sprintf("%q is no resource or profile of the overlay", p.Name), "", "one that it declares", "the places of the base stay as they are")
			case account != "" && !slices.Contains(t.Accounts, account):
				p.Value.Fail(fmt.Sprintf("account %q is not in topology %s", account, t.Name), "", "one of "+strings.Join(t.Accounts, ", "), source.Suggest(account, t.Accounts))
			case account != "":
				t.Place[p.Name] = account
			}
		}
	}
}

// overlayAccounts checks that nothing of an overlay stands in the broker's own account, or where a topology keeps others out.
func (l *loader) overlayAccounts() {
	check := func(pos contract.Pos, row, what string, t *contract.Topology, account string) {
		if account != contract.SystemAccount && !slices.Contains(t.Closed, account) {
			return
		}
		open := slices.DeleteFunc(slices.Clone(t.Accounts), func(a string) bool { return slices.Contains(t.Closed, a) })
		l.fail(pos, row, fmt.Sprintf("%s stands in account %s of topology %s, which is closed to overlays", what, account, t.Name), "", "one of "+strings.Join(open, ", "),
			"place it elsewhere: topologies: {"+t.Name+": {place: {…}}}")
	}
	for _, t := range l.c.Topologies {
		for _, r := range contract.Sorted(l.c.Resources) {
			if r.Overlay {
				check(r.Pos, "", fmt.Sprintf("resource %q", r.ID), t, t.Account(r.ID, r.Home))
			}
		}
		for _, p := range contract.Sorted(l.c.Profiles) {
			if p.Overlay {
				check(p.Pos, "", fmt.Sprintf("profile %q", p.Name), t, t.Account(p.Name, p.Home))
			}
		}
		for _, row := range l.c.Rows {
			if row.Overlay && row.Account != "" && row.In(t.Name) {
				check(row.Pos, row.ID, "it", t, t.Account(row.ID, row.Account))
			}
		}
	}
}
