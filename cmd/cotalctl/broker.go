package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/logger"

	"github.com/cotalctl/cotalctl/internal/embedded"
	"github.com/cotalctl/cotalctl/internal/trust"
)

type brokerCmd struct {
	Run    brokerRunCmd    `cmd:"" help:"Run the broker of a space directory in the foreground, until SIGTERM."`
	Config brokerConfigCmd `cmd:"" help:"Print a configuration that a stock nats-server runs unchanged."`
}

// brokerFlags say which directory the broker runs on, and where it listens.
type brokerFlags struct {
	dirFlag
	Listen string `default:"127.0.0.1:4222" help:"Address to listen on; port -1 is any free one." placeholder:"HOST:PORT"`
	Name   string `help:"Server name. Default: the server's id." placeholder:"NAME"`
}

func (f brokerFlags) listen(line int) (trust.ServerOptions, error) {
	host, port, err := net.SplitHostPort(f.Listen)
	n, perr := strconv.Atoi(port)
	if err != nil || perr != nil || n < -1 || n == 0 || n > 65535 {
		return trust.ServerOptions{}, usage(fmt.Errorf("--listen, got %q, want HOST:PORT", f.Listen),
			"for example 127.0.0.1:4222, or 127.0.0.1:-1 for any free port")
	}
	return trust.ServerOptions{Host: host, Port: n, ServerName: f.Name, MaxControlLine: line}, nil
}

// open opens the directory and returns the configuration that its contracts and the flags ask for.
func (f brokerFlags) open() (*trust.Dir, trust.ServerOptions, error) {
	d, err := trust.Open(f.Dir)
	if errors.Is(err, trust.ErrNotMade) {
		return nil, trust.ServerOptions{}, noDir(f.Dir, trust.ErrNotMade)
	}
	if err != nil {
		return nil, trust.ServerOptions{}, err
	}
	line, err := controlLine(d)
	if err != nil {
		return nil, trust.ServerOptions{}, err
	}
	opts, err := f.listen(line)
	return d, opts, err
}

// controlLine is the largest control line that the contracts of a directory's spaces ask for.
func controlLine(d *trust.Dir) (int, error) {
	names, err := d.Spaces()
	if err != nil {
		return 0, err
	}
	line := trust.DefaultMaxControlLine
	for _, name := range names {
		rec, err := recordedSpace(d.Path(), name)
		if err != nil {
			return 0, err
		}
		if rec.Contract == "" {
			continue // an account without a record: provisioning was killed, and will go on
		}
		c, err := rec.contract()
		if err != nil {
			return 0, err
		}
		line = max(line, c.Broker.MaxControlLine)
	}
	return line, nil
}

type brokerRunCmd struct{ brokerFlags }

// Help is the example under the flags.
func (brokerRunCmd) Help() string {
	return "Example: cotalctl broker run --dir D --listen 127.0.0.1:-1\n\nIts URL is printed once clients can connect; its log goes to standard error."
}

func (c *brokerRunCmd) Run(a *app) error {
	d, opts, err := c.open()
	if err != nil {
		return err
	}
	l := logger.NewStdLogger(false, false, false, false, false, logger.LogUTC(true))
	s, err := embedded.Start(a.ctx, embedded.Options{Dir: d, Config: opts, Announce: true, Logger: l})
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, s.ClientURL())
	<-a.ctx.Done()
	return s.Shutdown()
}

type brokerConfigCmd struct{ brokerFlags }

// Help is the example under the flags.
func (brokerConfigCmd) Help() string {
	return "Example: cotalctl broker config --dir D --listen 0.0.0.0:4222 > nats.conf; nats-server -c nats.conf"
}

func (c *brokerConfigCmd) Run(a *app) error {
	d, opts, err := c.open()
	if err != nil {
		return err
	}
	text, err := d.ServerConfig(opts)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(text)
	return err
}
