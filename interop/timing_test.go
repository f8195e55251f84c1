package interop

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

var timing = flag.String("timing", "", "measure the doctor beside nats-server's own tools, and write the figures into this file")

// Targets of the doctor on a cluster of three.
const (
	roundTrips  = 3                      // of one VARZ request, and
	beside      = 20 * time.Millisecond  // that a complete answer may take
	silence     = 2 * time.Second        // timeout with a missing server, and
	afterwards  = 100 * time.Millisecond // that its report may take beyond it
	heading     = "## Doctor\n"          // of the section in the file
	doctorInbox = "_INBOX_doctor"
)

// timed is one way to ask three servers how they are, with what it took in each round.
type timed struct {
	name string
	op   func() error
	took []time.Duration
}

func (w *timed) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(w.took))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// clinic is a cluster of three stock servers and those who look at it.
type clinic struct {
	t     *testing.T
	fleet *natstest.Fleet
	nc    *nats.Conn
	in    chan *nats.Msg // answers to fan-out requests
	creds string         // file of the doctor's credential
	wide  string         // file of an unrestricted one, which the stock client needs
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	c := &clinic{t: t, fleet: natstest.StartProcesses(t, 3), in: make(chan *nats.Msg, 16)}
	var perms jwt.Permissions
	for _, z := range []string{"VARZ", "JSZ", "ROUTEZ", "GATEWAYZ", "LEAFZ", "ACCOUNTZ", "CONNZ", "STATSZ"} {
		perms.Pub.Allow.Add("$SYS.REQ.SERVER.PING." + z)
	}
	perms.Pub.Allow.Add(doctor.SubjectUserInfo, "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP")
	user := c.fleet.System.User(t, perms, func(u *jwt.UserClaims) {
		u.Sub.Allow.Add(doctorInbox+".>", "_INBOX_"+u.Subject+".>")
		u.Expires = time.Now().Add(time.Hour).Unix()
		u.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard)
	})
	c.creds, c.wide = user.File(t), c.fleet.System.User(t, jwt.Permissions{}).File(t)
	c.nc = c.fleet.Server(t, "n1").Connect(t, user, nats.CustomInboxPrefix(doctorInbox))
	if _, err := c.nc.ChanSubscribe(doctorInbox+".varz", c.in); err != nil {
		t.Fatal(err)
	}
	return c
}

// varz is one fan-out request with its three answers.
func (c *clinic) varz() error {
	if err := c.nc.PublishRequest("$SYS.REQ.SERVER.PING.VARZ", doctorInbox+".varz", nil); err != nil {
		return err
	}
	for range 3 {
		select {
		case <-c.in:
		case <-time.After(patience):
			return fmt.Errorf("no three answers")
		}
	}
	return nil
}

// look is what cotalctl doctor does on its connection.
func (c *clinic) look(timeout time.Duration, accounts ...doctor.Account) (*doctor.Report, error) {
	s, err := doctor.Gather(context.Background(), c.nc, doctor.Options{Timeout: timeout, Servers: 3, Identify: true, Accounts: accounts})
	if err != nil {
		return nil, err
	}
	return doctor.Judge(s, doctor.Floors{Version: "2.12", Hardened: "2.15.3", ControlLine: 20000, Payload: 1 << 20}, doctor.Expect{Servers: 3}), nil
}

// process runs a program to its end; it fails where its exit code is another, unless that is anyCode.
func (c *clinic) process(code int, name string, args ...string) func() error {
	return func() error {
		out, err := exec.Command(name, args...).CombinedOutput()
		if got := exitCode(err); got != code && code != anyCode {
			return fmt.Errorf("%s %v: exit %d, want %d: %s", filepath.Base(name), args, got, code, out)
		}
		return nil
	}
}

