package audit

import (
	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// setPrincipal reads a compiled set as the broker would read the JWT that carries it; the rows are joined by entry.
func (a *auditor) setPrincipal(set *compile.PermissionSet) *Principal {
	p := &Principal{Name: set.Profile, Trust: contract.TrustUntrusted, Space: set.Space, Account: set.Account, Identity: map[string]string{}}
	perms := set.JWT()
	p.Pub, p.Sub, p.Ignored = newDirections(
		subject.Texts{Allow: perms.Pub.Allow, Deny: perms.Pub.Deny}, subject.Texts{Allow: perms.Sub.Allow, Deny: perms.Sub.Deny})
	joinRows(p.Pub.Allow, set.Pub.Allow)
	joinRows(p.Pub.Deny, set.Pub.Deny)
	joinRows(p.Sub.Allow, set.Sub.Allow)
	joinRows(p.Sub.Deny, set.Sub.Deny)
	return p
}

func joinRows(to []Entry, from []compile.Entry) {
	rows := make(map[string][]string, len(from))
	for _, e := range from {
		rows[e.String()] = e.Rows
	}
	for i := range to {
		to[i].Rows = rows[to[i].String()]
	}
}
