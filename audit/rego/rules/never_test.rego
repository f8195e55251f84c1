package audit.rules.never_test

import data.audit.fixture
import data.audit.rules.never

found := {object.get(f, "entry", "") | some f in never.findings}

doc(pub, sub, profiles) := fixture.judged(
	[fixture.user({"pub": pub, "sub": sub})],
	[fixture.invariant({"kind": "never", "families": ["app.old.>"], "profiles": profiles})],
)

test_published if found == {"app.old.x"} with input as doc(fixture.direction(["app.old.x"], []), fixture.none, [])

test_widened if found == {"app.*"} with input as doc(fixture.none, fixture.direction(["app.*"], []), [])

test_closed if found == set() with input as doc(fixture.none, fixture.direction(["app.*"], ["app.*.>"]), [])

test_other_profile if found == set() with input as doc(fixture.direction(["app.old.x"], []), fixture.none, ["scanner"])

test_unknown_is_untrusted if {
	found == {"app.old.x"} with input as fixture.judged(
		[fixture.user({"profile": "", "pub": fixture.direction(["app.old.x"], [])})],
		[fixture.invariant({"kind": "never", "families": ["app.old.>"], "profiles": ["worker"]})],
	)
}
