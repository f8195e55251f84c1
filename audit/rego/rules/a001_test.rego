package audit.rules.a001_test

import data.audit.fixture
import data.audit.rules.a001

found := {object.get(f, "entry", "") | some f in a001.findings}

test_open if found == {">"} with input as fixture.pub([])

test_everything if found == {">"} with input as fixture.sub([">"])

test_subtree if found == set() with input as fixture.pub(["a.>"])

test_queue_of_everything if found == set() with input as fixture.sub(["> q"])

test_denied if found == set() with input as fixture.judged([fixture.user({"pub": fixture.direction([], [">"])})], [])
