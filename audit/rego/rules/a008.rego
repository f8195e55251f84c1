# METADATA
# title: A008
# description: the credential never expires
# related_resources:
#   - ref: docs/audit.md
#     description: "jwt/v2: exp 0 never expires"
# custom:
#   severity: error
#   restates: check
package audit.rules.a008

findings contains f if {
	some p in input.principals
	p.token.expires == 0
	not sealed(p.profile)
	f := {"principal": p.id, "message": "the JWT has no exp"}
}

sealed(profile) if {
	some q in input.contract.profiles
	q.name == profile
	q.lifetime == "none"
}
