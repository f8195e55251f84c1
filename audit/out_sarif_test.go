package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

// sarifRules is the published schema, testdata/sarif-schema-2.1.0.json: see testdata/README.md.
func sarifRules(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sarifOf writes a report as SARIF and holds it to the schema.
func sarifOf(t *testing.T, r *Report, o Render) sarifLog {
	t.Helper()
	o.Format = FormatSARIF
	var b bytes.Buffer
	if err := r.Write(&b, o); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := sarifRules(t).Validate(doc); err != nil {
		t.Errorf("schema: %v", err)
	}
	var log sarifLog
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	return log
}

// TestSARIFSchema: the schema accepts what is written, and refuses what is not SARIF.
func TestSARIFSchema(t *testing.T) {
	t.Parallel()
	s := sarifRules(t)
	sarifOf(t, fixedReport(), Render{Dir: "/repo", Version: "v1"})
	sarifOf(t, &Report{}, Render{})
	for _, bad := range []string{`{}`, `{"version":"2.0.0","runs":[]}`, `{"version":"2.1.0","runs":[{"tool":{}}]}`,
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[{"message":{"text":"x"},"level":"fatal"}]}]}`} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(bad))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(doc) == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
}

// TestSARIFOfContract: the audit of a contract lists every rule, also those without a result, and puts every result into the sources.
func TestSARIFOfContract(t *testing.T) {
	t.Parallel()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	for _, topology := range c.Topologies {
		r, err := Contract(Config{Contract: c, Topology: topology.Name, Now: now()})
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range sarifOf(t, r, Render{Dir: "/repo"}).Runs[0].Results {
			if result.Level == Note {
				t.Fatalf("a note that nobody asked for: %s", result.RuleID)
			}
		}
		run := sarifOf(t, r, Render{Dir: "/repo", Notes: true}).Runs[0]
		var listed, want []string
		for _, rule := range run.Tool.Driver.Rules {
			listed = append(listed, rule.ID)
			if rule.Short.Text == "." || rule.Help.Text == "." || rule.HelpURI == "" {
				t.Errorf("rule %s says too little: %+v", rule.ID, rule)
			}
		}
		for _, check := range Checks() {
			want = append(want, check.Code)
		}
		for _, inv := range c.Invariants {
			want = append(want, inv.Code)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, listed); diff != "" {
			t.Errorf("rules (-want +got):\n%s", diff)
		}
		if len(run.Results) != len(r.Findings) || len(run.Results) == 0 || !run.Invocations[0].Successful {
			t.Errorf("got %d results of %d findings, successful %v", len(run.Results), len(r.Findings), run.Invocations[0].Successful)
		}
		for i, result := range run.Results {
			if id := run.Tool.Driver.Rules[result.RuleIndex].ID; id != result.RuleID || id != r.Findings[i].Code {
				t.Fatalf("result %d is of rule %s, its index of %s", i, result.RuleID, id)
			}
			at := result.Locations[0].Physical
			if at == nil || at.Region.StartLine < 1 || at.Artifact.BaseID != embeddedRoot {
				t.Fatalf("result %d has no place in the contract: %+v", i, at)
			}
			if _, err := os.Stat("../" + at.Artifact.URI); err != nil {
				t.Fatalf("result %d is in a file that is not there: %v", i, err)
			}
		}
	}
}

func TestSARIFPlaces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ dir, file, uri, base string }{
		{"/repo", "creds/a b.creds", "creds/a%20b.creds", srcRoot},
		{"/repo", "./x:y.creds", "./x:y.creds", srcRoot},
		{"/repo", "/repo/x.creds", "x.creds", srcRoot},
		{"/repo", "/other/x.creds", "file:///other/x.creds", ""},
		{"/repo", "../x.creds", "file:///x.creds", ""},
		{"", "../x.creds", "../x.creds", ""},
		{"/repo", "cotal-v0.5/rows-caller.yaml", "matrix/cotal-v0.5/rows-caller.yaml", embeddedRoot},
		{"/repo", "cotal-v0.5/profiles/host.yaml", "profiles/cotal-v0.5/host.yaml", embeddedRoot},
		{"/repo", "mine/rows.yaml", "mine/rows.yaml", srcRoot},
	} {
		got := physical(tt.dir, tt.file, 0, 0)
		if diff := cmp.Diff([3]any{tt.uri, tt.base, 1}, [3]any{got.Artifact.URI, got.Artifact.BaseID, got.Region.StartLine}); diff != "" {
			t.Errorf("%s in %q (-want +got):\n%s", tt.file, tt.dir, diff)
		}
	}
}

// TestSARIFStates: what does not count is suppressed, what was not judged is said.
func TestSARIFStates(t *testing.T) {
	t.Parallel()
	run := sarifOf(t, fixedReport(), Render{Dir: "/repo"}).Runs[0]
	kinds := map[string]int{}
	for _, result := range run.Results {
		for _, s := range result.Suppressions {
			kinds[s.Kind]++
		}
	}
	if diff := cmp.Diff(map[string]int{"inSource": 1, "external": 1}, kinds); diff != "" {
		t.Errorf("suppressions (-want +got):\n%s", diff)
	}
	inv := run.Invocations[0]
	if inv.Successful || len(inv.Notifications) != 3 || inv.Notifications[0].Locations[0].Physical.Region.StartColumn != 7 {
		t.Errorf("invocation: %+v", inv)
	}
	if got := fmt.Sprint(run.Results); strings.ContainsAny(got, "\x1b\x00\u202e") {
		t.Errorf("control characters in %q", got)
	}
}

// TestRulesGiven: rules that somebody brings are listed, and a code that nobody described is too.
func TestRulesGiven(t *testing.T) {
	t.Parallel()
	r := &Report{Findings: []Finding{{Code: "Z001", Severity: Warning, Rows: []string{}}}}
	r.rules = append(Rules(nil), Rule{Code: "R001", Severity: Error, Family: "given", Title: "t"})
	sortRules(r.rules)
	var got []string
	for _, rule := range r.allRules() {
		got = append(got, rule.Code)
	}
	if len(got) != len(Checks())+2 || !slices.IsSorted(got) || !slices.Contains(got, "R001") || !slices.Contains(got, "Z001") {
		t.Errorf("got %v", got)
	}
}

func TestInvariantTitles(t *testing.T) {
	t.Parallel()
	c := testContract(t)
	kinds := map[string]bool{}
	for _, inv := range c.Invariants {
		kinds[inv.Kind] = true
		if title := InvariantTitle(inv); title == "" || strings.HasPrefix(title, inv.Kind+":") || len(title) > 200 {
			t.Errorf("%s: title %q", inv.Kind, title)
		}
	}
	for _, kind := range Kinds() {
		if !kinds[kind] {
			t.Errorf("no invariant of kind %s", kind)
		}
	}
	on := []contract.Template{tmpl(t, "t.x.>")}
	within := []contract.Bound{{Family: on[0]}}
	for _, tc := range []struct {
		want string
		inv  contract.Invariant
	}{
		{"own words", contract.Invariant{Kind: KindNever, Title: "own words"}},
		{"t.x.> is closed to a, b", contract.Invariant{Kind: KindNever, Families: on, Profiles: []string{"a", "b"}}},
		{"nobody publishes or subscribes on t.x.>", contract.Invariant{Kind: KindNever, Families: on}},
		{"nobody subscribes on t.x.>", contract.Invariant{Kind: KindNever, Families: on, Direction: contract.DirSubscribe}},
		{"nobody publishes outside the listed families", contract.Invariant{Kind: KindConfined, Within: within}},
		{"nobody publishes on t.x.> outside the listed families", contract.Invariant{Kind: KindConfined, Families: on, Within: within}},
		{"nobody publishes or subscribes on t.x.>", contract.Invariant{Kind: KindConfined, Families: on, Direction: contract.DirBoth}},
		{"a publishes within the listed families alone", contract.Invariant{Kind: KindConfined, Within: within, Profiles: []string{"a"}}},
		{"a, b subscribe on t.x.> within the listed families alone", contract.Invariant{Kind: KindConfined, Families: on, Within: within,
			Profiles: []string{"a", "b"}, Direction: contract.DirSubscribe}},
		{"a publishes nothing on t.x.>", contract.Invariant{Kind: KindConfined, Families: on, Profiles: []string{"a"}}},
		{"nobody can have the server place bytes in FACTS", contract.Invariant{Kind: KindNoDeputy, On: []string{"FACTS"}}},
		{"a, b cannot have the server place bytes in FACTS", contract.Invariant{Kind: KindNoDeputy, On: []string{"FACTS"}, Profiles: []string{"a", "b"}}},
	} {
		if got := InvariantTitle(&tc.inv); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.inv.Kind, got, tc.want)
		}
	}
}
