package audit.rules.identity_token_test

import data.audit.fixture
import data.audit.rules.identity_token

found := {object.get(f, "entry", "") | some f in identity_token.findings}

doc(list, families, identity) := fixture.judged(
	[fixture.user({"pub": fixture.direction(list, []), "spaces": [{"space": "main", "identity": identity}]})],
	[fixture.invariant({"kind": "identity-token", "families": families, "tokens": [{"at": 2, "param": "owner"}]})],
)

alice := {"owner": "alice"}

test_wildcard if found == {"app.talk.*.x"} with input as doc(["app.talk.*.x"], ["app.talk.>"], alice)

test_another if found == {"app.talk.bob"} with input as doc(["app.talk.bob"], ["app.talk.*"], alice)

test_short if found == {"app.talk"} with input as doc(["app.talk"], ["app.>"], alice)

test_own if found == set() with input as doc(["app.talk.alice", "app.talk.alice.x"], ["app.talk.>"], alice)

test_unknown if found == {"app.talk.alice"} with input as doc(["app.talk.alice"], ["app.talk.>"], {})

test_wildcard_identity if found == {"app.talk.*"} with input as doc(["app.talk.*"], ["app.talk.>"], {"owner": "*"})
