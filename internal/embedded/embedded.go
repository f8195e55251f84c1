// Package embedded runs a nats-server inside the process on a space directory. The server reads the very configuration that
// a stock nats-server is given, so that the two cannot differ. It refuses a directory whose stores another broker uses.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// Options are the choices of [Start].
type Options struct {
	Dir    *trust.Dir
	Config trust.ServerOptions // port -1: any free port
	// Announce records the broker in the directory, so that other commands connect to it while it runs.
	Announce bool
	// Silent opens no listener: only connections from inside the process reach the broker. It cannot be announced.
	Silent bool
	// Wait is how long to wait for another process to leave the stores.
	Wait   time.Duration
	Logger server.Logger // nil: nothing is logged
}

// RunningError says that another process already runs, and announced, the broker of the directory; connect to its URL.
type RunningError struct {
	Dir     string
	Running trust.Running
}

// Error names the directory, process and URL.
func (e *RunningError) Error() string {
	return fmt.Sprintf("%s: its broker already runs as process %d at %s", e.Dir, e.Running.PID, e.Running.URL)
}

// Hint says what to do next.
func (e *RunningError) Hint() string {
	return "use --server " + e.Running.URL + ", or stop that process"
}

// Server is a running broker.
type Server struct {
	srv  *server.Server
	lock *trust.BrokerLock
	once sync.Once
	err  error
}

// Start runs the broker of a directory until Shutdown. It returns once clients can connect. ctx bounds the start only. A
// broker that is announced elsewhere is a *RunningError; stores that another process holds are trust.ErrLocked.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Announce && o.Silent {
		return nil, errors.New("broker, got announce and silent, want one: without a listener there is no URL")
	}
	lock, running, err := o.Dir.AcquireBroker(ctx, o.Wait)
	if err != nil {
		return nil, err
	}
	if running != nil {
		return nil, &RunningError{Dir: o.Dir.Path(), Running: *running}
	}
	s := &Server{lock: lock}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Shutdown())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, o Options) error {
	text, err := o.Dir.ServerConfig(o.Config)
	if err != nil {
		return err
	}
	opts := &server.Options{}
	if err := opts.ProcessConfigString(string(text)); err != nil {
		if opts.AccountResolver != nil {
			opts.AccountResolver.Close()
		}
		return fmt.Errorf("server configuration: %w", err)
	}
	opts.NoSigs, opts.DontListen = true, o.Silent
	opts.PidFile, opts.PortsFileDir = "", "" // they say that a server without the lock runs
	if err := sweep(filepath.Join(o.Dir.Path(), "jetstream")); err != nil {
		return err
	}
	if s.srv, err = server.NewServer(opts); err != nil {
		opts.AccountResolver.Close()
		return fmt.Errorf("server: %w", err)
	}
	log := &fatal{Logger: o.Logger, failed: make(chan error, 1)}
	s.srv.SetLogger(log, false, false)
	if err := s.ready(ctx, log.failed); err != nil {
		return err
	}
	if !o.Announce {
		return nil
	}
	return s.lock.Announce(trust.Running{PID: os.Getpid(), URL: s.ClientURL(), ServerID: s.srv.ID()})
}

// readyPoll is how long one look for readiness takes.
const readyPoll = 250 * time.Millisecond

// ready waits until clients can connect, the server reports a fatal error, or ctx ends.
func (s *Server) ready(ctx context.Context, failed <-chan error) error {
	go s.srv.Start()
	for !s.srv.ReadyForConnections(readyPoll) {
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("broker did not start: %w", ctx.Err())
		default:
		}
	}
	select {
	case err := <-failed: // such as JetStream, which fails before the listener opens
		return err
	default:
		return nil
	}
}

// ClientURL is where clients on this machine connect: nats://host:port. A silent broker has none that works.
func (s *Server) ClientURL() string {
	addr, ok := s.srv.Addr().(*net.TCPAddr)
	if !ok {
		return ""
	}
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = trust.DefaultHost
	}
	return "nats://" + net.JoinHostPort(host, strconv.Itoa(addr.Port))
}

// InProcessConn makes a client connection without a socket; it lets a Server serve as nats.InProcessServer's argument.
func (s *Server) InProcessConn() (net.Conn, error) { return s.srv.InProcessConn() }

// Shutdown closes connections and stores, waits until that is done, and leaves the directory to others. Later calls return
// what the first did.
func (s *Server) Shutdown() error {
	s.once.Do(func() {
		if s.srv != nil {
			s.srv.Shutdown()
			s.srv.WaitForShutdown()
			s.srv.AccountResolver().Close()
		}
		s.err = s.lock.Release()
	})
	return s.err
}

// fatal passes log lines on and keeps the first fatal one: the server's own habit is to end the process.
type fatal struct {
	server.Logger
	failed chan error
}

func (f *fatal) Fatalf(format string, v ...any) {
	err := fmt.Errorf("server: "+format, v...)
	select {
	case f.failed <- err:
	default:
	}
	f.Errorf("%s", err)
}

func (f *fatal) Noticef(format string, v ...any) {
	if f.Logger != nil {
		f.Logger.Noticef(format, v...)
	}
}

func (f *fatal) Warnf(format string, v ...any) {
	if f.Logger != nil {
		f.Logger.Warnf(format, v...)
	}
}

func (f *fatal) Errorf(format string, v ...any) {
	if f.Logger != nil {
		f.Logger.Errorf(format, v...)
	}
}

// Debugf and Tracef are off: a trace shows messages.
func (f *fatal) Debugf(string, ...any) {}

// Tracef does nothing.
func (f *fatal) Tracef(string, ...any) {}
