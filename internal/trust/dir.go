package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/jwt/v2"
)

// Files of the directory.
const (
	operatorFile = "operator.jwt"
	systemFile   = "system.jwt"
	serverFile   = "server.conf"
	lockFile     = "lock"
	brokerLock   = "jetstream.lock"
	brokerFile   = "broker.json"
	pidFile      = "nats-server.pid"     // of a stock server; a directory while the lock of the stores is held
	portsSuffix  = ".ports"              // of NAME_PID.ports, where NAME is that of a stock server's program
	makingFile   = "operator.jwt.making" // the directory is being made, and everything in it is ours to redo

	lockRetry = 25 * time.Millisecond
	maxName   = 64
)

// Dir is an open space directory. Methods that write need the lock, but for RecordIssued and AppendLog; methods that read do not, because
// every file is replaced as a whole.
type Dir struct {
	path     string // absolute
	operator *jwt.OperatorClaims
	system   *jwt.AccountClaims
	held     atomic.Bool
	onWrite  func(rel string) error
}

// Open reads an existing directory and checks it: private to this user, complete, and signed by its own operator. A path
// without a space directory is ErrNotMade.
func Open(path string) (*Dir, error) {
	d, err := at(path)
	if err != nil {
		return nil, err
	}
	if err := d.checkRoot(); err != nil {
		return nil, err
	}
	if err := d.load(); err != nil {
		return nil, err
	}
	return d, d.checkKeys()
}

func at(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	return &Dir{path: abs}, nil
}

func (d *Dir) join(rel string) string { return filepath.Join(d.path, rel) }

// Path is the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// OperatorKey is the public key of the operator.
func (d *Dir) OperatorKey() string { return d.operator.Subject }

// SystemAccount is the public key of the system account.
func (d *Dir) SystemAccount() string { return d.system.Subject }

// Observe has fn called with the slash-separated relative path of each file after it was written; an error of fn ends the
// operation there, as a kill would. It exists for tests of convergence and for progress output.
func (d *Dir) Observe(fn func(rel string) error) { d.onWrite = fn }

// checkRoot refuses a path that is no directory, or that others can read.
func (d *Dir) checkRoot() error {
	info, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return notMade(d.path)
	}
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: got a file, want a directory", d.path)
	}
	return checkPrivate(d.path, info)
}

func notMade(path string) error {
	return withHint(fmt.Errorf("%s: %w", path, ErrNotMade), "provision a space first, or name its directory with --dir")
}

// Lock takes the exclusive lock for edits; it waits until ctx ends. Only one Lock of one Dir is held at a time. The returned
// function releases it and may be called more than once.
func (d *Dir) Lock(ctx context.Context) (unlock func(), err error) {
	if err := regular(d.join(lockFile)); err != nil { // opening a pipe waits for whoever writes to it, whatever ctx says
		return nil, fmt.Errorf("lock: %w", err)
	}
	l := flock.New(d.join(lockFile), flock.SetPermissions(fileMode))
	if ok, err := l.TryLockContext(ctx, lockRetry); !ok {
		if ctx.Err() != nil {
			return nil, withHint(fmt.Errorf("%s: %w: another command is editing it (%w)", d.path, ErrLocked, ctx.Err()), "wait for it to end, then run again")
		}
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := d.sweep(); err != nil {
		return nil, errors.Join(fmt.Errorf("leftovers: %w", err), l.Unlock())
	}
	d.held.Store(true)
	var released atomic.Bool
	return func() {
		if released.CompareAndSwap(false, true) {
			d.held.Store(false)
			_ = l.Unlock() // closes the descriptor, which releases the lock in any case
		}
	}, nil
}

// checkName holds names to what is safe as a file and account name; the contract's own grammars are narrower.
func checkName(what, name string) error {
	for i, r := range name {
		alnum := r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !alnum && (i == 0 || r != '-' && r != '_') {
			return badName(what, name)
		}
	}
	if name == "" || len(name) > maxName {
		return badName(what, name)
	}
	return nil
}

func badName(what, name string) error {
	return fmt.Errorf("%s, got %q, want at most %d letters, digits, \"-\" and \"_\", the first a letter or digit", what, name, maxName)
}
