// Command cotalctl compiles the ownership matrix of a wire contract into NATS permissions, mints credentials from it,
// provisions spaces, and audits what a credential admits. See README.md and "cotalctl --help".
//
// # Exit codes
//
//	0  clean
//	1  could not run: bad files, an unreachable server
//	2  usage: unknown flags, missing or malformed parameters
//	3  findings, drift, a refusal by a gate, or a failed check
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// grace is how long a command may take to end after a signal.
const grace = 15 * time.Second

// app is what every command works with: its streams, clock and randomness.
type app struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	now    func() time.Time
	rand   io.Reader
	given  map[string]bool  // the flags of the command line, by name
	watch  func(*spaceWork) // hears of a space that is opened for a change of trust; nil but in tests
}

type cli struct {
	Provision   provisionCmd   `cmd:"" help:"Create or verify a space, or what one principal or endpoint owns in it."`
	Deprovision deprovisionCmd `cmd:"" help:"Remove what one principal or endpoint owns in a space."`
	Mint        mintCmd        `cmd:"" help:"Mint a credential of a profile from the keys of a space."`
	Rotate      rotateCmd      `cmd:"" help:"Replace the keys that sign users, of a space or of the system account."`
	Revoke      revokeCmd      `cmd:"" help:"Take back what a user was issued, and disconnect it."`
	Compile     compileCmd     `cmd:"" help:"Print the permission set of a profile, each entry with its rows."`
	Handle      handleCmd      `cmd:"" help:"Compile a capability handle, or check a chain of them."`
	Audit       auditCmd       `cmd:"" help:"Find what a contract or credential admits and should not."`
	Doctor      doctorCmd      `cmd:"" help:"Check a live cluster against the floors of a contract."`
	Fixtures    fixturesCmd    `cmd:"" help:"Rebuild the byte-reproducible credentials of a contract, and compare or write them."`
	Matrix      matrixCmd      `cmd:"" help:"Check a contract, or show its rows."`
	Init        initCmd        `cmd:"" help:"Scaffold a new contract in an empty directory."`
	Broker      brokerCmd      `cmd:"" help:"Run a broker on a space directory, or print its configuration."`
	Demo        demoCmd        `cmd:"" help:"Run the interop scenario of Cotal v0.5 §12 on an embedded broker."`
	VersionFlag versionFlag    `name:"version" help:"Print the version."`
	Version     versionCmd     `cmd:"" help:"Print the versions of the tool, its contracts and its libraries."`
}

// run parses args, runs the command and maps its error to an exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once, and a command that does not come back after the first one is ended too: what it
	// was writing is written whole or not at all.
	defer context.AfterFunc(ctx, func() {
		stop()
		time.AfterFunc(grace, func() {
			fmt.Fprintln(stderr, "cotalctl: error: interrupted\ncotalctl: hint: run it again: it goes on from what is there")
			os.Exit(exitFailed)
		})
	})()
	a := &app{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, now: time.Now, rand: rand.Reader}
	exited := -1
	parser, err := kong.New(&cli{},
		kong.Name("cotalctl"),
		kong.Description("Compile a wire contract's ownership matrix into NATS permissions; mint, provision, audit.\n\nExit codes: 0 clean, 1 could not run, 2 usage, 3 findings, drift or refusal."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
	)
	if err != nil {
		return a.report(err)
	}
	command, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		return a.report(usage(err, "cotalctl --help, or cotalctl COMMAND --help"))
	}
	a.given = map[string]bool{}
	for _, p := range command.Path {
		if p.Flag != nil {
			a.given[p.Flag.Name] = true
		}
	}
	return a.report(command.Run(a))
}
