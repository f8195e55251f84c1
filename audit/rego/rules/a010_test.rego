package audit.rules.a010_test

import data.audit.fixture
import data.audit.rules.a010

found := {object.get(f, "entry", "") | some f in a010.findings}

test_responses if found == {""} with input as fixture.judged([fixture.user({"token": fixture.token({"responses": true})})], [])

test_none if found == set() with input as fixture.judged([fixture.user({})], [])
