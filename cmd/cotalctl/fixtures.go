package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/fixtures"
)

type fixturesCmd struct {
	Verify fixturesVerifyCmd `cmd:"" help:"Rebuild the fixtures of a contract and compare a directory with them, to the byte."`
	Update fixturesUpdateCmd `cmd:"" help:"Write the fixtures of a contract to a directory."`
}

// fixturesFlags say which fixtures, where they stand, and what time it is.
type fixturesFlags struct {
	Path     string     `arg:"" optional:"" default:"./fixtures/jwt" help:"Directory of the fixtures. Default: ./fixtures/jwt." type:"path"`
	Contract string     `default:"cotal-v0.5" help:"Contract: an embedded name, or a directory. Default: cotal-v0.5." placeholder:"NAME|DIR"`
	Now      *time.Time `help:"Time to take for now; it must not be before the epoch of the fixtures. Default: the clock." format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME"`
}

// build makes the fixtures of the contract.
func (f fixturesFlags) build(a *app) (*fixtures.Set, error) {
	ct, err := loadContract(f.Contract)
	if err != nil {
		return nil, err
	}
	now := a.now()
	if f.Now != nil {
		now = *f.Now
	}
	if err := fixtures.CheckClock(ct, now); err != nil {
		return nil, refused(err, "")
	}
	set, err := fixtures.Build(ct)
	if err != nil {
		return nil, refusedByContract(err)
	}
	return set, nil
}

// refusedByContract is a contract whose fixtures do not come out as it declares them: a check that failed. One that declares none
// could not be checked.
func refusedByContract(err error) error {
	var problems contract.Problems
	if errors.As(err, &problems) {
		return refused(err, "")
	}
	return err
}

type fixturesVerifyCmd struct {
	fixturesFlags
	outputFlag
}

// Help is the example under the flags.
func (fixturesVerifyCmd) Help() string {
	return "Example: cotalctl fixtures verify fixtures/jwt -o json\n\n" +
		"Exit 0 where every file is what the contract gives, 3 where one differs, is missing or does not belong, or the clock is before the epoch."
}

func (c *fixturesVerifyCmd) Run(a *app) error {
	set, err := c.build(a)
	if err != nil {
		return err
	}
	problems, err := set.Verify(shown(c.Path))
	if err != nil {
		return failed(err, "name the directory of the fixtures, or make it with cotalctl fixtures update")
	}
	if c.json() {
		err = writeJSON(a.stdout, fixturesDocument(set))
	} else {
		err = errors.Join(printFixtures(a.stdout, set), printCompared(a.stdout, shown(c.Path), set, problems))
	}
	if err != nil || len(problems) == 0 {
		return err
	}
	return refused(problems.Err(), "")
}

// printCompared is the last line, the verdict: without it a clean run and one whose files differ print the same table.
func printCompared(w io.Writer, dir string, set *fixtures.Set, problems contract.Problems) error {
	if len(problems) == 0 {
		_, err := fmt.Fprintf(w, "%s: %d files, each what the contract gives\n", dir, len(set.Files))
		return err
	}
	_, err := fmt.Fprintf(w, "%s: failed, %d of its files differ, are missing or do not belong\n", dir, len(problems))
	return err
}

type fixturesUpdateCmd struct {
	fixturesFlags
}

// Help is the example under the flags.
func (fixturesUpdateCmd) Help() string {
	return "Example: cotalctl fixtures update fixtures/jwt\n\n" +
		"Only files that differ are written, each whole or not at all. A directory that holds anything but fixtures is refused."
}

func (c *fixturesUpdateCmd) Run(a *app) error {
	set, err := c.build(a)
	if err != nil {
		return err
	}
	changed, err := set.Write(shown(c.Path))
	var problem *contract.Problem
	if errors.As(err, &problem) {
		return refused(err, "")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %d fixtures of %s, %d files, %d changed\n", shown(c.Path), len(set.Credentials)+len(set.Messages),
		set.Contract.Name, len(set.Files), changed)
	return err
}

// fixtureRow is a credential in cotalctl/fixtures/v1.
type fixtureRow struct {
	Name         string `json:"name"`
	JWTBytes     int    `json:"jwt_bytes"`
	ConnectBytes int    `json:"connect_bytes"`
	SHA256       string `json:"sha256"` // of the JWT; of the claims where no JWT is written
	Gate         int    `json:"gate"`
	OK           bool   `json:"ok"`      // it fits the gate
	Refused      bool   `json:"refused"` // by the gate, as its fixture says
	Sealed       bool   `json:"sealed"`  // it fits and connects, but nothing writes it
	Profile      string `json:"profile"`
	Topology     string `json:"topology"`
	Account      string `json:"account"`
	Cite         string `json:"cite"`
}

// messageRow is a message in cotalctl/fixtures/v1.
type messageRow struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"` // headers included
	SHA256 string `json:"sha256"`
	Cite   string `json:"cite"`
}

type fixturesDoc struct {
	Schema         string       `json:"schema"`
	Contract       string       `json:"contract"`
	Fixtures       []fixtureRow `json:"fixtures"`
	Messages       []messageRow `json:"messages"`
	LargestConnect int          `json:"largest_connect"`
	Margin         int          `json:"margin"`
	Required       int          `json:"required_max_control_line"`
	LargestMessage int          `json:"largest_message"`
	MaxPayload     int          `json:"required_max_payload"`
}

func fixturesDocument(s *fixtures.Set) fixturesDoc {
	doc := fixturesDoc{Schema: "cotalctl/fixtures/v1", Contract: s.Contract.Name, Fixtures: []fixtureRow{}, Messages: []messageRow{},
		LargestConnect: s.LargestConnect(), Margin: s.Contract.Broker.Margin, Required: s.RequiredControlLine(),
		LargestMessage: s.LargestPayload(), MaxPayload: max(s.LargestPayload(), s.Contract.Broker.MaxPayload)}
	for _, c := range s.Credentials {
		doc.Fixtures = append(doc.Fixtures, fixtureRow{Name: c.Name, JWTBytes: c.JWTBytes, ConnectBytes: c.ConnectBytes, SHA256: c.SHA256,
			Gate: c.Request.Gate, OK: c.OK, Refused: !c.OK, Sealed: c.Sealed(), Profile: c.Request.Profile.Name, Topology: c.Topology,
			Account: c.Account, Cite: c.Cite})
	}
	for _, m := range s.Messages {
		doc.Messages = append(doc.Messages, messageRow{m.Name, len(m.Data), m.SHA256, m.Cite})
	}
	return doc
}

func printFixtures(w io.Writer, s *fixtures.Set) error {
	doc := fixturesDocument(s)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "FIXTURE\tJWT\tCONNECT\tGATE\t\n")
	for _, c := range s.Credentials {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%s\n", c.Name, c.JWTBytes, c.ConnectBytes, c.Request.Gate, c.State())
	}
	for _, m := range doc.Messages {
		fmt.Fprintf(tw, "%s\t%d\t\t\tmessage\n", m.Name, m.Bytes)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d fixtures of %s; largest CONNECT %d bytes, margin %d: max_control_line at least %d\n",
		len(doc.Fixtures)+len(doc.Messages), doc.Contract, doc.LargestConnect, doc.Margin, doc.Required)
	return err
}
