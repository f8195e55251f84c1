package audit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// setPrincipal reads a compiled set as the broker would read the JWT that carries it; the rows are joined by entry.
func (a *auditor) setPrincipal(set *compile.PermissionSet) *Principal {
	p := &Principal{Name: set.Profile, Trust: contract.TrustUntrusted, Space: set.Space, Identity: map[string]string{}}
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

// readDocument reads the JSON form of a compiled set. Unknown fields are fields of a later release.
func readDocument(data []byte) (*compile.PermissionSet, error) {
	var d compile.Document
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("compiled set is not readable JSON: %w", err)
	}
	if dec.More() {
		return nil, fmt.Errorf("compiled set: got more than one JSON value, want one per file")
	}
	if d.Schema != compile.DocumentSchema {
		return nil, fmt.Errorf("schema, got %q, want %q", d.Schema, compile.DocumentSchema)
	}
	for _, l := range []compile.List{d.Pub, d.Sub} {
		switch l.Mode {
		case compile.ModeAll, compile.ModeNone, compile.ModePatterns:
		default:
			return nil, fmt.Errorf("compiled set: mode, got %q, want all, none or patterns", l.Mode)
		}
	}
	return &compile.PermissionSet{Contract: d.Contract, Profile: d.Profile, Space: d.Space, Topology: d.Topology,
		Account: d.Account, Pub: d.Pub, Sub: d.Sub}, nil
}
