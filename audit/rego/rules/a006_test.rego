package audit.rules.a006_test

import data.audit.fixture
import data.audit.rules.a006

found := {object.get(f, "entry", "") | some f in a006.findings}

test_tail if found == {"$JS.API.DIRECT.GET.S.k.*"} with input as fixture.pub(["$JS.API.DIRECT.GET.S.k.*"])

test_inside if found == set() with input as fixture.pub(["$JS.API.DIRECT.GET.S.*.k"])

test_elsewhere if found == set() with input as fixture.pub(["a.*"])
