package audit.rules.pinned_token_test

import data.audit.fixture
import data.audit.rules.pinned_token

found := {object.get(f, "entry", "") | some f in pinned_token.findings}

doc(list) := fixture.judged(
	[fixture.user({"pub": fixture.direction(list, [])})],
	[fixture.invariant({"kind": "pinned-token", "families": ["app.ans.>"], "pinned": [3]})],
)

test_open if found == {"app.ans.calc.*.x"} with input as doc(["app.ans.calc.*.x"])

test_short if found == {"app.ans.calc"} with input as doc(["app.ans.calc"])

test_literal if found == set() with input as doc(["app.ans.calc.7.>"])

# A rule that the document cannot say in full is left to the checks.
test_not_restated if found == set() with input as fixture.judged(
	[fixture.user({"pub": fixture.direction(["app.ans.>"], [])})],
	[fixture.invariant({"kind": "pinned-token", "families": ["app.ans.>"], "pinned": [3], "restated": false})],
)
