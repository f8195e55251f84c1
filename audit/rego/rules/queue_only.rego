# METADATA
# title: queue-only
# description: a subscription on a family does not carry its queue
# related_resources:
#   - ref: docs/audit.md
#     description: "the contract"
# custom:
#   severity: error
#   restates: kind
package audit.rules.queue_only

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	entries := lib.allows(p.sub)
	patterns := [subject.widen(e.pattern) | some e in entries]
	some m in p.spaces
	some s in input.spaces
	s.name == m.space
	some inv in s.invariants
	inv.kind == "queue-only"
	lib.bound(inv, p)
	some hit in subject.pairs(patterns, inv.families)
	e := entries[hit[0]]
	family := inv.families[hit[1]]
	w := lib.subscribes(p, e, family, [])
	not queued(e, inv, family)
	f := {"code": inv.code, "principal": p.id, "entry": e.text, "witness": w, "message": "subscribes without the queue of the family"}
}

queued(e, inv, _) if {
	inv.queue != ""
	e.queue == inv.queue
}

queued(e, inv, family) if {
	inv.queue == ""
	e.queue == lib.token_at(e.pattern, family, inv.token)
}
