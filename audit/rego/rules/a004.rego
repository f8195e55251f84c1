# METADATA
# title: A004
# description: raw authority over JetStream, key-values, objects or the system
# related_resources:
#   - ref: docs/audit.md
#     description: "broker-facts: What a JetStream grant really conveys"
# custom:
#   severity: error
#   restates: check
package audit.rules.a004

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some e in lib.allows(p.pub)
	w := min({w | some family in raw(p, e.pattern, reached(p, "pub", e)); w := lib.publishes(p, e, family, [])})
	f := {"principal": p.id, "entry": e.text, "witness": w, "message": "publish reaches a raw root"}
}

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	some e in lib.allows(p.sub)
	w := min({w | some family in raw(p, admits(p, e), reached(p, "sub", e)); w := lib.subscribes(p, e, family, [])})
	f := {"principal": p.id, "entry": e.text, "witness": w, "message": "subscribe reaches a raw root"}
}

# raw: the families of which an entry must reach none. A verb of the API alone is none of them; two are.
raw(p, pattern, verbs) := array.concat(
	[root | some root in ["$JS.>", "$JS.ACK.>", "$SYS.>", "$SYS.REQ.>"]; subject.covers(pattern, root)],
	array.concat(
		[f | count(verbs) > 1; some v in verbs; some f in forms(v)],
		[sprintf("%s.%s.>", [store, p.unnamed]) | some store in ["$KV", "$O"]],
	),
)

forms(verb) := [sprintf("$JS.API.%s.>", [verb]), sprintf("$JS.API.%s", [verb])]

all_forms := [f | some v in input.api_verbs; some f in forms(v)]

# reached: the verbs that an entry reaches; those that it overlaps are asked first, because most entries overlap none.
reached(p, "pub", e) := {v |
	some hit in subject.pairs([e.pattern], all_forms)
	v := input.api_verbs[floor(hit[1] / 2)]
	lib.publishes(p, e, all_forms[hit[1]], [])
}

reached(p, "sub", e) := {v |
	some hit in subject.pairs([subject.widen(e.pattern)], all_forms)
	v := input.api_verbs[floor(hit[1] / 2)]
	lib.subscribes(p, e, all_forms[hit[1]], [])
}

# admits: what a subscribe entry admits. Its over-admission does not count where the denies withhold all of that.
admits(p, e) := e.pattern if closed(p, e)

admits(p, e) := lib.admitted(p, e) if not closed(p, e)

closed(p, e) if {
	endswith(concat(".", ["", e.pattern]), ".*")
	not subject.witness(concat(".", [e.pattern, ">"]), lib.withheld(p, e))
}
