package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	toolName     = "cotalctl"
	toolURL      = "https://github.com/cotalctl/cotalctl"
	// srcRoot is the name that readers of SARIF give to the root of the sources; embeddedRoot is where contracts of the tool stand.
	srcRoot      = "%SRCROOT%"
	embeddedRoot = "CONTRACTS"
	// fingerprintKey names how a fingerprint is made; another way gets another name.
	fingerprintKey = "cotalctl/v2"
)

type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool                `json:"tool"`
		Invocations []sarifInvocation        `json:"invocations"`
		Bases       map[string]sarifArtifact `json:"originalUriBaseIds"`
		Results     []sarifResult            `json:"results"`
		Columns     string                   `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		URI     string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID         string         `json:"id"`
		Short      sarifText      `json:"shortDescription"`
		Full       sarifText      `json:"fullDescription"`
		Help       sarifText      `json:"help"`
		HelpURI    string         `json:"helpUri,omitempty"`
		Config     sarifConfig    `json:"defaultConfiguration"`
		Properties sarifRuleProps `json:"properties"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifRuleProps struct {
		Tags []string `json:"tags"`
		Kind string   `json:"kind,omitempty"`
		Cite string   `json:"cite"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifArtifact struct {
		URI         string     `json:"uri,omitempty"`
		BaseID      string     `json:"uriBaseId,omitempty"`
		Description *sarifText `json:"description,omitempty"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions"`
		Properties   sarifResultProps   `json:"properties"`
	}
	sarifResultProps struct {
		Subject string   `json:"subject"`
		Entry   string   `json:"entry"`
		Dir     string   `json:"dir"`
		Rows    []string `json:"rows"`
		Cite    string   `json:"cite"`
		Witness string   `json:"witness"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Status        string `json:"status"`
		Justification string `json:"justification"`
	}
)

// writeSARIF writes a log of one run: every rule, also those without a result, and notes where they are asked for.
func (r *Report) writeSARIF(w io.Writer, o Render) error {
	rules := r.allRules()
	index := map[string]int{}
	driver := sarifDriver{Name: toolName, Version: o.Version, URI: toolURL, Rules: []sarifRule{}}
	for i := range rules {
		index[rules[i].Code] = i
		driver.Rules = append(driver.Rules, rules[i].sarif())
	}
	run := sarifRun{Tool: sarifTool{driver}, Invocations: []sarifInvocation{r.sarifInvocation(o.Dir)}, Results: []sarifResult{},
		Columns: "unicodeCodePoints",
		Bases: map[string]sarifArtifact{
			srcRoot:      {Description: &sarifText{"the directory in which the audit ran"}},
			embeddedRoot: {URI: pagesURL, Description: &sarifText{"the sources of the contracts that ship with the tool"}},
		}}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Severity == Note && !o.notes() {
			continue // a contract has hundreds, and a list of alerts has no place for what was decided
		}
		run.Results = append(run.Results, f.sarif(index[f.Code], o.Dir))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{run}})
}

func (r *Rule) sarif() sarifRule {
	help := clean(r.Help)
	if help == "" {
		help = "see " + clean(r.Cite)
	}
	out := sarifRule{ID: r.Code, Short: sarifText{sentence(r.Title)}, Full: sarifText{sentence(r.Title + " (" + r.Cite + ")")},
		Help:    sarifText{sentence(help)},
		HelpURI: r.URL(), Config: sarifConfig{r.Severity}, Properties: sarifRuleProps{Tags: []string{"security", r.Family}, Kind: r.Kind, Cite: r.Cite}}
	return out
}

// sentence ends a text as readers of SARIF expect it.
func sentence(text string) string { return strings.TrimRight(clean(text), ".") + "." }

// sarifInvocation says whether everything was judged, and what was not.
func (r *Report) sarifInvocation(dir string) sarifInvocation {
	out := sarifInvocation{Successful: len(r.problems) == 0, Notifications: []sarifNotification{}}
	for _, p := range r.problems {
		n := sarifNotification{Level: Error, Message: sarifText{clean(p.Error())}}
		if p.Pos != (contract.Pos{}) {
			n.Locations = []sarifLocation{{Physical: physical(dir, p.Pos.File, p.Pos.Line, p.Pos.Col)}}
		}
		out.Notifications = append(out.Notifications, n)
	}
	if r.Skipped > 0 {
		out.Notifications = append(out.Notifications, sarifNotification{Level: Note,
			Message: sarifText{fmt.Sprintf("skipped %d files that are %s", r.Skipped, wantJudged)}})
	}
	return out
}

func (f *Finding) sarif(rule int, dir string) sarifResult {
	text := f.Subject + ": " + f.Message
	if f.Entry != "" {
		text += "; entry " + f.Entry
	}
	if f.Witness != "" {
		text += "; for example " + f.Witness
	}
	out := sarifResult{RuleID: f.Code, RuleIndex: rule, Level: f.Severity, Message: sarifText{sentence(text)},
		Fingerprints: map[string]string{fingerprintKey: f.fingerprint(dir)}, Suppressions: []sarifSuppression{},
		Properties: sarifResultProps{clean(f.Subject), clean(f.Entry), f.Dir, f.Rows, f.Cite, clean(f.Witness)}}
	at := sarifLocation{Logical: []sarifLogical{{Name: clean(f.Subject), Kind: "member"}}}
	if f.File != "" {
		at.Physical = physical(dir, f.File, f.Line, 0)
	}
	out.Locations = []sarifLocation{at}
	if f.Waived != nil {
		out.Suppressions = append(out.Suppressions, sarifSuppression{"inSource", "accepted", clean(f.Waived.Reason) + " (until " + f.Waived.Until + ")"})
	}
	if f.Baselined {
		out.Suppressions = append(out.Suppressions, sarifSuppression{"external", "accepted", "known to the baseline"})
	}
	return out
}

// physical is a position in a file. A file of a contract that ships with the tool is no file of the working directory.
func physical(dir, file string, line, col int) *sarifPhysical {
	out := &sarifPhysical{Region: sarifRegion{StartLine: max(line, 1), StartColumn: max(col, 0)}}
	if source, ok := matrix.EmbeddedSource(file); ok {
		out.Artifact.URI, out.Artifact.BaseID = source, embeddedRoot
		return out
	}
	uri, relative := fileURI(dir, file)
	out.Artifact.URI = uri
	if relative {
		out.Artifact.BaseID = srcRoot
	}
	return out
}
