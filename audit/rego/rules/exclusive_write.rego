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
	some m in p.spaces
	some s in input.spaces
	s.name == m.space
	some inv in s.invariants
	inv.kind == "exclusive-write"
	lib.bound(inv, p)
	some e in lib.allows(p.pub)
	some family in inv.families
	w := lib.publishes(p, e, family, [])
	f := {"code": inv.code, "principal": p.id, "entry": e.text, "witness": w, "message": "publishes on a family of others"}
}
