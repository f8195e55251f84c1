package doctor

import (
	"encoding/json"
	"fmt"
	"io"
)

// ReportSchema names the JSON form of a [Report].
const ReportSchema = "cotalctl/doctor/v1"

// Status is what became of a check.
type Status string

// The statuses of a check. Skip means asked and could not look: it is not a pass.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	Skip Status = "skip"
)

// Report is the judgement of a snapshot.
type Report struct {
	Schema          string         `json:"schema"` // ReportSchema
	Checks          []Result       `json:"checks"` // by check id, then server name
	Servers         []ReportServer `json:"servers"`
	ExpectedServers int            `json:"expected_servers"` // of the connection's cluster; 0: could not be established
	Complete        bool           `json:"complete"`         // every fan-out check passed
}

// Result is one check, at one server where the check is per server.
type Result struct {
	ID     string  `json:"id"`
	Title  string  `json:"title"`
	Status Status  `json:"status"`
	Server *string `json:"server"` // name, or nil for a check of the whole
	Object string  `json:"object"` // what the row is about beside a server, or ""
	Got    string  `json:"got"`
	Want   string  `json:"want"`
	Hint   string  `json:"hint"` // what to do next; "" where there is nothing to do
}

// ReportServer is a server that answered.
type ReportServer struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ExitCode is 3 when a check failed, else 1 when one could not look or none was asked for, else 0.
func (r *Report) ExitCode() int {
	switch {
	case r.Count(Fail) > 0:
		return 3
	case r.Count(Skip) > 0 || len(r.Checks) == 0:
		return 1
	}
	return 0
}

// Count is the number of results with this status.
func (r *Report) Count(s Status) int {
	n := 0
	for _, c := range r.Checks {
		if c.Status == s {
			n++
		}
	}
	return n
}

// JSON writes the report as indented JSON; the same report gives the same bytes.
func (r *Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Check is one entry of the closed list of checks.
type Check struct {
	ID    string // never reused
	Title string
}

// The ids that other checks refer to.
const (
	idFanOut   = "D001"
	idIdentity = "D007"
)

// Checks returns the closed list of checks by id. Each has a page in docs/doctor.
func Checks() []Check {
	var out []Check
	for _, c := range checks() {
		out = append(out, Check{c.id, c.title})
	}
	return out
}
