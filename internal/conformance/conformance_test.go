package conformance

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
)

const sampleDir = "docs/conformance/depot"

// judge is what the test of the shipped data does, on any tree: load, references, lock.
func judge(tree fstest.MapFS, c *contract.Contract) error {
	b, err := Load(tree, sampleDir)
	if err != nil {
		return err
	}
	known, err := Know(c, tree)
	if err != nil {
		return err
	}
	if err := known.Verify(b); err != nil {
		return err
	}
	lock, err := ParseLock("lock", tree[sampleDir+"/"+LockFile].Data)
	if err != nil {
		return err
	}
	return append(lock.Lost(b), lock.Stale(b)...).Err()
}

func TestExtract(t *testing.T) {
	t.Parallel()
	got, err := Extract(sampleText, []string{"2.1", "A"})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range got {
		lines = append(lines, s.Name+" "+s.Title)
		for _, e := range s.Sentences {
			lines = append(lines, e.ID+" "+e.Must+" "+e.Text)
		}
	}
	want := []string{"2.1 Keys", "2.1-001 MUST A key MUST be unique.", "2.1-002 never A key is never reused;", "2.1-003 only Readers only look",
		"2.1-004 MUST NOT Writers MUST NOT read", "A Grants", "A-001 SHALL The keeper SHALL hold `shelf.>` alone!",
		"A-002 REQUIRED Nobody else is REQUIRED to know."}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := Extract(sampleText, []string{"9"}); err == nil {
		t.Error("a section that the text lacks: got nil, want an error")
	}
}

