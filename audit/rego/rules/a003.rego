# METADATA
# title: A003
# description: connection types are missing or too wide
# related_resources:
#   - ref: docs/audit.md
#     description: "nats-server 2.15.3 leafMsgAllowed; docs/adr/0023-leaf-nodes.md"
# custom:
#   severity: error
#   restates: check
package audit.rules.a003

import data.audit.lib

findings contains f if {
	some p in unscoped
	count(p.token.conn_types) == 0
	f := {"principal": p.id, "message": "allowed_connection_types is not set"}
}

findings contains f if {
	some p in unscoped
	some t in p.token.conn_types
	not upper(t) in {"STANDARD", "WEBSOCKET"}
	f := {"principal": p.id, "message": sprintf("allowed_connection_types holds %q", [t])}
}

unscoped := [p | some p in input.principals; p.token != null; not lib.scoped(p)]
