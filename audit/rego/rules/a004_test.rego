package audit.rules.a004_test

import data.audit.fixture
import data.audit.rules.a004

found := {object.get(f, "entry", "") | some f in a004.findings}

test_api if found == {"$JS.API.>"} with input as fixture.pub(["$JS.API.>"])

test_two_verbs if found == {"*.API.CONSUMER.>"} with input as fixture.pub(["*.API.CONSUMER.>"])

test_buckets if found == {"$KV.*.k"} with input as fixture.pub(["$KV.*.k"])

test_objects if found == {"$O.>"} with input as fixture.sub(["$O.>"])

test_one_verb_and_bucket if found == set() with input as fixture.pub(["$JS.API.CONSUMER.MSG.NEXT.S.c", "$KV.b.>", "$JS.ACK.S.c.>"])

test_denied if {
	found == set() with input as fixture.judged([fixture.user({"pub": fixture.direction(["$KV.>"], ["$KV.>"])})], [])
}

test_widened if found == {"$JS.*"} with input as fixture.sub(["$JS.*"])

test_closed if {
	found == set() with input as fixture.judged([fixture.user({"sub": fixture.direction(["$JS.*"], ["$JS.*.>"])})], [])
}
