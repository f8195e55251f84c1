package audit.rules.queue_only_test

import data.audit.fixture
import data.audit.rules.queue_only

found := {object.get(f, "entry", "") | some f in queue_only.findings}

doc(list, queue) := fixture.judged(
	[fixture.user({"sub": fixture.direction(list, [])})],
	[fixture.invariant({"kind": "queue-only", "families": ["app.req.>"], "token": 2, "queue": queue})],
)

test_plain if found == {"app.req.calc.>"} with input as doc(["app.req.calc.>"], "")

test_another if found == {"app.req.calc.> other"} with input as doc(["app.req.calc.> other"], "")

test_own if found == set() with input as doc(["app.req.calc.> calc"], "")

test_open_token if found == {"app.req.> calc"} with input as doc(["app.req.> calc"], "")

test_named if found == set() with input as doc(["app.req.> pool"], "pool")
