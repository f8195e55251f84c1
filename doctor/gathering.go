package doctor

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// errIdle ends a first attempt in which nothing happens any more though something is missing: a message can get lost, above all between
// clusters, so that everything is asked once more. An attempt in which somebody contradicted himself is evidence, and is not repeated.
var errIdle = errors.New("nothing comes any more")

// gathering is the state of one call of Gather. One goroutine owns it; side work hands its results to that one.
type gathering struct {
	nc      *nats.Conn
	o       Options
	inbox   string // unique to this gathering: a late answer to another one cannot be mistaken for ours
	in      chan *nats.Msg
	refused chan string // subjects that the broker refuses
	down    chan nats.Status
	results chan func() // of side work
	side    int         // works under way
	dialed  map[string]bool
	snap    *Snapshot
	rounds  []round
	begun   time.Time
	count   int
	bytes   int
}

func newGathering(nc *nats.Conn, o Options) *gathering {
	g := &gathering{
		nc: nc, o: o, inbox: nc.NewInbox(), begun: o.Now(), dialed: map[string]bool{},
		in: make(chan *nats.Msg, queued), refused: make(chan string, queued), results: make(chan func()),
		down: nc.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED),
	}
	g.snap = &Snapshot{
		Schema: SnapshotSchema, Taken: g.begun.UTC().Round(0),
		Connected: Server{
			ID: nc.ConnectedServerId(), Name: nc.ConnectedServerName(),
			Version: nc.ConnectedServerVersion(), Cluster: nc.ConnectedClusterName(),
		},
		Varz:       newRound[Varz]("VARZ"),
		Routez:     newRound[Routez]("ROUTEZ"),
		Gatewayz:   newRound[Gatewayz]("GATEWAYZ"),
		Leafz:      newRound[Leafz]("LEAFZ"),
		User:       Round[User]{Subject: SubjectUserInfo, Answers: []Answer[User]{}},
		Identities: []Identity{},
		Accounts:   []AccountView{},
	}
	for _, a := range o.Accounts {
		g.snap.Accounts = append(g.snap.Accounts, newAccountView(a))
	}
	return g
}

func newRound[T any](what string) Round[T] {
	return Round[T]{Subject: "$SYS.REQ.SERVER.PING." + what, Answers: []Answer[T]{}}
}

// run subscribes, asks and collects. Its error is that of the connection or of ctx, or errIdle once nothing has come for so long.
func (g *gathering) run(ctx context.Context, idle time.Duration) error {
	defer g.nc.RemoveStatusListener(g.down)
	defer hear(g.nc, g.refused)()
	sub, end, err := g.listen()
	if err != nil {
		return err
	}
	defer end()
	for _, r := range g.snap.rounds() {
		if err := g.ask(r); err != nil {
			return g.lost(err)
		}
	}
	g.inspectAccounts(ctx)
	g.dialNamed(ctx)
	if err := g.nc.FlushWithContext(ctx); err != nil {
		return g.lost(err)
	}
	return g.collect(ctx, sub, idle)
}

// listen subscribes the inbox. All servers answer all requests at once: what cannot be read yet waits within the bounds of a gathering, and
// not of the channel, which would be full with a few dozen servers.
func (g *gathering) listen() (sub *nats.Subscription, end func(), err error) {
	over := make(chan struct{})
	sub, err = g.nc.Subscribe(g.inbox+".*", func(m *nats.Msg) {
		select {
		case g.in <- m:
		case <-over:
		}
	})
	if err == nil {
		err = sub.SetPendingLimits(maxAnswers, maxBytes)
	}
	return sub, func() {
		close(over)
		sub.Unsubscribe() //nolint:errcheck // the connection may be gone by now
	}, err
}

// ask sends the request of a round; from now on the gathering awaits an answer of every server.
func (g *gathering) ask(r round) error {
	g.rounds = append(g.rounds, r)
	return g.nc.PublishRequest(r.subject(), g.inbox+"."+strconv.Itoa(len(g.rounds)-1), r.body())
}

// hear has permission errors of a connection, which are asynchronous, arrive as events; the returned function ends that. A full queue
// drops them: what was refused stays unanswered, which the timeout ends.
func hear(nc *nats.Conn, refused chan<- string) (restore func()) {
	before := nc.ErrorHandler()
	nc.SetErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
		if subject := violated(err); subject != "" {
			select {
			case refused <- subject:
			default:
			}
		}
		if before != nil {
			before(nc, sub, err)
		}
	})
	return func() { nc.SetErrorHandler(before) }
}

