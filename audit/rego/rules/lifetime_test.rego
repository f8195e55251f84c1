package audit.rules.lifetime_test

import data.audit.fixture
import data.audit.rules.lifetime

found := {object.get(f, "entry", "") | some f in lifetime.findings}

doc(profile, expires) := fixture.judged(
	[fixture.user({"profile": profile, "token": fixture.token({"expires": expires})})],
	[fixture.invariant({"kind": "lifetime", "class": "none", "by": ["scanner"]})],
)

test_for_ever if found == {""} with input as doc("worker", 0)

test_sealed if found == set() with input as doc("scanner", 0)

test_expires if found == set() with input as doc("worker", 200)
