package audit.rules.a007_test

import data.audit.fixture
import data.audit.rules.a007

found := {object.get(f, "entry", "") | some f in a007.findings}

test_embedded if found == {"a.b*"} with input as fixture.pub(["a.b*"])

test_deny if found == {"x.>y"} with input as fixture.judged([fixture.user({"sub": fixture.direction(["a"], ["x.>y"])})], [])

test_whole if found == set() with input as fixture.pub(["a.*.b"])
