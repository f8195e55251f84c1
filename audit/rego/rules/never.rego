# METADATA
# title: never
# description: an entry reaches a family that is closed
# related_resources:
#   - ref: docs/audit.md
#     description: "the contract"
# custom:
#   severity: error
#   restates: kind
package audit.rules.never

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some m in p.spaces
	some s in input.spaces
	s.name == m.space
	some inv in s.invariants
	inv.kind == "never"
	lib.bound(inv, p)
	some e in lib.allows(p.pub)
	some family in inv.families
	w := lib.publishes(p, e, family, [])
	f := {"code": inv.code, "principal": p.id, "entry": e.text, "witness": w, "message": "publish reaches a closed family"}
}

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some m in p.spaces
	some s in input.spaces
	s.name == m.space
	some inv in s.invariants
	inv.kind == "never"
	lib.bound(inv, p)
	some e in lib.allows(p.sub)
	some family in inv.families
	w := lib.subscribes(p, e, family, [])
	f := {"code": inv.code, "principal": p.id, "entry": e.text, "witness": w, "message": "subscribe reaches a closed family"}
}
