package audit.rules.a009_test

import data.audit.fixture
import data.audit.rules.a009

found := {object.get(f, "entry", "") | some f in a009.findings}

test_future if found == {""} with input as fixture.judged([fixture.user({"token": fixture.token({"issued": 151})})], [])

test_past if found == set() with input as fixture.judged([fixture.user({})], [])

test_no_clock if {
	doc := object.union(fixture.judged([fixture.user({"token": fixture.token({"issued": 151})})], []), {"now": 0})
	found == set() with input as doc
}
