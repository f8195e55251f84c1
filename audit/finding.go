package audit

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// Schema names the JSON form of a report.
const Schema = "cotalctl/findings/v1"

// Severities, from most to least severe.
const (
	Error   = "error"
	Warning = "warning"
	Note    = "note"
)

// The directions of an entry that a finding is about.
const (
	dirPub = "pub"
	dirSub = "sub"
)

// Finding is one violation, doubt or declared residual.
type Finding struct {
	Code     string   `json:"code"`
	Severity string   `json:"severity"` // Error, Warning or Note
	Subject  string   `json:"subject"`  // who holds the entry: a profile, else the name or public key of a credential
	Entry    string   `json:"entry"`    // the permission entry as the broker reads it; "" where the finding is about the whole
	Dir      string   `json:"dir"`      // "pub" or "sub": the direction that the entry grants or denies; "" where it is of neither, or of both
	Rows     []string `json:"rows"`     // sorted ids of the rows that the entry stands for, empty where unknown
	Cite     string   `json:"cite"`
	Message  string   `json:"message"`
	Witness  string   `json:"witness"` // a concrete subject that the entry admits, or ""
	File     string   `json:"file"`    // of the credential, else of the row
	Also     []string `json:"also"`    // other files that hold the same JWT: it is judged once
	Line     int      `json:"line"`    // 0 where a file has no lines that matter
	Waived   *Waiver  `json:"waived"`
	Hint     string   `json:"-"` // what to do next

	// Baselined says that a baseline knows the finding: it does not count.
	Baselined bool `json:"baselined"`

	more      int      // further entries of the same row of a sampled profile
	residuals []string // ids of the declared residuals that an A100 is about
	// declaredBy is the residual that makes a note of a power, "" where none does.
	declaredBy string
	read       bool              // the file is one that was read, and not where a row stands
	profile    string            // of the holder, where it is known
	identity   string            // of a credential: who holds it, whatever key it was minted for; "" for a set compiled here
	nonce      string            // of the credential's inbox, which differs in each minting
	denies     []subject.Pattern // what withholds a part of the entry
	reach      []string          // of one about several entries: what they reach, sorted
}

// redact removes key material that stands in a name or an entry of what was judged.
func (f *Finding) redact() {
	for _, text := range []*string{&f.Subject, &f.Entry, &f.Message, &f.Witness} {
		if len(*text) > 24 {
			*text = contract.Redact(*text)
		}
	}
}

// Waiver accepts a finding for a while. A waived finding is no error.
type Waiver struct {
	Reason string `json:"reason"`
	Until  string `json:"until"` // a date, 2006-01-02
}

// Checked counts what a report is about. A count of zero means that nothing of that sort was looked at.
type Checked struct {
	Invariants int `json:"invariants"` // generic checks and contract invariants
	Profiles   int `json:"profiles"`   // distinct known profiles judged
	Entries    int `json:"entries"`    // permission entries judged
	Files      int `json:"files"`      // files judged; each compiled set of a file that holds several counts as one
}

// Report is the outcome of an audit.
type Report struct {
	Schema   string    `json:"schema"`
	Contract string    `json:"contract"` // that was judged by, "" for none
	Findings []Finding `json:"findings"` // by severity, code, subject, entry
	Deputies []Deputy  `json:"deputies"` // what holders can have the server place, by subject, file, account and class
	Checked  Checked   `json:"checked"`
	Skipped  int       `json:"-"` // files of a directory that are nothing this package judges

	why       string            // which contract was taken where nobody named one, and why
	problems  contract.Problems // what could not be judged: they are returned beside the report
	rules     []Rule            // that the report was made by
	whole     bool              // the contract itself was judged, and not some credentials
	files     []string          // that were read, by name
	now       time.Time         // the clock that it was made at
	residuals map[string]string // id → in words, of the declared residuals that findings name
}

// Why says in one line which contract was taken, where Config.Unnamed left that open, and why; else "".
func (r *Report) Why() string { return r.why }

// Errors counts the error findings that are neither waived nor of a baseline.
func (r *Report) Errors() int { return r.Failing(Error) }

// WriteJSON writes the report as indented JSON. Arrays are present even when empty.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func (r *Report) sort() {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Also == nil {
			f.Also = []string{}
		}
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(rank(a.Severity), rank(b.Severity)),
			strings.Compare(a.Code, b.Code), strings.Compare(a.Subject, b.Subject), strings.Compare(a.Entry, b.Entry), strings.Compare(a.Dir, b.Dir),
			strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), slices.Compare(a.Rows, b.Rows), strings.Compare(a.Message, b.Message))
	})
}

func rank(severity string) int {
	return slices.Index([]string{Error, Warning, Note}, severity)
}
