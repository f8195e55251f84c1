package audit.rules.a003_test

import data.audit.fixture
import data.audit.rules.a003

found := {object.get(f, "entry", "") | some f in a003.findings}

count_of(types) := n if {
	n := count(a003.findings) with input as fixture.judged([fixture.user({"token": fixture.token({"conn_types": types})})], [])
}

test_missing if count_of([]) == 1

test_leaf if count_of(["STANDARD", "LEAFNODE"]) == 1

test_both if count_of(["standard", "WEBSOCKET"]) == 0

test_compiled if {
	n := count(a003.findings) with input as fixture.judged([fixture.user({"token": null})], [])
	n == 0
}
