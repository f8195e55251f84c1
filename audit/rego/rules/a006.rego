# METADATA
# title: A006
# description: an API grant ends in *
# related_resources:
#   - ref: docs/audit.md
#     description: "broker-facts J1, J4b: a final * in an API tail admits >"
# custom:
#   severity: error
#   restates: check
package audit.rules.a006

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some e in p.pub.allow
	endswith(e.pattern, ".*")
	w := lib.publishes(p, e, "$JS.API.>", [])
	f := {"principal": p.id, "entry": e.text, "witness": w, "message": "the final * also admits every deeper name"}
}
