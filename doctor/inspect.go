package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/shape"
)

// Bounds of the inspection of one account.
const (
	mostConsumers = 1 << 16
	mostInspected = maxBytes / 2 // bytes of answers
)

// Inspection is what the account's own inspector saw of its declared streams.
type Inspection struct {
	Error   string      `json:"error"`   // why nobody could look, or ""
	Streams []Inspected `json:"streams"` // by name
}

// Inspected is one stream as its leader tells it.
type Inspected struct {
	Stream    string     `json:"stream"`
	Refused   string     `json:"refused"`   // why the inspector was not told, or ""
	Error     *APIError  `json:"error"`     // of the JetStream API, with its own code
	Data      *Stream    `json:"data"`      // nil: not told
	Consumers []Consumer `json:"consumers"` // by name
	Partial   string     `json:"partial"`   // why these may not be all consumers, or ""
}

// inspectAccounts has each account's own inspector look at the declared streams, beside the monitoring requests. It tells
// what leaders know, and no server must be believed less for it.
func (g *gathering) inspectAccounts(ctx context.Context) {
	if g.o.Inspect == nil {
		return
	}
	for i, a := range g.o.Accounts {
		view := &g.snap.Accounts[i]
		g.aside(ctx, func(ctx context.Context) func() {
			found := inspectAccount(ctx, a, g.o)
			return func() { view.Inspection = found }
		})
	}
}

// inspectAccount ends before ctx does, so that what it has learned by then is not lost.
func inspectAccount(ctx context.Context, a Account, o Options) *Inspection {
	names := sortedSet(o.Streams[a.Key])
	out := &Inspection{Streams: []Inspected{}}
	if deadline, ok := ctx.Deadline(); ok {
		earlier, cancel := context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/4))
		defer cancel()
		ctx = earlier
	}
	for _, name := range names {
		out.Streams = append(out.Streams, Inspected{Stream: name, Consumers: []Consumer{}})
	}
	if len(names) == 0 {
		return out
	}
	nc, err := o.Inspect(ctx, a)
	if err != nil {
		return &Inspection{Error: Explain(err), Streams: []Inspected{}}
	}
	defer nc.Close()
	p := &inspector{nc: nc, inbox: nc.NewInbox(), out: out, in: make(chan *nats.Msg, queued), refused: make(chan string, queued),
		waiting: map[string]asked{}}
	if err := p.run(ctx); err != nil {
		return &Inspection{Error: Explain(err), Streams: []Inspected{}}
	}
	return out
}

// inspector is one inspection under way.
type inspector struct {
	nc      *nats.Conn
	inbox   string
	out     *Inspection
	in      chan *nats.Msg
	refused chan string
	waiting map[string]asked // by the reply's last token
	sent    int
	bytes   int
}

// asked is a request of the JetStream API.
type asked struct {
	subject string
	stream  int // index
	list    bool
}

func (p *inspector) run(ctx context.Context) error {
	p.nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if subject := violated(err); subject != "" {
			select {
			case p.refused <- subject:
			default: // the request then ends with the time
			}
		}
	})
	sub, err := p.nc.ChanSubscribe(p.inbox+".*", p.in)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection is closed next
	for i, s := range p.out.Streams {
		if err := p.ask(asked{"$JS.API.STREAM.INFO." + s.Stream, i, false}, nil); err != nil {
			return err
		}
		if err := p.page(i, 0); err != nil {
			return err
		}
	}
	return p.collect(ctx)
}

// ask sends a request; p.waiting has it until its answer, or its refusal, is there.
func (p *inspector) ask(a asked, body []byte) error {
	token := strconv.Itoa(p.sent)
	p.sent++
	p.waiting[token] = a
	return p.nc.PublishRequest(a.subject, p.inbox+"."+token, body)
}

// page asks for the consumers of a stream from an offset on.
func (p *inspector) page(stream, offset int) error {
	a := asked{"$JS.API.CONSUMER.LIST." + p.out.Streams[stream].Stream, stream, true}
	return p.ask(a, fmt.Appendf(nil, `{"offset":%d}`, offset))
}

