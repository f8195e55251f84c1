# METADATA
# description: |
#   What entries reach, said over the subject algebra. Every rule may import it.
package audit.lib

# scoped: the permissions of this principal stand in a signing key, not in what was read.
scoped(p) if p.token.scoped

# allows: what a direction admits before denies. An open one admits everything.
allows(d) := d.allow if not d.open

allows(d) := [{"pattern": ">", "queue": "", "text": ">", "rows": []}] if d.open

# publishes: a subject of the family, outside the patterns of except, that the principal may publish by this allow entry.
publishes(p, e, family, except) := w if {
	subject.overlaps(e.pattern, family)
	not other_shape(e.pattern, family)
	denied := [d.pattern | some d in p.pub.deny]
	w := subject.witness(subject.intersect(e.pattern, family), array.concat(denied, except))
}

# subscribes: the same of what it may hear. A queue-qualified deny withholds from its own queue alone.
subscribes(p, e, family, except) := w if {
	subject.overlaps(subject.widen(e.pattern), family)
	w := subject.witness(subject.intersect(admitted(p, e), family), array.concat(withheld(p, e), except))
}

# withheld: what denies take from a subscription with the queue of the entry.
withheld(p, e) := [d.pattern | some d in p.sub.deny; withholds(d.queue, e.queue)]

# admitted: what a subscribe allow entry admits before denies.
admitted(p, e) := widened(e.pattern, withheld(p, e))

withholds("", _) := true

withholds(deny, queue) if {
	deny != ""
	queue != ""
	subject.covers(deny, queue)
}

# widened: what a final * over-admits counts, unless a deny refuses the SUB that would use it.
widened(pattern, denied) := subject.widen(pattern) if not refused(pattern, denied)

widened(pattern, denied) := pattern if refused(pattern, denied)

refused(pattern, denied) if {
	wide := subject.widen(pattern)
	some deny in denied
	subject.matches(deny, wide)
}

long_ack := "$JS.ACK.*.*."

# other_shape: an acknowledgement grant on one stream, in the shape without domain and account, is none of the longer shape, though
# the two overlap as patterns.
other_shape(pattern, family) if {
	startswith(family, long_ack)
	startswith(pattern, "$JS.ACK.")
	tokens := split(pattern, ".")
	count(tokens) in {4, 5}
	tokens[count(tokens) - 1] == ">"
	every t in array.slice(tokens, 2, count(tokens) - 1) {
		literal(t)
	}
}

domain_api := "$JS.*.API."

# what names another tree of the server, such as $JS.FC.>, is no API of a domain of this name.
other_shape(pattern, family) if {
	startswith(family, domain_api)
	tokens := split(pattern, ".")
	count(tokens) > 2
	tokens[1] in {"API", "ACK", "FC", "EVENT", "SNAPSHOT"}
	tokens[2] != "API"
}

# literal: one token of a subject without a wildcard.
literal(t) if {
	t != ""
	not regex.match(`[.*> \t\r\n\f]`, t)
}

# bound: a rule here says all of the invariant, which is about this principal and does not name it as one who may. One of no known profile is held to what is said
# about untrusted ones, and holds no authority by its name.
bound(inv, p) if {
	inv.restated
	about(inv.profiles, p.profile)
	not holder(inv.by, p.profile)
}

about([], _) := true

about(profiles, profile) if profile in profiles

about(profiles, "") if {
	some q in input.contract.profiles
	q.trust == "untrusted"
	q.name in profiles
}

holder(by, profile) if {
	profile != ""
	profile in by
}

# token_at: the literal token that an entry has in a family, undefined where it is open.
token_at(pattern, family, at) := t if {
	t := split(subject.intersect(pattern, family), ".")[at]
	literal(t)
}
