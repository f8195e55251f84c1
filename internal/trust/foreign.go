package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
)

// foreign looks for a stock nats-server, which takes no lock: nil and nil mean that none runs on the directory. One that is
// known for sure and answers is returned; whatever else may be one is ErrLocked.
func (d *Dir) foreign(ctx context.Context) (*Running, error) {
	claims, err := d.claims()
	if err != nil {
		return nil, err
	}
	listen, written := d.address()
	mine := []string{written, ServerOptions{}.withDefaults(d.OperatorKey()).ServerName}
	var locked error
	for _, c := range claims {
		s := d.judge(c)
		r, name := c.dial(ctx)
		named := r != nil && name != "" && (name == mine[0] || name == mine[1])
		switch {
		case r != nil && (s == certain || s == likely && named):
			return r, nil
		case s != stale || named: // named: a server of another machine or container, whose processes are not seen
			if locked == nil || r != nil { // one process may have two files; the one with the URL says more
				locked = d.claimed(c, r)
			}
		}
	}
	if locked != nil {
		return nil, locked
	}
	if listen != "" { // a server whose configuration names no pid file
		if info, err := hello(ctx, listen); err == nil && info.Name == written {
			return nil, withHint(fmt.Errorf("%s: %w: nats-server %s runs on it", d.path, ErrLocked, written), "name it with --server nats://"+listen)
		}
	}
	return nil, nil
}

// claimed is the refusal of a claim that may be true.
func (d *Dir) claimed(c claim, r *Running) error {
	path := d.join(c.file)
	if c.pid == 0 {
		return withHint(fmt.Errorf("%s: %w: %s holds no readable process id", d.path, ErrLocked, path),
			"a nats-server may be starting: run again; if none runs on the directory, remove "+path)
	}
	at := "URL"
	if r != nil {
		at = r.URL
	}
	return withHint(fmt.Errorf("%s: %w: a nats-server may run on it as process %d, which %s names", d.path, ErrLocked, c.pid, path),
		fmt.Sprintf("stop it, or name it with --server %s; if no nats-server runs on the directory, remove %s", at, path))
}

// dial greets the server at the URLs of a claim, and returns the first that answers, with its name.
func (c claim) dial(ctx context.Context) (r *Running, name string) {
	for _, text := range c.urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Port() == "" {
			continue
		}
		if info, err := hello(ctx, u.Host); err == nil && info.ID != "" {
			return &Running{PID: c.pid, URL: text, ServerID: info.ID}, info.Name
		}
	}
	return nil, ""
}

// bar keeps a stock server from starting while the lock is held: where it would write its pid file stands a directory, and it
// ends before it opens a store. A stale pid file goes; it is judged once more when no server can write it any longer.
func (d *Dir) bar() error {
	path, aside := d.join(pidFile), d.join(tmpPrefix+pidFile+tmpSuffix)
	if isDir(path) {
		return nil // of a holder that was killed
	}
	err := os.Rename(path, aside)
	moved := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("pid file: %w", err)
	}
	if err := os.Mkdir(path, dirMode); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return d.claimed(claim{file: pidFile}, nil)
		}
		return fmt.Errorf("pid file: %w", err)
	}
	if !moved {
		return nil
	}
	c, err := readPID(aside)
	if err == nil && d.judge(c) == stale {
		return os.Remove(aside)
	}
	c.file = pidFile
	return errors.Join(d.claimed(c, nil), err, os.Remove(path), os.Rename(aside, path))
}

// unbar lets a stock server start again.
func (d *Dir) unbar() error {
	path := d.join(pidFile)
	if !isDir(path) {
		return nil
	}
	return os.Remove(path)
}
