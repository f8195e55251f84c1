package interop

import (
	"encoding/json"
	"strings"
	"testing"
)

// verdict is one line of doctor's report.
type verdict struct {
	ID, Title, Status, Got string
}

// doctor runs the check against a server and returns the lines that are not a pass.
func (p *product) doctor(t *testing.T, url string, args ...string) (code int, bad []verdict) {
	t.Helper()
	r := p.run(t, append([]string{"doctor", "--server", url, "--space", "main", "-o", "json"}, args...)...)
	var report struct {
		Checks   []verdict
		Complete bool
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || len(report.Checks) == 0 {
		t.Fatalf("cotalctl doctor, got exit %d, %q and %q, want a report", r.code, r.stdout, r.stderr)
	}
	for _, c := range report.Checks {
		if c.Status != "pass" {
			bad = append(bad, c)
		}
	}
	return r.code, bad
}

// testDoctor judges a stock server that runs the product's configuration: fit, and unfit where a server is missing.
func testDoctor(t *testing.T, p *product, url string) {
	if code, bad := p.doctor(t, url, "--servers", "1"); code != 0 || len(bad) != 0 {
		t.Errorf("cotalctl doctor, got exit %d and %v, want 0 and all passed", code, bad)
	}
	if code, bad := p.doctor(t, url, "--servers", "2", "--timeout", "1s"); code != 3 || len(bad) == 0 {
		t.Errorf("cotalctl doctor --servers 2, got exit %d and %v, want 3 for the absent one", code, bad)
	}
}

// testDoctorLow judges the same server with a control line that the space's credentials do not fit.
func testDoctorLow(t *testing.T, p *product, program string) {
	const fit, low = "max_control_line: 65536", "max_control_line: 4096"
	config := p.configuration(t)
	if strings.Count(config, fit) != 1 {
		t.Fatalf("configuration, got %d times %q, want once", strings.Count(config, fit), fit)
	}
	code, bad := p.doctor(t, serve(t, program, strings.Replace(config, fit, low, 1)), "--servers", "1")
	if code != 3 || len(bad) != 1 || !strings.Contains(bad[0].Title, "max_control_line") || bad[0].Status != "fail" {
		t.Errorf("cotalctl doctor, got exit %d and %v, want 3 and the control line alone", code, bad)
	}
}
