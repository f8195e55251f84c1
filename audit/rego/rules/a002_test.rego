package audit.rules.a002_test

import data.audit.fixture
import data.audit.rules.a002

found := {object.get(f, "entry", "") | some f in a002.findings}

test_default_prefix if found == {"_INBOX.>"} with input as fixture.sub(["_INBOX.>"])

test_wildcard if found == {"*.x.>"} with input as fixture.sub(["*.x.>"])

test_of_another if found == {"_INBOX_n2.>"} with input as fixture.sub(["_INBOX_n1.>", "_INBOX_n2.>"])

test_own if found == set() with input as fixture.sub(["_INBOX_n1.>"])

test_denied if found == set() with input as fixture.judged([fixture.user({"sub": fixture.direction(["_INBOX.a.>"], ["_INBOX.>"])})], [])
