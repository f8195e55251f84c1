package audit.rules.a008_test

import data.audit.fixture
import data.audit.rules.a008

found := {object.get(f, "entry", "") | some f in a008.findings}

test_no_expiry if found == {""} with input as fixture.judged([fixture.user({"token": fixture.token({"expires": 0})})], [])

test_sealed if found == set() with input as fixture.judged([fixture.user({"profile": "scanner", "token": fixture.token({"expires": 0})})], [])

test_expiry if found == set() with input as fixture.judged([fixture.user({})], [])
