package conformance

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// A made-up specification with two accounted sections, its account, and the tree that its answers name.

const sampleText = `Depot Protocol

1. Scope
This page only describes the depot.

2.1 Keys
A key MUST be unique. A key is never reused; it has no order.
Readers only look	Writers MUST NOT read

Appendix A: Grants
The keeper SHALL hold ` + "`shelf.>`" + ` alone! Nobody else is REQUIRED to know.

2.1 Keys
A table of contents repeats headings.
`

const sampleOutline = `document: Depot Protocol
version: "1"
sections:
  - {id: "1", title: Scope}
  - {id: "2", title: Depot}
  - {id: "2.1", title: Keys, accounted: true}
  - {id: "A", title: Grants, accounted: true}
decisions:
  D1: who reads
`

const sampleKeys = `section: "2.1"
title: Keys
sentences:
  - {id: "2.1-001", digest: "DIGEST1", must: MUST, words: uniqueness, answers: [{row: KEY-PUT}, {invariant: C101}]}
  - {id: "2.1-002", digest: "DIGEST2", must: never, words: no reuse, answers: [{resource: shelf, setting: deny_delete}, {test: depot.TestKeys}]}
  - {id: "2.1-003", digest: "DIGEST3", must: only, words: readers, answers: [{states: a description}]}
  - {id: "2.1-004", digest: "DIGEST4", must: MUST NOT, words: writers, answers: [{open: nobody looks, issue: 4}, {check: D001}, {hygiene: A001}]}
`

const sampleGrants = `section: A
title: Grants
sentences:
  - {id: "A-001", digest: "DIGEST5", must: SHALL, words: the keeper, answers: [{script: drift}, {decision: "0001"}, {consumer: pullD, setting: filter}]}
  - {id: "A-002", digest: "DIGEST6", must: REQUIRED, words: others, answers: [{client: readers compare digests}, {plugin: ledger, issue: 6}]}
`

// sample returns the files of the made-up tree with the digests filled in, after one replacement in one file.
func sample(t *testing.T, file, from, to string) fstest.MapFS {
	t.Helper()
	files := map[string]string{
		"docs/conformance/depot/sections.yaml":  sampleOutline,
		"docs/conformance/depot/2.1.yaml":       sampleKeys,
		"docs/conformance/depot/A.yaml":         sampleGrants,
		"docs/conformance/depot/sentences.lock": sampleLock(t),
		"docs/adr/0001-readers.md":              "",
		"depot/keys_test.go":                    "func TestKeys(t *testing.T) {\n",
		"testdata/script/drift.txtar":           "",
		"audit/codes.go":                        "const a = \"A001\"\n",
		"docs/doctor/D001.md":                   "# D001 fan-out complete\n",
	}
	out := fstest.MapFS{}
	hit := file == ""
	for name, text := range files {
		text = strings.NewReplacer(digests(t)...).Replace(text)
		if name == file {
			if hit = strings.Contains(text, from); hit {
				text = strings.Replace(text, from, to, 1)
			}
		}
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if !hit {
		t.Fatalf("%s does not hold %q", file, from)
	}
	return out
}

func digests(t *testing.T) []string {
	t.Helper()
	sections, err := Extract(sampleText, []string{"2.1", "A"})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	n := '1'
	for _, s := range sections {
		for _, e := range s.Sentences {
			out = append(out, "DIGEST"+string(n), e.Digest)
			n++
		}
	}
	return out
}

func sampleLock(t *testing.T) string {
	t.Helper()
	return `# made up

2.1 open 1
2.1-001 DIGEST1
2.1-002 DIGEST2
2.1-003 DIGEST3
2.1-004 DIGEST4

A open 0
A-001 DIGEST5
A-002 DIGEST6
`
}

func sampleContract() *contract.Contract {
	return &contract.Contract{
		Rows:       []*contract.Row{{ID: "KEY-PUT", Cite: "§2.1 Keys; D1"}},
		Invariants: []*contract.Invariant{{Code: "C101", Cite: "App. A"}},
		Resources:  map[string]*contract.Resource{"shelf": {ID: "shelf", Cite: "§1", Config: map[string]any{"deny_delete": true}}},
		Consumers:  map[string]*contract.Consumer{"pullD": {ID: "pullD", Config: map[string]any{"max_deliver": int64(-1)}}},
	}
}
