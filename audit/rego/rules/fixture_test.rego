# METADATA
# description: A small input for the tests of rules.
package audit.fixture

# entry: an entry as the input lists it.
entry(text) := {"pattern": words[0], "queue": queue(words), "text": text, "rows": []} if {
	words := split(text, " ")
}

queue(words) := words[1]

queue(words) := "" if count(words) == 1

direction(allow, deny) := {"open": count(allow) == 0, "allow": [entry(t) | some t in allow], "deny": [entry(t) | some t in deny]}

# none: a direction that admits nothing.
none := direction(["none"], [">"])

# user: a credential of the profile "worker" with the directions that it is given.
user(over) := object.union(
	{
		"id": 0, "name": "alice", "file": "alice.creds", "profile": "worker", "trust": "untrusted", "account": "",
		"spaces": [{"space": "main", "identity": {"owner": "alice"}}], "inbox": "_INBOX_n1", "unnamed": "another",
		"token": token({}), "pub": none, "sub": none,
	},
	over,
)

token(over) := object.union({"issued": 100, "expires": 200, "conn_types": ["STANDARD", "WEBSOCKET"], "responses": false, "scoped": false}, over)

invariant(over) := object.union(
	{
		"code": "T1", "title": "", "kind": "", "severity": "error", "cite": "", "families": [], "by": [], "profiles": [], "tokens": [],
		"token": 0, "pinned": [], "restated": true, "verbs": [], "queue": "", "class": "", "trust": "",
	},
	over,
)

profile(name, trust, lifetime) := {"name": name, "account": "main", "trust": trust, "lifetime": lifetime, "default": 60, "max": 0, "cite": ""}

# judged: the input of some principals and invariants, at time 150.
judged(principals, invariants) := {
	"schema": "cotalctl/audit-input/v1", "now": 150, "api_verbs": ["CONSUMER.CREATE", "CONSUMER.MSG.NEXT", "STREAM.INFO"],
	"contract": {
		"name": "app", "topology": "one", "accounts": ["main"], "rows": [], "residuals": [],
		"profiles": [profile("worker", "untrusted", "standing"), profile("scanner", "sealed", "none")],
	},
	"spaces": [{"name": "main", "resources": [], "invariants": invariants}],
	"principals": principals,
}

pub(list) := judged([user({"pub": direction(list, [])})], [])

sub(list) := judged([user({"sub": direction(list, [])})], [])
