# METADATA
# title: A002
# description: a subscription hears other connections' inboxes
# related_resources:
#   - ref: docs/audit.md
#     description: "broker-facts P1, P9; Redirected replies"
# custom:
#   severity: error
#   restates: check
package audit.rules.a002

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some e in lib.allows(p.sub)
	some family in foreign(p, split(e.pattern, ".")[0])
	w := lib.subscribes(p, e, family, [])
	f := {"principal": p.id, "entry": e.text, "witness": w, "message": "hears the replies to another connection"}
}

# foreign: an entry below another inbox is about that one, any other about inboxes that the principal does not name.
foreign(p, first) := [concat(".", [first, ">"])] if another(p, first)

foreign(p, first) := [f | some f in {sprintf("_INBOX.%s.>", [p.unnamed]), sprintf("_INBOX_%s.>", [p.unnamed])}] if not another(p, first)

another(p, first) if {
	startswith(first, "_INBOX_")
	first != p.inbox
}
