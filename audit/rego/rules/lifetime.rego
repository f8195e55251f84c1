# METADATA
# title: lifetime
# description: a credential never expires, and its profile is not among those that may
# related_resources:
#   - ref: docs/audit.md
#     description: "the contract"
# custom:
#   severity: error
#   restates: kind
package audit.rules.lifetime

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some m in p.spaces
	some s in input.spaces
	s.name == m.space
	some inv in s.invariants
	inv.kind == "lifetime"
	inv["class"] == "none"
	inv.restated
	lib.about(inv.profiles, p.profile)
	undue(inv, p)
	p.token.expires == 0
	f := {"code": inv.code, "principal": p.id, "message": "never expires"}
}

# undue: the principal is none of those, or not of the trust, that may live for ever.
undue(inv, p) if {
	count(inv.by) > 0
	not lib.holder(inv.by, p.profile)
}

undue(inv, p) if {
	inv.trust != ""
	inv.trust != p.trust
}
