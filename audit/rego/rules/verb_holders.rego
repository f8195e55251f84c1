# METADATA
# title: verb-holders
# description: an entry holds an API verb that others alone may hold
# related_resources:
#   - ref: docs/audit.md
#     description: "the contract"
# custom:
#   severity: error
#   restates: kind
package audit.rules.verb_holders

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some m in p.spaces
	some s in input.spaces
	s.name == m.space
	some inv in s.invariants
	inv.kind == "verb-holders"
	lib.bound(inv, p)
	some e in lib.allows(p.pub)
	some family in inv.families
	w := lib.publishes(p, e, family, [])
	f := {"code": inv.code, "principal": p.id, "entry": e.text, "witness": w, "message": sprintf("holds %s", [inv.verb])}
}
