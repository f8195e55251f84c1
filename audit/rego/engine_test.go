package rego

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

const header = `# METADATA
# title: R001
# description: a rule of a test
# related_resources:
#   - ref: "SPEC 13.9 Mediated reads"
# custom:
#   severity: warning
package mine
`

// rulesDir writes files into a directory of rules.
func rulesDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// set is a compiled set that may publish on "app.one" and subscribe on "app.*".
func set() []byte {
	return fmt.Appendf(nil, `{"schema":%q,"contract":"app","profile":"worker","space":"main","pub":{"mode":"patterns","allow":[{"pattern":"app.one","rows":[]}],"deny":[]},`+
		`"sub":{"mode":"patterns","allow":[{"pattern":"app.>","rows":[]}],"deny":[]},"jwt_bytes":0,"connect_bytes":0}`, compile.DocumentSchema)
}

// found judges the set by a directory of rules, and returns the findings of codes that begin with R.
func found(t *testing.T, dir string) ([]audit.Finding, error) {
	t.Helper()
	e, err := New(t.Context(), Config{Dirs: []string{dir}})
	if err != nil {
		return nil, err
	}
	r, err := audit.Bytes(audit.Config{Rules: e}, "set.json", set())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(r.Findings, func(f audit.Finding) bool { return !strings.HasPrefix(f.Code, "R") }), nil
}

