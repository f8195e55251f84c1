# METADATA
# title: A009
# description: the credential was issued in the future
# related_resources:
#   - ref: docs/audit.md
#     description: "broker-facts: a JWT with iat in the future survives revocation"
# custom:
#   severity: error
#   restates: check
package audit.rules.a009

findings contains f if {
	some p in input.principals
	input.now > 0
	p.token.issued > input.now
	f := {"principal": p.id, "message": "iat is later than the clock"}
}
