# METADATA
# title: pinned-token
# description: a publish entry leaves a token open that must be a literal
# related_resources:
#   - ref: docs/audit.md
#     description: "the contract"
# custom:
#   severity: error
#   restates: kind
package audit.rules.pinned_token

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some m in p.spaces
	some s in input.spaces
	s.name == m.space
	some inv in s.invariants
	inv.kind == "pinned-token"
	lib.bound(inv, p)
	some e in lib.allows(p.pub)
	some family in inv.families
	w := lib.publishes(p, e, family, [])
	not lib.token_at(e.pattern, family, inv.token)
	f := {"code": inv.code, "principal": p.id, "entry": e.text, "witness": w, "message": sprintf("publishes with token %d open", [inv.token])}
}
