package trust

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	infoTimeout = 2 * time.Second
	maxInfo     = 64 << 10 // bytes of an INFO line that is read
)

// Running is a broker that said where it listens.
type Running struct {
	PID      int    `json:"pid"`
	URL      string `json:"url"`       // nats://host:port
	ServerID string `json:"server_id"` // tells it from another server on a port that was reused
}

// BrokerLock is the right to run the broker of a directory.
type BrokerLock struct {
	dir  *Dir
	lock *flock.Flock
}

// AcquireBroker takes the lock of the broker's stores, or says who runs the broker. One of three things is returned: the
// lock; the broker that holds the stores and answers at its URL, announced or a stock nats-server on this directory's
// configuration; or an error, ErrLocked where another process holds, or may hold, the stores and no such broker was found
// within wait. Two brokers on one store both start and lose acknowledged messages. While the lock is held, a stock
// nats-server on this directory's configuration does not start: it cannot write its pid file.
func (d *Dir) AcquireBroker(ctx context.Context, wait time.Duration) (*BrokerLock, *Running, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		held, running, err := d.tryBroker(ctx)
		if !errors.Is(err, ErrLocked) {
			return held, running, err
		}
		select {
		case <-waiting.Done():
			return nil, nil, err
		case <-time.After(lockRetry):
		}
	}
}

// tryBroker is one attempt of AcquireBroker.
func (d *Dir) tryBroker(ctx context.Context) (*BrokerLock, *Running, error) {
	if err := regular(d.join(brokerLock)); err != nil {
		return nil, nil, fmt.Errorf("broker lock: %w", err)
	}
	l := flock.New(d.join(brokerLock), flock.SetPermissions(fileMode))
	ok, err := l.TryLock()
	if err != nil {
		return nil, nil, fmt.Errorf("broker lock: %w", err)
	}
	if !ok {
		if r := d.announced(ctx); r != nil {
			return nil, r, nil
		}
		if r, err := d.foreign(ctx); err == nil && r != nil { // the holder is only looking
			return nil, r, nil
		}
		return nil, nil, withHint(fmt.Errorf("%s: %w: another process runs its broker and does not say where", d.path, ErrLocked),
			"wait for that command to end, or use the --server that it serves")
	}
	running, err := d.foreign(ctx)
	if err == nil && running == nil {
		err = d.bar()
	}
	if err != nil || running != nil {
		return nil, running, errors.Join(err, l.Unlock())
	}
	held := &BrokerLock{dir: d, lock: l}
	if err := os.Remove(d.join(brokerFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.Join(fmt.Errorf("broker record: %w", err), held.Release())
	}
	return held, nil, nil
}

// Announce records the running broker, so that other commands connect to it.
func (l *BrokerLock) Announce(r Running) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("broker record: %w", err)
	}
	return ReplaceFile(l.dir.join(brokerFile), append(text, '\n'))
}

// Release drops the record and the lock, and lets a stock server start again; call it once the broker's stores are closed.
func (l *BrokerLock) Release() error {
	if !l.lock.Locked() {
		return nil
	}
	err := os.Remove(l.dir.join(brokerFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.dir.unbar(), l.lock.Unlock())
}

// announced is the recorded broker if it answers as itself, else nil: a record may be stale.
func (d *Dir) announced(ctx context.Context) *Running {
	text, err := d.readFile(brokerFile)
	if err != nil {
		return nil
	}
	var r Running
	if err := json.Unmarshal(text, &r); err != nil {
		return nil
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil
	}
	info, err := hello(ctx, u.Host)
	if err != nil || info.ID != r.ServerID {
		return nil
	}
	return &r
}

type serverInfo struct {
	ID   string `json:"server_id"`
	Name string `json:"server_name"`
}

// hello reads the INFO line with which a NATS server greets.
func hello(ctx context.Context, address string) (serverInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	var info serverInfo
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return info, err
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return info, err
		}
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxInfo)).ReadString('\n')
	if err != nil {
		return info, err
	}
	body, ok := strings.CutPrefix(line, "INFO ")
	if !ok {
		return info, errors.New("greeting, got no INFO line")
	}
	return info, json.Unmarshal([]byte(body), &info)
}