// violated is the subject of a permission error, or "".
func violated(err error) string {
	if !is(nats.ErrPermissionViolation)(err) {
		return ""
	}
	_, rest, _ := strings.Cut(err.Error(), `"`)
	subject, _, _ := strings.Cut(rest, `"`)
	return subject
}

// refuse records that the broker took no request on a subject, or no subscription to the inbox.
func (g *gathering) refuse(subject string) {
	for _, r := range g.rounds {
		switch subject {
		case r.subject():
			r.refuse("the broker refuses the publish to " + subject)
		case g.inbox + ".*":
			r.refuse("the broker refuses the subscription to the reply inbox")
		}
	}
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
func (g *gathering) collect(ctx context.Context, sub *nats.Subscription, idle time.Duration) error {
	silence := time.NewTimer(idle)
	defer silence.Stop()
	for ; !g.done(); silence.Reset(idle) {
		// A flood of answers must not outrun the deadline: select alone would choose between the two at random.
		if ctx.Err() != nil {
			g.dropped(sub)
			return ctx.Err()
		}
		select {
		case m := <-g.in:
			g.take(ctx, m)
		case subject := <-g.refused:
			g.refuse(subject)
		case result := <-g.results:
			g.side--
			result()
		case <-g.down:
			g.snap.Interrupted = interrupted
			return nil
		case <-silence.C:
			if g.side == 0 && !g.contradicted() {
				return errIdle
			}
		case <-ctx.Done():
			g.dropped(sub)
			return ctx.Err()
		}
	}
	g.linger(ctx)
	g.dropped(sub)
	return nil
}

// aside runs work beside the collecting and hands what it returns to the collecting goroutine, unless that has ended by then.
func (g *gathering) aside(ctx context.Context, work func(context.Context) func()) {
	g.side++
	go func() {
		result := work(ctx)
		select {
		case g.results <- result:
		case <-ctx.Done():
		}
	}()
}

// take adds one answer to its round.
func (g *gathering) take(ctx context.Context, m *nats.Msg) {
	g.count++
	g.bytes += len(m.Data)
	token, _ := strings.CutPrefix(m.Subject, g.inbox+".")
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(g.rounds) {
		return // an answer to nothing that was asked
	}
	r := g.rounds[i]
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		r.refuse("no server listens for " + r.subject() + " in the account of this credential")
		return
	}
	r.take(m.Data, g.o.Now().Sub(g.begun))
	if r == round(&g.snap.Varz) {
		g.prove(ctx)
	}
	g.follow(r)
	if len(g.in) == 0 { // a view is made for it
		g.progress()
	}
}

// follow sends what an answer calls for: further pages of it.
func (g *gathering) follow(r round) {
	for i := range g.snap.Accounts {
		for _, next := range g.snap.Accounts[i].more(r) {
			if err := g.ask(next); err != nil {
				next.refuse(Explain(err))
			}
		}
	}
}

// done reports whether no further answer can matter.
func (g *gathering) done() bool {
	if g.full() || g.snap.Varz.Refused != "" {
		return true
	}
	if len(g.in) > 0 || g.side > 0 {
		return false
	}
	return newView(g.snap).settled(g.unanswered, Expect{Servers: g.o.Servers, Clusters: g.o.Clusters})
}

func (g *gathering) progress() {
	if g.o.Progress == nil {
		return
	}
	v := newView(g.snap)
	done, what := 0, ""
	for _, m := range v.members {
		waiting := g.unanswered(m.ID)
		if waiting == "" {
			done++
		} else if what == "" {
			what = m.Name + ": " + waiting
		}
	}
	known := len(v.members)
	for _, c := range v.clusters {
		known += len(c.missing())
	}
	g.o.Progress(done, known, what)
}

// unanswered is the request that this server has not answered yet, or "". Only the connection's own server tells of its user.
func (g *gathering) unanswered(id string) string {
	for _, r := range g.rounds {
		if r.refusal() != "" || r.answered(id) || r.subject() == SubjectUserInfo && id != g.snap.Connected.ID {
			continue
		}
		return r.subject()[strings.LastIndexByte(r.subject(), '.')+1:]
	}
	return ""
}

// finish puts everything in the order that a snapshot has.
func (g *gathering) finish() {
	for _, r := range g.rounds {
		r.sort()
	}
	sortIdentities(g.snap.Identities)
	sortIdentities(g.snap.Named)
}
