# METADATA
# title: identity-token
# description: an entry publishes with a token of another identity
# related_resources:
#   - ref: docs/audit.md
#     description: "the contract"
# custom:
#   severity: error
#   restates: kind
package audit.rules.identity_token

import data.audit.lib

findings contains f if {
	some p in input.principals
	not lib.scoped(p)
	entries := lib.allows(p.pub)
	patterns := [e.pattern | some e in entries]
	some m in p.spaces
	some s in input.spaces
	s.name == m.space
	some inv in s.invariants
	inv.kind == "identity-token"
	lib.bound(inv, p)
	some hit in subject.pairs(patterns, inv.families)
	e := entries[hit[0]]
	family := inv.families[hit[1]]
	w := lib.publishes(p, e, family, own(family, inv.tokens, m.identity))
	f := {"code": inv.code, "principal": p.id, "entry": e.text, "witness": w, "message": "publishes as another"}
}

# own: the subjects of a family that carry the holder's parameters. None where one is not known or is no single token, or where the
# family has no place for it.
own(family, tokens, identity) := [text | text := pinned(family, tokens, identity, count(split(family, ".")))] if {
	not open(family)
}

own(family, tokens, identity) := [text |
	length := max([count(split(family, ".")) - 1, max([t.at | some t in tokens]) + 1])
	exact := pinned(family, tokens, identity, length)
	some text in [exact, concat(".", [exact, ">"])]
] if {
	open(family)
}

open(family) if endswith(family, ">")

pinned(family, tokens, identity, length) := concat(".", [t | some i in numbers.range(0, length - 1); t := place(family, tokens, identity, i)]) if {
	every t in tokens {
		t.at < length
		lib.literal(identity[t.param])
		base(family, t.at) in {"*", identity[t.param]}
	}
}

place(family, tokens, identity, i) := identity[t.param] if {
	some t in tokens
	t.at == i
} else := base(family, i)

# base: the token of the family at an index; its open tail has room for any.
base(family, i) := "*" if {
	open(family)
	i >= count(split(family, ".")) - 1
} else := split(family, ".")[i]