// Every way to break the account is found where it is; the unbroken one passes.
func TestBrokenFixtures(t *testing.T) {
	t.Parallel()
	if err := judge(sample(t, "", "", ""), sampleContract()); err != nil {
		t.Fatalf("the unbroken account: %v", err)
	}
	const keys, grants, outline, lock = sampleDir + "/2.1.yaml", sampleDir + "/A.yaml", sampleDir + "/sections.yaml", sampleDir + "/" + LockFile
	d := strings.NewReplacer(digests(t)...)
	tests := []struct{ name, file, from, to, want string }{
		{"unknown key", keys, "words: uniqueness", "word: uniqueness", `2.1.yaml:4:57: row 2.1-001: unknown key "word"`},
		{"unknown kind", keys, "{row: KEY-PUT}", "{rwo: KEY-PUT}", `unknown key "rwo"`},
		{"no kind", keys, "{row: KEY-PUT}", "{issue: 3}", "row 2.1-001: answer of no kind"},
		{"two kinds", keys, "{row: KEY-PUT}", "{row: KEY-PUT, kind: x}", "both kind and row"},
		{"no answer", keys, "[{row: KEY-PUT}, {invariant: C101}]", "[]", "answers, got an empty list"},
		{"twice", keys, "{invariant: C101}", "{row: KEY-PUT}", "answer row KEY-PUT is given twice"},
		{"gap", keys, "2.1-002", "2.1-003", "row 2.1-002: id, got 2.1-003, want 2.1-002"},
		{"key word", keys, "must: MUST,", "must: must,", "row 2.1-001: must, got must"},
		{"digest", keys, d.Replace(`"DIGEST1"`), `"DIGEST1"`, "row 2.1-001: digest, got DIGEST1"},
		{"long words", keys, "uniqueness", strings.Repeat("word ", 30), "words, got 149 bytes"},
		{"long client", grants, "readers compare digests", "a b c d e f g h i", "client, got 9 words, want at most 8"},
		{"states with more", keys, "{states: a description}", "{states: x}, {row: KEY-PUT}", "states beside another answer"},
		{"setting of a row", keys, "{row: KEY-PUT}", "{row: KEY-PUT, setting: x}", "row has no setting"},
		{"issue of a row", keys, "{row: KEY-PUT}", "{row: KEY-PUT, issue: 4}", "row has no issue"},
		{"row", keys, "KEY-PUT", "KEY-PUTS", `A row "KEY-PUTS" does not exist`},
		{"invariant", keys, "C101", "C109", `invariant "C109" does not exist`},
		{"resource", keys, "resource: shelf", "resource: shelve", `resource "shelve" does not exist`},
		{"setting", keys, "setting: deny_delete", "setting: deny_purge", `resource "shelf" has no setting "deny_purge"`},
		{"consumer", grants, "consumer: pullD", "consumer: pullE", `consumer "pullE" does not exist`},
		{"consumer setting", grants, "setting: filter", "setting: filtre", `consumer "pullD" has no setting "filtre"`},
		{"test", "depot/keys_test.go", "TestKeys(t", "TestKey(t", `test "depot.TestKeys" does not exist`},
		{"script", grants, "script: drift", "script: drifts", `script "drifts" does not exist`},
		{"check", "docs/doctor/D001.md", "D001", "D002", `check "D001" does not exist`},
		{"hygiene", "audit/codes.go", "A001", "A002", `hygiene "A001" does not exist`},
		{"decision", grants, `"0001"`, `"0009"`, `decision "0009" does not exist`},
		{"section of another file", keys, `section: "2.1"`, "section: A", `section "A" stands in 2.1.yaml`},
		{"section not accounted for", outline, "title: Grants, accounted: true", "title: Grants", `section "A" is not accounted for`},
		{"section without a sheet", outline, "title: Depot", "title: Depot, accounted: true", "there is no 2.yaml"},
		{"title", keys, "title: Keys", "title: Key", `title, got "Key", want "Keys"`},
		{"section twice", outline, `id: "2"`, `id: "1"`, "section 1 is listed twice"},
		{"section id", outline, `id: "2"`, `id: "2.x"`, `section id "2.x"`},
		{"sentence vanishes", grants, "  - {id: \"A-002\"", "#", "row A-002: the sentence has vanished"},
		{"digest changes", keys, d.Replace("DIGEST2"), "0123456789ab", "row 2.1-002: the digest is not the lock's, got 0123456789ab"},
		{"open grows", keys, "{states: a description}", "{open: nobody}", "section 2.1 has more open sentences, got 2, want at most 1"},
		{"open shrinks", keys, "{open: nobody looks, issue: 4}, ", "", "section 2.1: the lock's number of open sentences, got 1, want 0"},
		{"new sentence", lock, d.Replace("2.1-004 DIGEST4\n"), "", "row 2.1-004: the sentence is not in the lock"},
		{"lock without a section", lock, "A open 0\n", "", "section A: the lock's number"},
		{"lock line", lock, "A open 0", "A open none", "lock:9:1: neither a sentence"},
		{"lock twice", lock, "A-002", "A-001", "lock:11:1: sentence A-001 stands twice"},
	}
	if len(tests) == 0 {
		t.Fatal("no case")
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := judge(sample(t, tt.file, tt.from, tt.to), sampleContract())
			if want := strings.TrimPrefix(tt.want, "A "); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func TestCitations(t *testing.T) {
	t.Parallel()
	b, err := Load(sample(t, "", "", ""), sampleDir)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := b.Outline.Citations(sampleContract()); err != nil || n != 3 {
		t.Fatalf("got %d and %v, want 3 citations and no error", n, err)
	}
	for cite, want := range map[string]string{
		"§2.2 Keys":        `citation "§2.2 Keys": the specification has no such section`,
		"§3":               "no such section",
		"§2.1; App. B":     `citation "App. B": the specification has no such section`,
		"§2.1; D2":         "no decision D2",
		"Keys":             `citation "Keys" names no section`,
		"§2.1 Keys, §9":    "", // what follows a comma is words
		"§2.1x":            "names no section",
		"App. Agent":       "names no section",
		"App. A, sub; §1":  "",
		"D1 (fixed here)":  "",
		"§2.1 ; §1 item 4": "",
	} {
		var got string
		if err := b.Outline.Cited(contract.Pos{}, "ROW", cite).Err(); err != nil {
			got = err.Error()
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", cite, got, want)
		}
	}
}

func TestRecheck(t *testing.T) {
	t.Parallel()
	b, err := Load(sample(t, "", "", ""), sampleDir)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, from, to string
		want           []string
	}{
		{"the same", "", "", nil},
		{"emphasis and spacing are no words", "A key MUST be unique.", "A key *MUST*  be unique.", nil},
		{"changed", "A key MUST be unique.", "A key MUST be short.", []string{"changed 2.1-001"}},
		{"vanished", "Readers only look\tWriters", "Writers", []string{"moved 2.1-003, was 2.1-004", "vanished 2.1-003"}},
		{"new", "Nobody else", "It is never lost. Nobody else", []string{"new A-002", "moved A-003, was A-002"}},
		{"vanished last", " Nobody else is REQUIRED to know.", "", []string{"vanished A-002"}},
		{"twice", "A key MUST be unique.", "A key MUST be unique. A key MUST be unique.",
			[]string{"new 2.1-002", "moved 2.1-003, was 2.1-002", "moved 2.1-004, was 2.1-003", "moved 2.1-005, was 2.1-004"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			diffs, err := b.Recheck(strings.Replace(sampleText, tt.from, tt.to, 1))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range diffs {
				got = append(got, d.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if _, err := b.Recheck("nothing"); err == nil {
		t.Error("another text: got nil, want an error")
	}
}

func TestQuotes(t *testing.T) {
	t.Parallel()
	for words, quoted := range map[string]bool{"A key is never reused": false, "keys: a `key` is never reused; it": true} {
		b, err := Load(sample(t, sampleDir+"/2.1.yaml", "words: uniqueness", `words: "`+words+`"`), sampleDir)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Quotes(sampleText, 5); (len(got) > 0) != quoted {
			t.Errorf("%q: got %v, want %v", words, got, quoted)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	tree := sample(t, sampleDir+"/2.1.yaml", "words: uniqueness", `words: "a|b <c> *"`)
	b, err := Load(tree, sampleDir)
	if err != nil {
		t.Fatal(err)
	}
	known, err := Know(sampleContract(), tree)
	if err != nil {
		t.Fatal(err)
	}
	got := string(Page([]*Book{b}, map[string]*Known{"depot": known}))
	for _, want := range []string{
		"## depot: Depot Protocol 1\n",
		"| §2.1 Keys | 4 | 2 | 1 | 1 | 0 | 0 | 0 | 1 | 1 |\n| Appendix A: Grants | 2 | 1 | 1 | 0 | 1 | 1 | 1 | 0 | 0 |\n" +
			"| **all** | **6** | **3** | **2** | **1** | **1** | **1** | **1** | **1** | **1** |\n",
		"| 2.1-001 | MUST | a\\|b &lt;c> \\* | row `KEY-PUT`; invariant `C101` |\n",
		"| 2.1-002 | never | no reuse | resource `shelf` `deny_delete`; test `depot.TestKeys` |\n",
		"| A-001 | SHALL | the keeper | script `drift`; [ADR 1](adr/0001-readers.md); consumer `pullD` `filter` |\n",
		"| A-002 | REQUIRED | others | client: readers compare digests; service to be built: ledger (issue 6) |\n",
		"### Open\n\n| sentence | in words | why | issue |\n|---|---|---|---|\n| 2.1-004 | writers | nobody looks | 4 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
}

// The formatted lock of a book is a lock that finds nothing.
func TestFormatLock(t *testing.T) {
	t.Parallel()
	b, err := Load(sample(t, "", "", ""), sampleDir)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := ParseLock("lock", FormatLock(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := append(lock.Lost(b), lock.Stale(b)...).Err(); err != nil {
		t.Error(err)
	}
}

func TestLoadNeedsAnOutline(t *testing.T) {
	t.Parallel()
	if _, err := Load(fstest.MapFS{}, sampleDir); err == nil || errors.As(err, new(contract.Problems)) {
		t.Errorf("got %v, want a missing file", err)
	}
}
