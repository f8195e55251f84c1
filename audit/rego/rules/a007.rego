# METADATA
# title: A007
# description: a wildcard stands inside a token
# related_resources:
#   - ref: docs/audit.md
#     description: "broker-facts P13: * and > inside a token are literal characters"
# custom:
#   severity: error
#   restates: check
package audit.rules.a007

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some list in [lib.allows(p.pub), p.pub.deny, lib.allows(p.sub), p.sub.deny]
	some e in list
	not subject.plain(e.pattern)
	f := {"principal": p.id, "entry": e.text, "message": "the broker takes this entry literally"}
}
