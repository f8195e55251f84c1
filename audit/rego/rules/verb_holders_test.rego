package audit.rules.verb_holders_test

import data.audit.fixture
import data.audit.rules.verb_holders

found := {object.get(f, "entry", "") | some f in verb_holders.findings}

with_list(pub, profile) := fixture.judged(
	[fixture.user({"profile": profile, "pub": fixture.direction(pub, [])})],
	[fixture.invariant({
		"kind": "verb-holders", "verbs": ["ack"], "by": ["scanner"],
		"families": ["$JS.API.STREAM.MSG.GET.LOG", "$JS.ACK.*.*.LOG.>"],
	})],
)

test_holder if found == set() with input as with_list(["$JS.API.STREAM.MSG.GET.*"], "scanner")

test_other if found == {"$JS.API.STREAM.MSG.GET.*"} with input as with_list(["$JS.API.STREAM.MSG.GET.*"], "worker")

test_short_ack if found == set() with input as with_list(["$JS.ACK.S.c.>"], "worker")

test_long_ack if found == {"$JS.ACK.d.a.LOG.>"} with input as with_list(["$JS.ACK.d.a.LOG.>"], "worker")
