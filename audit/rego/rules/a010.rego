# METADATA
# title: A010
# description: allow_responses widens publish
# related_resources:
#   - ref: docs/audit.md
#     description: "broker-facts: allow_responses overrides pub.deny"
# custom:
#   severity: warning
#   restates: check
package audit.rules.a010

findings contains f if {
	some p in input.principals
	p.token.responses
	f := {"principal": p.id, "message": "whoever sends a request chooses a subject that this credential may publish"}
}
