package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// DefaultTimeout bounds a gathering when [Options] state no other.
const DefaultTimeout = 2 * time.Second

// Bounds of one gathering over all of its requests: far above any real deployment, and small in memory.
const (
	maxAnswers = 1 << 14
	maxBytes   = 64 << 20
	queued     = 256 // answers that wait to be read
)

// Options of a gathering.
type Options struct {
	Timeout  time.Duration  // of the whole gathering; 0: DefaultTimeout
	Servers  int            // servers expected in the connection's cluster; 0: unknown. More answers than that are still taken
	Clusters map[string]int // the same for each further cluster by name
	Accounts []Account      // that are looked into
	// Inspect connects as the inspector of an account, who reads what its streams and consumers are; nil: the servers alone are asked.
	Inspect  func(ctx context.Context, account Account) (*nats.Conn, error)
	Streams  map[string][]string // that the inspector of an account, by public key, is asked for
	Identify bool                // each server's own address is dialed, to see which server is there
	TLS      *tls.Config         // of these dials, for servers that require TLS; nil: the system's certificate authorities
	// Addresses are where servers are reached from here, by name, where what they say of themselves does not hold here.
	Addresses map[string]string
	Active    *Active // nil: nothing is tried
	// Progress, which may be nil, hears how many of the servers known so far have answered everything, and what is awaited.
	Progress func(done, known int, what string)
	Now      func() time.Time // the clock here; nil: time.Now
}

// Gather asks every server over nc, a connection of a system-account user that may publish the requests and may subscribe below its
// own inbox prefix. It returns as soon as every server that any answer names has answered every request, else at the timeout: a
// silent server is a matter for [Judge], and so is a request that the broker refused.
//
// An error means that nothing was learned: a connection that is not up, or a ctx that ended.
func Gather(ctx context.Context, nc *nats.Conn, o Options) (*Snapshot, error) {
	if !nc.IsConnected() {
		return nil, fmt.Errorf("gather: connection is %s, want CONNECTED", strings.ToUpper(nc.Status().String()))
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	bounded, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	g := newGathering(nc, o)
	err := g.run(bounded, o.Timeout/4)
	if errors.Is(err, errIdle) {
		again := newGathering(nc, o)
		if err = again.run(bounded, o.Timeout); len(again.snap.Varz.Answers) >= len(g.snap.Varz.Answers) {
			g = again
		}
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("gather: %w", context.Cause(ctx))
	}
	if err != nil && bounded.Err() == nil {
		return nil, fmt.Errorf("gather: %w", err)
	}
	g.try(ctx)
	g.finish()
	return g.snap, nil
}
