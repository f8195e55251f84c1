# METADATA
# title: exclusive-write
# description: an entry publishes on a family that others alone may write
# related_resources:
#   - ref: docs/audit.md
#     description: "the contract"
# custom:
#   severity: error
#   restates: kind
package audit.rules.exclusive_write

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	entries := lib.allows(p.pub)
	patterns := [e.pattern | some e in entries]
	some m in p.spaces
	some s in input.spaces
	s.name == m.space
	some inv in s.invariants
	inv.kind == "exclusive-write"
	lib.bound(inv, p)
	some hit in subject.pairs(patterns, inv.families)
	e := entries[hit[0]]
	family := inv.families[hit[1]]
	w := lib.publishes(p, e, family, [])
	f := {"code": inv.code, "principal": p.id, "entry": e.text, "witness": w, "message": "publishes on a family of others"}
}
