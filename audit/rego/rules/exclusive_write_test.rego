package audit.rules.exclusive_write_test

import data.audit.fixture
import data.audit.rules.exclusive_write

found := {object.get(f, "entry", "") | some f in exclusive_write.findings}

with_list(pub, over) := fixture.judged(
	[fixture.user(object.union({"pub": fixture.direction(pub, ["app.log.denied"])}, over))],
	[fixture.invariant({"kind": "exclusive-write", "families": ["app.log.>"], "by": ["writer"]})],
)

test_other if found == {"app.*.x"} with input as with_list(["app.*.x", "app.talk"], {})

test_unknown if found == {"app.log.>"} with input as with_list(["app.log.>"], {"profile": ""})

test_writer if found == set() with input as with_list(["app.log.>"], {"profile": "writer"})

test_denied if found == set() with input as with_list(["app.log.denied"], {})

test_scoped if found == set() with input as with_list(["app.log.>"], {"token": fixture.token({"scoped": true})})

test_code if {
	codes := {f.code | some f in exclusive_write.findings} with input as with_list(["app.log.x"], {})
	codes == {"T1"}
}