func TestFinding(t *testing.T) {
	dir := rulesDir(t, map[string]string{
		"r.rego": header + `
import data.audit.lib
import data.limits

findings contains f if {
	some p in input.principals
	some e in lib.allows(p.sub)
	w := lib.subscribes(p, e, limits.family, [])
	f := {"principal": p.id, "entry": e.text, "witness": w, "message": "hears it", "severity": "note"}
}
`, "data.yaml": "limits:\n  family: app.secret.>\n", "r_test.rego": "package mine_test\n\ntest_true if true\n",
	})
	got, err := found(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []audit.Finding{{Code: "R001", Severity: audit.Note, Subject: "worker", Entry: "app.>", Dir: "sub", Also: []string{}, Rows: []string{}, Cite: "SPEC 13.9 Mediated reads",
		Message: "hears it", Witness: "app.secret.rest", File: "set.json"}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(audit.Finding{})); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestBadRules: whatever is wrong with a rule is an error at its position, never a pass.
func TestBadRules(t *testing.T) {
	finding := func(object string) string {
		return header + "\nfindings contains f if {\n\tsome p in input.principals\n\tf := " + object + "\n}\n"
	}
	cases := []struct{ name, text, want string }{
		{"syntax", header + "\nfindings contains f if {", "r.rego:10:24: unexpected eof token"},
		{"no package", "findings := []\n", "r.rego:1:1: package expected"},
		{"reserved package", "package audit.mine\n", "r.rego:1:1: package audit.mine: audit is kept for what ships"},
		{"no metadata", "package mine\n\nfindings := []\n", "r.rego:1:1: package mine has findings and no metadata"},
		{"no code", strings.Replace(finding("{}"), "# title: R001\n", "", 1), "metadata: title, got none"},
		{"no description", strings.Replace(finding("{}"), "# description: a rule of a test\n", "", 1), "metadata: description, got none"},
		{"severity", strings.Replace(finding("{}"), "warning", "fatal", 1), `metadata: custom.severity, got "fatal", want one of error, warning, note`},
		{"no severity", strings.Replace(finding("{}"), "# custom:\n#   severity: warning\n", "", 1), `metadata: custom.severity, got ""`},
		{"twin", strings.Replace(finding("{}"), "#   severity", "#   restates: check\n#   severity", 1), "custom.restates is for the rules that ship"},
		{"generic code", strings.Replace(finding("{}"), "R001", "A900", 1), "r.rego:10:1: code A900: A and digits are the generic checks'"},
		{"lower code", strings.Replace(finding("{}"), "R001", "r001", 1), `r.rego:10:1: code of the rule, got "r001"`},
		{"no entry point", header + "\nfinding contains 1\n", "r.rego:8:1: package mine states a severity and has no findings"},
		{"library alone", "package mine\n\nx := 1\n", `rules, got no package with findings, want one or more`},
		{"unknown input", header + "\nfindings contains f if some f in input.credentials\n", "undefined ref: input.credentials"},
		{"unknown key of the input", header + "\nfindings contains f if {\n\tsome p in input.principals\n\tf := p.pub.alow\n}\n", "undefined ref"},
		{"network", header + "\nfindings contains http.send({\"method\": \"get\", \"url\": \"http://127.0.0.1\"})\n", "r.rego:10:19: undefined function http.send"},
		{"clock", header + "\nfindings contains time.now_ns()\n", "undefined function time.now_ns"},
		{"random", header + "\nfindings contains rand.intn(\"x\", 2)\n", "undefined function rand.intn"},
		{"process", header + "\nfindings contains opa.runtime()\n", "undefined function opa.runtime"},
		{"type", header + "\nfindings contains f if {\n\tf := subject.covers(1, \"a\")\n}\n", "r.rego:11:7: subject.covers: invalid argument(s)"},
		{"unused variable", header + "\nfindings contains 1 if {\n\tx := 1\n}\n", "assigned var x unused"},
		{"undefined", header + "\nfindings := [] if input.now > 1\n", "r.rego:10:1: rule R001: findings is undefined"},
		{"no set", header + "\nfindings := {\"principal\": 0}\n", "r.rego:10:1: rule R001: findings, got map[string]interface {}"},
		{"no subject", header + "\nfindings contains f if {\n\tf := subject.covers(input.principals[0].name, \"a..b\")\n}\n",
			`r.rego:11:7: rule failed: subject.covers: subject "a..b": token 2 is empty`},
		{"division", header + "\nfindings contains f if {\n\tf := 1 / input.now\n}\n", "rule failed: div: divide by zero"},
		{"conflict", header + "\nfindings := []\n\nfindings := [1] if input.now == 0\n", "r.rego:12:1: rule failed: rule data.mine.findings produced conflicting values"},
		{"number", header + "\nfindings contains 1\n", "finding: got 1, want an object"},
		{"empty", finding("{}"), "finding: message, got none"},
		{"neither", finding(`{"message": "m", "severity": p.severity}`), "undefined ref"},
		{"about nothing", finding(`{"message": p.name}`), "finding: got neither principal nor row"},
		{"both", finding(`{"message": "m", "principal": p.id, "row": "R"}`), "finding: got principal and row"},
		{"foreign key", finding(`{"message": "m", "principal": p.id, "entrie": "x"}`), `finding: key "entrie" is not known`},
		{"wrong type", finding(`{"message": ["m"], "principal": p.id}`), `finding: key "message", got [m], want a text`},
		{"principal", finding(`{"message": "m", "principal": p.name}`), `finding: key "principal" is not known`},
		{"negative", finding(`{"message": "m", "principal": p.id - 1}`), `finding: key "principal", got -1, want the id of a principal`},
		{"no such principal", finding(`{"message": "m", "principal": p.id + 7}`), "finding: principal, got 7, want the id of one in the input"},
		{"no such entry", finding(`{"message": "m", "principal": p.id, "entry": "app.two"}`), `finding: entry, got "app.two"`},
		{"witness", finding(`{"message": "m", "principal": p.id, "entry": "app.one", "witness": "app.two"}`), `finding: witness, got "app.two"`},
		{"row", finding(`{"message": p.name, "row": "R"}`), `finding: row, got "R", want one of the contract`},
		{"finding's severity", finding(`{"message": "m", "principal": p.id, "severity": "fatal"}`), `finding: severity, got "fatal"`},
		{"finding's code", finding(`{"message": "m", "principal": p.id, "code": "R002"}`), `finding: code, got "R002"`},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := rulesDir(t, map[string]string{"r.rego": tt.text})
			_, err := found(t, dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
	// The control: the same finding, complete, passes.
	if got, err := found(t, rulesDir(t, map[string]string{"r.rego": finding(`{"message": "m", "principal": p.id, "entry": "app.one", "witness": "app.one"}`)})); err != nil || len(got) != 1 {
		t.Errorf("control: got %v, %v, want one finding", got, err)
	}
}

func TestBadDirectories(t *testing.T) {
	good := header + "\nfindings := []\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"empty", nil, "got no .rego file, want one or more"},
		{"tests alone", map[string]string{"r_test.rego": "package mine\n"}, "got no .rego file"},
		{"data below", map[string]string{"r.rego": good, "sub/data.json": "{}"}, "data.json:1:1: data below the directory"},
		{"bad data", map[string]string{"r.rego": good, "data.json": "[1"}, "data.json:1:1: data: "},
		{"data of what ships", map[string]string{"r.rego": good, "data.json": `{"audit": {}}`}, "data: the key audit is taken"},
		{"data over a rule", map[string]string{"r.rego": good, "data.json": `{"mine": {"findings": []}}`}, "conflict"},
		{"code twice", map[string]string{"r.rego": good, "s.rego": strings.Replace(good, "package mine", "package other", 1)}, "code R001 is taken: another rule has it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := found(t, rulesDir(t, tt.files))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := found(t, filepath.Join(t.TempDir(), "absent")); err == nil || !strings.Contains(err.Error(), "cannot be read: no such file") {
		t.Errorf("absent: got %v, want an error", err)
	}
	linked := rulesDir(t, map[string]string{"r.rego": good, "sub/s.rego": good})
	if err := os.Symlink(filepath.Join(linked, "sub"), filepath.Join(linked, "again")); err != nil {
		t.Fatal(err)
	}
	if _, err := found(t, linked); err == nil || !strings.Contains(err.Error(), "again:1:1: a linked directory below") {
		t.Errorf("linked directory: got %v, want an error", err)
	}
	if err := os.Symlink(rulesDir(t, map[string]string{"r.rego": good}), filepath.Join(linked, "root")); err != nil {
		t.Fatal(err)
	}
	if _, err := found(t, filepath.Join(linked, "root")); err != nil {
		t.Errorf("linked root: %v", err)
	}
	c := &contract.Contract{Name: "app", Topologies: []*contract.Topology{{Name: "one"}}, Invariants: []*contract.Invariant{{Code: "R001", Kind: "never"}}}
	e, err := New(t.Context(), Config{Dirs: []string{rulesDir(t, map[string]string{"r.rego": good})}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Bytes(audit.Config{Contract: c, Rules: e}, "x", set()); err == nil || !strings.Contains(err.Error(), "r.rego:10:1: code R001 is taken: an invariant of the contract has it") {
		t.Errorf("code of the contract: got %v, want an error", err)
	}
}

// TestBuiltins compares each builtin with what it says, and shows that what is no subject is an error.
func TestBuiltins(t *testing.T) {
	calls := map[string]string{
		`subject.covers("a.>", "a.b")`: "true", `subject.covers("a.b", "a.>")`: "false",
		`subject.overlaps("a.*", "*.b")`: "true", `subject.overlaps("a.*", "a")`: "false",
		`subject.intersect("a.*", "*.b")`: `"a.b"`, `subject.matches("a.*", "a.>")`: "true", `subject.matches("a.b", "a.>")`: "false",
		`subject.widen("a.*") == "a.>"`: "true", `subject.widen("a.b")`: `"a.b"`, `subject.plain("a.b*")`: "false", `subject.plain("a.*")`: "true",
		`subject.witness("a.*", ["a.any"])`: `"a.any2"`, `subject.witness("a.*", {"a.b"})`: `"a.any"`,
		`subject.pairs(["a.*", "b"], ["a.b", "b", "*.b"])`: "[[0, 0], [0, 2], [1, 1]]",
		// undefined
		`subject.intersect("a", "b")`: "", `subject.witness("a.*", ["a.>"])`: "",
		// errors
		`subject.covers("a.", "b")`: "!", `subject.widen("")`: "!", `subject.plain("a..b")`: "!", `subject.witness("a", ["b", "c."])`: "!", `subject.witness("a", [input.now])`: "!",
		`subject.pairs(["a"], [">.a"])`: "!",
	}
	asked := map[string]bool{}
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		want := calls[call]
		name, _, _ := strings.Cut(call, "(")
		asked[name] = true
		text := header + "\nfindings contains f if {\n\tsome p in input.principals\n\tv := " + call +
			"\n\tf := {\"principal\": p.id, \"message\": json.marshal(v)}\n}\n"
		got, err := found(t, rulesDir(t, map[string]string{"r.rego": text}))
		switch {
		case want == "!":
			if err == nil {
				t.Errorf("%s: got %v, want an error", call, got)
			}
		case err != nil:
			t.Errorf("%s: %v", call, err)
		case want == "" && len(got) != 0, want != "" && (len(got) != 1 || got[0].Message != strings.ReplaceAll(want, " ", "")):
			t.Errorf("%s: got %v, want %q", call, got, want)
		}
	}
	for _, b := range builtins() {
		if !asked[b.name] {
			t.Errorf("%s is not tried", b.name)
		}
	}
}

// TestCapabilities: no builtin that rules may use is one of those that are left out, nor one that OPA calls nondeterministic.
func TestCapabilities(t *testing.T) {
	names := map[string]bool{}
	for _, b := range capabilities().Builtins {
		names[b.Name] = true
		if b.IsNondeterministic() {
			t.Errorf("%s is nondeterministic", b.Name)
		}
	}
	for _, name := range []string{"http.send", "opa.runtime", "net.lookup_ip_addr", "rand.intn", "time.now_ns", "uuid.rfc4122", "io.jwt.decode_verify"} {
		if names[name] {
			t.Errorf("%s may be used", name)
		}
	}
	for _, name := range []string{"net.cidr_contains", "subject.covers", "sprintf", "time.parse_rfc3339_ns"} {
		if !names[name] {
			t.Errorf("%s may not be used", name)
		}
	}
}

// TestOwnTests: tests of a user's rules run with the builtins; a failing one is a result, a failing builtin and no test are errors.
func TestOwnTests(t *testing.T) {
	rule := header + "\nfindings := []\n"
	test := func(body string) ([]TestResult, error) {
		return Test(t.Context(), []string{rulesDir(t, map[string]string{"r.rego": rule, "r_test.rego": "package mine_test\n\nimport data.mine\n\n" + body})})
	}
	got, err := test("test_good if count(mine.findings) == 0\n\ntest_bad if subject.covers(\"a\", \"b\")\n")
	if err != nil || len(got) != 2 || !got[0].Pass || got[1].Pass || got[1].Name != "mine_test.test_bad" || got[1].Pos.Line != 7 {
		t.Errorf("got %+v, %v, want one that passes and one that does not", got, err)
	}
	var problems contract.Problems
	if _, err := test("test_error if mine.findings == subject.covers(\"a..b\", \"b\")\n"); !errors.As(err, &problems) || problems[0].Pos.Line != 5 {
		t.Errorf("failing builtin: got %v, want an error in line 5", err)
	}
	if _, err := test("good if count(mine.findings) == 0\n"); err == nil || !strings.Contains(err.Error(), "got no test") {
		t.Errorf("no test: got %v, want an error", err)
	}
}
