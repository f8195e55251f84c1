package trust

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// lock; the announced broker that holds it and answers at its URL; or an error, ErrLocked where another process holds the
// lock and no such broker was found within wait. Two brokers on one store both start and lose acknowledged messages.
func (d *Dir) AcquireBroker(ctx context.Context, wait time.Duration) (*BrokerLock, *Running, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	l := flock.New(d.join(brokerLock), flock.SetPermissions(fileMode))
	for {
		ok, err := l.TryLock()
		if err != nil {
			return nil, nil, fmt.Errorf("broker lock: %w", err)
		}
		if ok {
			return d.holdBroker(ctx, l)
		}
		if r := d.announced(ctx); r != nil {
			return nil, r, nil
		}
		select {
		case <-waiting.Done():
			return nil, nil, withHint(fmt.Errorf("%s: %w: another process runs its broker and does not say where", d.path, ErrLocked),
				"wait for that command to end, or use the --server that it serves")
		case <-time.After(lockRetry):
		}
	}
}

// holdBroker is called with the lock in hand. The lock says nothing of a stock nats-server, which takes none; one that runs
// the written server.conf is known by its name.
func (d *Dir) holdBroker(ctx context.Context, l *flock.Flock) (*BrokerLock, *Running, error) {
	held := &BrokerLock{dir: d, lock: l}
	if listen, name := d.address(); listen != "" {
		if info, err := hello(ctx, listen); err == nil && info.Name == name {
			return nil, nil, withHint(
				errors.Join(fmt.Errorf("%s: %w: nats-server %s runs on it", d.path, ErrLocked, name), held.Release()),
				"name it with --server nats://"+listen)
		}
	}
	if err := os.Remove(d.join(brokerFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
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
	return replaceFile(l.dir.join(brokerFile), append(text, '\n'))
}

// Release drops the record and the lock; call it once the broker's stores are closed.
func (l *BrokerLock) Release() error {
	if !l.lock.Locked() {
		return nil
	}
	err := os.Remove(l.dir.join(brokerFile))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.lock.Unlock())
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
