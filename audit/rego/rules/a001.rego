# METADATA
# title: A001
# description: a direction admits everything
# related_resources:
#   - ref: docs/audit.md
#     description: "broker-facts P11 and Order: an absent or empty allow list is allow-all"
# custom:
#   severity: error
#   restates: check
package audit.rules.a001

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some e in lib.allows(p.pub)
	e.pattern == ">"
	w := lib.publishes(p, e, ">", [])
	f := {"principal": p.id, "entry": e.text, "witness": w, "message": "publish admits everything but what is denied"}
}

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some e in lib.allows(p.sub)
	e.pattern == ">"
	e.queue == ""
	w := lib.subscribes(p, e, ">", [])
	f := {"principal": p.id, "entry": e.text, "witness": w, "message": "subscribe admits everything but what is denied"}
}
