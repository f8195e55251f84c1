package doctor

import (
	"context"
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
	maxAnswers = 4096
	maxBytes   = 32 << 20
	queued     = 256 // answers that wait to be read
)

// Options of a gathering.
type Options struct {
	Timeout time.Duration // of the whole gathering; 0: DefaultTimeout
	Servers int           // servers expected in the connection's cluster; 0: unknown. More answers than that are still taken
}

// Gather asks every server for VARZ and ROUTEZ over nc, a connection of a system-account user that may publish both and may
// subscribe below its own inbox prefix. It returns as soon as every server that any answer names has answered, else at the
// timeout: a silent server is a matter for [Judge], and so is a request that the broker refused. A deployment with gateways or
// leaf nodes names no complete set, so there it waits for the timeout.
//
// An error means that nothing was learned: a connection that is not up, or a ctx that ended.
func Gather(ctx context.Context, nc *nats.Conn, o Options) (*Snapshot, error) {
	if !nc.IsConnected() {
		return nil, fmt.Errorf("gather: connection is %s, want CONNECTED", strings.ToUpper(nc.Status().String()))
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	round, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	g := newGathering(nc, o.Servers)
	defer nc.RemoveStatusListener(g.down)
	err := g.run(round)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("gather: %w", context.Cause(ctx))
	}
	if err != nil && round.Err() == nil {
		return nil, fmt.Errorf("gather: %w", err)
	}
	sortAnswers(g.snap.Varz.Answers)
	sortAnswers(g.snap.Routez.Answers)
	return g.snap, nil
}

// gathering is the state of one call of Gather.
type gathering struct {
	nc      *nats.Conn
	servers int
	inbox   string // unique to this gathering: a late answer to another one cannot be mistaken for ours
	in      chan *nats.Msg
	down    chan nats.Status
	snap    *Snapshot
	count   int
	bytes   int
}

func newGathering(nc *nats.Conn, servers int) *gathering {
	return &gathering{
		nc: nc, servers: servers, inbox: nc.NewInbox(),
		in:   make(chan *nats.Msg, queued),
		down: nc.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED),
		snap: &Snapshot{
			Schema: SnapshotSchema,
			Connected: Server{
				ID: nc.ConnectedServerId(), Name: nc.ConnectedServerName(),
				Version: nc.ConnectedServerVersion(), Cluster: nc.ConnectedClusterName(),
			},
			Varz:   Round{Subject: SubjectVarz, Answers: []Answer{}},
			Routez: Round{Subject: SubjectRoutez, Answers: []Answer{}},
		},
	}
}

// run subscribes, asks and collects. Its error is that of the connection or of ctx.
func (g *gathering) run(ctx context.Context) error {
	sub, err := g.nc.ChanSubscribe(g.inbox+".*", g.in)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection may be gone by now
	refused, err := g.refusal(ctx, g.inbox, func() error { return nil })
	if err != nil {
		return g.lost(err)
	}
	if refused {
		g.snap.Varz.Refused = "the broker refuses the subscription to the reply inbox"
		g.snap.Routez.Refused = g.snap.Varz.Refused
		return nil
	}
	for _, r := range []*Round{&g.snap.Varz, &g.snap.Routez} {
		if err := g.ask(ctx, r); err != nil {
			return g.lost(err)
		}
	}
	return g.collect(ctx, sub)
}

// ask sends one request and records whether the broker refuses it.
func (g *gathering) ask(ctx context.Context, r *Round) error {
	refused, err := g.refusal(ctx, r.Subject, func() error {
		return g.nc.PublishRequest(r.Subject, g.inbox+"."+token(r), nil)
	})
	if refused {
		r.Refused = "the broker refuses the publish to " + r.Subject
	}
	return err
}

// token is the last token of a round's reply subject.
func token(r *Round) string { return r.Subject[strings.LastIndexByte(r.Subject, '.')+1:] }

// refusal runs do and waits until the broker has read it. A permission error is asynchronous, stands before the answer to the
// flush, and is told from one of an earlier operation by being another value.
func (g *gathering) refusal(ctx context.Context, subject string, do func() error) (bool, error) {
	before := g.nc.LastError()
	if err := do(); err != nil {
		return false, err
	}
	if err := g.nc.FlushWithContext(ctx); err != nil {
		return false, err
	}
	last := g.nc.LastError()
	return last != before && errors.Is(last, nats.ErrPermissionViolation) && strings.Contains(last.Error(), subject), nil
}

// lost turns the error of a connection that went down into the snapshot's own record of it.
func (g *gathering) lost(err error) error {
	if g.nc.IsConnected() {
		return err
	}
	g.snap.Interrupted = interrupted
	return nil
}

const interrupted = "the connection was lost while gathering"

// collect reads answers until the set is complete, a bound is hit, the connection is lost or ctx ends.
func (g *gathering) collect(ctx context.Context, sub *nats.Subscription) error {
	for !g.done() {
		// A flood of answers must not outrun the deadline: select alone would choose between the two at random.
		if ctx.Err() != nil {
			g.dropped(sub)
			return ctx.Err()
		}
		select {
		case m := <-g.in:
			g.take(m)
		case <-g.down:
			g.snap.Interrupted = interrupted
			return nil
		case <-ctx.Done():
			g.dropped(sub)
			return ctx.Err()
		}
	}
	// One more round trip: an answer under way, such as a second one under a known id, is evidence too.
	if err := g.nc.FlushWithContext(ctx); err != nil {
		return g.lost(err)
	}
	for len(g.in) > 0 && !g.full() {
		g.take(<-g.in)
	}
	g.dropped(sub)
	return nil
}

// take adds one answer to its round.
func (g *gathering) take(m *nats.Msg) {
	g.count++
	g.bytes += len(m.Data)
	for _, r := range []*Round{&g.snap.Varz, &g.snap.Routez} {
		if m.Subject != g.inbox+"."+token(r) {
			continue
		}
		if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
			r.Refused = "no server listens for " + r.Subject + " in the account of this credential"
			return
		}
		r.Answers = append(r.Answers, decode(r.Subject, m.Data))
	}
}

func (g *gathering) full() bool {
	if g.count < maxAnswers && g.bytes < maxBytes {
		return false
	}
	g.endless(fmt.Sprintf("the replies do not end: %d of them, %d bytes, when they were cut off", g.count, g.bytes))
	return true
}

// dropped records answers that came faster than they could be read.
func (g *gathering) dropped(sub *nats.Subscription) {
	if n, err := sub.Dropped(); err == nil && n > 0 {
		g.endless("the replies came faster than they could be read, and some were dropped")
	}
}

func (g *gathering) endless(why string) {
	g.snap.Varz.Endless, g.snap.Routez.Endless = why, why
}

// done reports whether no further answer can matter.
func (g *gathering) done() bool {
	if g.full() || g.snap.Varz.Refused != "" {
		return true
	}
	if len(g.in) > 0 {
		return false
	}
	return newView(g.snap).settled(g.servers)
}
