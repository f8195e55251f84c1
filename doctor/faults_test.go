package doctor_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// stand is a live deployment with all that the doctor is told of it. Its report has nothing but passes until a fault is injected.
type stand struct {
	t       *testing.T // of the fault that is tried
	nc      *nats.Conn
	system  *natstest.Account
	app     *natstest.Account // an account of the space
	token   string            // its JWT, where that is not the account's own
	opts    doctor.Options
	floors  doctor.Floors
	expect  doctor.Expect
	altered func(*doctor.Snapshot) // what no real server says; nil: everything is said by servers

	servers []*natstest.Server // in process, or
	fleet   *natstest.Fleet    // as processes
	hand    *hand              // that changes the space; nil: the stand has none
}

// injected is one fault of a healthy stand, and everything that is then no pass.
type injected struct {
	name, how string
	inject    func(s *stand) // puts things right again in a Cleanup of s.t, if that can be done
	fails     []string       // check, server and object of each row; * is any server
	skips     []string       // servers or objects of whose rows some could not look, each for a failure of another row
	code      int            // exit code; 0 stands for 3
}

// stage is one sort of deployment with the faults that are tried there.
type stage struct {
	name, what string
	faults     []injected
}

// stages are all faults that are tried, by the deployment.
func stages() []stage {
	return []stage{
		{"A cluster of three with a space", "three servers in one process that hold a provisioned space, each with a resolver of its own", clusterFaults()},
		{"What nobody answers here", "the same cluster; its answers are changed on the way from the broker to the judge", recordedFaults()},
		{"Stock servers", "three nats-server processes with their accounts in the configuration", processFaults()},
		{"A supercluster and a leaf node", "two clusters of two joined by gateways, and a leaf node of the system account", superFaults()},
		{"A supercluster and a leaf node of stock servers", "the same as five nats-server processes", superProcessFaults()},
	}
}

// report gathers and judges.
func (s *stand) report() *doctor.Report {
	s.t.Helper()
	snap := gather(s.t, s.nc, s.opts)
	if s.altered != nil {
		s.altered(snap)
	}
	r := doctor.Judge(snap, s.floors, s.expect)
	if diff := cmp.Diff(r, doctor.Judge(kept(s.t, snap), s.floors, s.expect)); diff != "" {
		s.t.Errorf("judged from its file, the snapshot gives another report: %s", diff)
	}
	return r
}

// kept is a snapshot as it is read back from its file.
func kept(t *testing.T, s *doctor.Snapshot) *doctor.Snapshot {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	back, err := doctor.ReadSnapshot(&b)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// awaitHealthy returns once nothing is wrong with the stand. A cluster that was healed needs a moment.
func (s *stand) awaitHealthy() {
	s.t.Helper()
	natstest.Await(s.t, func() string {
		r := s.report()
		if r.ExitCode() == 0 && r.Complete {
			return ""
		}
		return fmt.Sprintf("health before the fault: exit %d, %s", r.ExitCode(), text(s.t, r))
	})
}

// settled is the report once none of its rows says to run again.
func (s *stand) settled() (r *doctor.Report) {
	s.t.Helper()
	natstest.Await(s.t, func() string {
		r = s.report()
		for _, c := range r.Checks {
			if c.Status == doctor.Skip && strings.HasPrefix(c.Hint, "run again") {
				return c.ID + ": " + c.Hint
			}
		}
		return ""
	})
	return r
}

// try injects each fault alone.
func (s *stand) try(t *testing.T, faults []injected) {
	t.Helper()
	for _, f := range faults {
		healthy := false
		t.Run(f.name, func(t *testing.T) {
			before := *s
			defer func() { *s = before }()
			s.t = t
			s.awaitHealthy()
			healthy = true
			f.inject(s)
			f.compare(t, s.settled())
		})
		if !healthy {
			return // what was not healed would be blamed on the next ones
		}
	}
}

// compare holds the report against what the fault is to give.
func (f injected) compare(t *testing.T, r *doctor.Report) {
	t.Helper()
	fails, skips := []string{}, map[string]bool{}
	for _, c := range r.Checks {
		who := where(c)
		switch c.Status {
		case doctor.Fail:
			fails = append(fails, strings.TrimSpace(c.ID+" "+who+" "+c.Object))
			if c.Hint == "" {
				t.Errorf("%s of %s has no hint", c.ID, who)
			}
		case doctor.Skip:
			if who == "-" {
				who = c.Object
			}
			skips[who] = true
			if len(f.fails) > 0 && !explained.MatchString(c.Hint) {
				t.Errorf("skip of %s names no other failure: %s", c.ID, c.Hint)
			}
		}
	}
	want := slices.Clone(f.fails)
	for i, row := range fails {
		if i < len(want) && strings.Contains(want[i], " * ") {
			fails[i] = anyServer.ReplaceAllString(row, "$1 * ")
		}
	}
	got := []string{}
	for who := range skips {
		got = append(got, who)
	}
	slices.Sort(got)
	if diff := cmp.Diff(append([]string{}, want...), fails); diff != "" {
		t.Errorf("failures: %s", diff)
	}
	if diff := cmp.Diff(append([]string{}, f.skips...), got); diff != "" {
		t.Errorf("skips: %s", diff)
	}
	if r.ExitCode() != f.exit() {
		t.Errorf("exit %d, want %d", r.ExitCode(), f.exit())
	}
	if t.Failed() {
		t.Log(text(t, r))
	}
}

var (
	explained = regexp.MustCompile(`\bsee D0\d\d\b`)
	anyServer = regexp.MustCompile(`^(D\d+) \S+ `)
)

func (f injected) exit() int {
	if f.code != 0 {
		return f.code
	}
	return 3
}

// missing gives the gathering the time of a missing server, which it uses up.
func (s *stand) missing() { s.opts.Timeout = 2 * time.Second }

// TestFaultTable: docs/doctor/faults.md tells what the tests here try. go test ./doctor -run TestFaultTable -update rewrites it.
func TestFaultTable(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Faults, and what the doctor says\n\n<!-- Generated: go test ./doctor -run TestFaultTable -update -->\n\n" +
		"Each fault is injected into a healthy deployment, whose report has nothing but passes before. It is then the only failure, on the\n" +
		"server that has it. Where a row says what could not be looked at, each of these skips names the failure that explains it.\n" +
		"`make doctor-faults` injects all of them.\n")
	n := 0
	for _, st := range stages() {
		fmt.Fprintf(&b, "\n## %s\n\n%s%s.\n\n| fault | injected by | fails | could not look | exit |\n|---|---|---|---|---|\n",
			st.name, strings.ToUpper(st.what[:1]), st.what[1:])
		for _, f := range st.faults {
			n++
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %d |\n", f.name, f.how, told(f.fails), strings.Join(f.skips, ", "), f.exit())
		}
	}
	fmt.Fprintf(&b, "\n%d faults.\n", n)
	if n < 30 {
		t.Errorf("got %d faults, want at least 30", n)
	}
	golden(t, filepath.Join("..", "..", "docs", "doctor", "faults.md"), b.Bytes())
}

// told are the failing rows as the table has them, each with the page of its check.
func told(rows []string) string {
	var out []string
	for _, row := range rows {
		id, rest, _ := strings.Cut(row, " ")
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "-"), "* ")
		out = append(out, strings.TrimSpace(fmt.Sprintf("[%s](%s.md) %s", id, id, strings.TrimSpace(rest))))
	}
	return strings.Join(out, ", ")
}