const anyCode = -2

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// TestDoctorTiming measures in one run how long it takes to learn that three servers are fit, and that one of them is missing.
func TestDoctorTiming(t *testing.T) {
	if *timing == "" {
		t.Skip("only with -timing FILE: the figures are those of a machine with nothing else to do")
	}
	p := build(t)
	c := newClinic(t)
	n1 := c.fleet.Server(t, "n1").URL()
	accounts := []doctor.Account{{Name: "space", Key: c.fleet.Account.PublicKey()}, {Name: "system", Key: c.fleet.System.PublicKey()}}
	expect := func(complete bool, accounts ...doctor.Account) func() error {
		return func() error {
			r, err := c.look(silence, accounts...)
			if err == nil && r.Complete != complete {
				err = fmt.Errorf("complete %v, want %v: %+v", r.Complete, complete, r.Checks)
			}
			return err
		}
	}
	stock := func(code int, args ...string) func() error {
		return c.process(code, p.nats, append([]string{"--server", n1, "--creds", c.wide, "--timeout", silence.String()}, args...)...)
	}
	ours := func(code int) func() error {
		return c.process(code, p.product, "doctor", "--server", n1, "--creds", c.creds, "--contract", "cotal-v0.5", "--servers", "3",
			"--timeout", silence.String())
	}
	meta := []string{"server", "check", "meta", "--expect", "3", "--lag-critical", "100", "--seen-critical", "60s"}
	healthy := []*timed{
		{name: "one VARZ request, three answers", op: c.varz},
		{name: "doctor: Gather and Judge, each server's address dialed", op: expect(true)},
		{name: "the same, and two accounts on every server", op: expect(true, accounts...)},
		{name: "`cotalctl doctor --servers 3`", op: ours(0)},
		{name: "`nats server list 3`", op: stock(0, "server", "list", "3")},
		{name: "`nats server check connection`", op: stock(0, "server", "check", "connection")},
		{name: "`nats server check meta --expect 3`", op: stock(0, meta...)},
	}
	c.rounds(40, healthy)
	c.fleet.Server(t, "n3").Kill()
	missing := []*timed{
		{name: "doctor: Gather and Judge", op: expect(false)},
		{name: "the same, and two accounts on every server", op: expect(false, accounts...)},
		{name: "`cotalctl doctor --servers 3 --timeout 2s`", op: ours(3)},
		{name: "`nats server list 3 --timeout 2s`", op: stock(0, "server", "list", "3")},
		{name: "`nats server check meta --expect 3`", op: stock(anyCode, meta...)},
	}
	c.rounds(5, missing)
	text := timingReport(healthy, missing)
	t.Log("\n" + text)
	if err := replaceSection(*timing, text); err != nil {
		t.Fatal(err)
	}
}

// rounds runs every way once in each round; the first one is not recorded.
func (c *clinic) rounds(n int, ways []*timed) {
	c.t.Helper()
	for round := range n + 1 {
		for k := range ways {
			w := ways[(round+k)%len(ways)]
			start := time.Now()
			if err := w.op(); err != nil {
				c.t.Fatalf("%s: %v", w.name, err)
			}
			if round > 0 {
				w.took = append(w.took, time.Since(start))
			}
		}
	}
}

func timingReport(healthy, missing []*timed) string {
	var b strings.Builder
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
	table := func(ways []*timed) {
		b.WriteString("| way | ms | 10th to 90th percentile, ms | runs |\n|---|---:|---|---:|\n")
		for _, w := range ways {
			fmt.Fprintf(&b, "| %s | %s | %s to %s | %d |\n", w.name, ms(w.quantile(0.5)), ms(w.quantile(0.1)), ms(w.quantile(0.9)), len(w.took))
		}
	}
	b.WriteString(heading + "\nA cluster of three stock nats-server processes over loopback, in one run with the stock client `nats` of natscli v0.5.0,\n" +
		"in alternation. The last step of `make bench` makes it alone: `cd interop && go test -run TestDoctorTiming -timing ../docs/performance.md .`\n" +
		"The first three ways ask over a connection that is open; the others are whole processes.\n\n")
	table(healthy)
	got, bound := healthy[1].quantile(0.5), roundTrips*healthy[0].quantile(0.5)+beside
	all := healthy[2].quantile(0.5)
	fmt.Fprintf(&b, "\nTarget: a complete answer within %d round trips and %s ms, here %s ms. Got %s ms: **%s**; with the accounts %s ms: **%s**.\n\n",
		roundTrips, ms(beside), ms(bound), ms(got), met(got <= bound), ms(all), met(all <= bound))
	b.WriteString("The same with one server killed, until it is reported missing. `nats server list` exits 0 with a shorter list;\n" +
		"`nats server check meta` answers at once, with 0 until the peer has been silent for 10 s and 2 from then on.\n\n")
	table(missing)
	got, bound = missing[1].quantile(0.9), silence+afterwards
	whole := missing[2].quantile(0.9)
	fmt.Fprintf(&b, "\nTarget: reported within %s ms, at the 90th percentile. Got %s ms from the first request on, with the accounts: **%s**;\n"+
		"%s ms for the whole process, whose start counts towards `--timeout`: **%s**.\n",
		ms(bound), ms(got), met(got <= bound), ms(whole), met(whole <= bound))
	return b.String()
}

func met(yes bool) string {
	if yes {
		return "met"
	}
	return "not met"
}

// replaceSection puts the section at the end of the file, in place of an earlier one.
func replaceSection(path, section string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, _, _ := bytes.Cut(data, []byte("\n"+heading))
	return os.WriteFile(path, append(append(bytes.TrimRight(before, "\n"), "\n\n"...), section...), 0o644)
}