func (p *inspector) collect(ctx context.Context) error {
	for len(p.waiting) > 0 {
		select {
		case m := <-p.in:
			p.bytes += len(m.Data)
			if err := p.take(m); err != nil {
				return err
			}
			if p.bytes > mostInspected {
				p.give(fmt.Sprintf("the answers were cut off after %d bytes", p.bytes))
			}
		case subject := <-p.refused:
			if subject == p.inbox+".*" {
				p.give("the broker refuses the subscription to the reply inbox")
			}
			for token, a := range p.waiting {
				if a.subject == subject {
					p.miss(token, "the broker refuses the publish to "+subject)
				}
			}
		case <-ctx.Done():
			p.give("no answer in time")
		}
	}
	return nil
}

// give ends every request that waits.
func (p *inspector) give(why string) {
	for token := range p.waiting {
		p.miss(token, why)
	}
}

// miss ends a request without an answer.
func (p *inspector) miss(token, why string) {
	a := p.waiting[token]
	delete(p.waiting, token)
	s := &p.out.Streams[a.stream]
	if a.list {
		s.Partial = cmp.Or(s.Partial, why)
	} else {
		s.Refused = cmp.Or(s.Refused, why)
	}
}

// inspectedData is an answer of STREAM.INFO or CONSUMER.LIST.
type inspectedData struct {
	streamData
	Error   *apiError         `json:"error"`
	Total   int               `json:"total"`
	Offset  int               `json:"offset"`
	List    []consumerData    `json:"consumers"`
	Missing []string          `json:"missing"`
	Offline map[string]string `json:"offline"`
}

func (p *inspector) take(m *nats.Msg) error {
	token := strings.TrimPrefix(m.Subject, p.inbox+".")
	a, ok := p.waiting[token]
	if !ok {
		return nil // an answer to nothing that was asked
	}
	var d inspectedData
	switch {
	case len(m.Data) == 0 && m.Header.Get("Status") == "503":
		p.miss(token, "no server of JetStream listens in the account")
		return nil
	case shape.Unmarshal(m.Data, &d) != nil:
		p.miss(token, "the answer is not readable")
		return nil
	}
	s := &p.out.Streams[a.stream]
	switch {
	case d.Error != nil && a.list:
		p.miss(token, d.Error.Description)
	case d.Error != nil:
		delete(p.waiting, token)
		s.Error = &APIError{Code: d.Error.Code, Description: d.Error.Description}
	case a.list:
		delete(p.waiting, token)
		return p.listed(a.stream, &d)
	case d.Config == nil:
		p.miss(token, "the answer holds no configuration")
	default:
		delete(p.waiting, token)
		d.Name = s.Stream
		read := d.read()
		s.Data = &read
	}
	return nil
}

// listed takes one page of consumers and asks for the next one.
func (p *inspector) listed(stream int, d *inspectedData) error {
	s := &p.out.Streams[stream]
	for _, c := range d.List {
		if c.Name == "" || c.Config == nil {
			s.Partial = cmp.Or(s.Partial, "a consumer has no name or no configuration")
		}
	}
	s.Consumers = append(s.Consumers, readConsumers(d.List)...)
	slices.SortStableFunc(s.Consumers, func(a, b Consumer) int { return compareText(a.Name, b.Name) })
	// One that was made between two pages moves others onto the next one.
	s.Consumers = slices.CompactFunc(s.Consumers, func(a, b Consumer) bool { return a.Name == b.Name })
	if n := len(d.Missing) + len(d.Offline); n > 0 {
		s.Partial = cmp.Or(s.Partial, fmt.Sprintf("%d of the consumers are offline or did not answer", n))
	}
	next := d.Offset + len(d.List)
	switch {
	case len(s.Consumers) > mostConsumers:
		s.Partial = cmp.Or(s.Partial, fmt.Sprintf("the list was cut off after %d consumers", len(s.Consumers)))
	case len(d.List) > 0 && next < d.Total:
		return p.page(stream, next)
	}
	return nil
}
