package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/wire"
)

// demoWait is how long an answer may take; the broker is in this process.
const demoWait = 5 * time.Second

// principal is one participant of the demo.
type principal struct {
	owner, actor, uid, role string
	read, post              []any
}

// The principals of §12's vectors, two reviewers, and a late joiner.
var (
	alice = principal{ownerA, "alice", "aaaaaaaaaaaaaaaaaaaaaaaaaa", "planner", []any{"team.>"}, []any{"team.backend"}}
	bob   = principal{ownerB, "bob", "bbbbbbbbbbbbbbbbbbbbbbbbbb", "", []any{"team.>"}, []any{"team.backend"}}
	carol = principal{ownerA, "carol", "cccccccccccccccccccccccccc", "", []any{"team.backend"}, []any{}}
	rita  = principal{ownerB, "rita", "dddddddddddddddddddddddddd", "reviewer", []any{}, []any{}}
	ron   = principal{ownerB, "ron", "eeeeeeeeeeeeeeeeeeeeeeeeee", "reviewer", []any{}, []any{}}
)

const (
	ownerA = "u_aaaaaaaaaaaaaaaaaaaaaaaaaa"
	ownerB = "u_bbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func (p *principal) id() wire.Principal { return wire.Principal{Owner: p.owner, Actor: p.actor} }

// durable is the name of one of the principal's own consumers.
func (p *principal) durable(prefix string) string { return prefix + p.id().Dash() + "-" + p.uid }

func (p *principal) input() compile.Input {
	values := map[string]any{compile.SpaceParam: "main", "owner": p.owner, "actor": p.actor, "uid": p.uid, "allowSubscribe": p.read,
		"allowPublish": p.post}
	if p.role != "" {
		values["role"] = p.role
	}
	return compile.Input{Values: values}
}

// demoClient is a connected principal that hears the broker's denials.
type demoClient struct {
	principal
	nc     *nats.Conn
	js     jetstream.JetStream
	inbox  string
	denied chan error
	seen   map[string]bool // message ids that were surfaced
}

// client mints a credential and connects with it, under the inbox prefix of its connection (§10).
func (d *demo) client(p principal) (*demoClient, error) {
	w := d.work
	cred, _, err := d.app.issueIn(w.dir, w.name, w.topology.Accounts[0], order{contract: w.contract, topology: w.topology, profile: w.contract.Profiles["agent"], input: p.input()})
	if err != nil {
		return nil, err
	}
	opts, err := userOptions(cred)
	if err != nil {
		return nil, err
	}
	c := &demoClient{principal: p, inbox: "_INBOX_" + cred.PublicKey, denied: make(chan error, 64), seen: map[string]bool{}}
	listen := nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			select {
			case c.denied <- err:
			default:
			}
		}
	})
	if c.nc, err = nats.Connect(d.broker.ClientURL(), append(opts, listen, nats.Name(p.actor))...); err != nil {
		return nil, err
	}
	d.clients = append(d.clients, c)
	c.js, err = jetstream.New(c.nc)
	return c, err
}

// denial waits for the broker to deny an operation on subject. The denial arrives apart from the operation; none within the
// wait is an error, because silence is not a denial.
func (c *demoClient) denial(op, subject string) (string, error) {
	if err := c.nc.Flush(); err != nil {
		return "", err
	}
	deadline := time.NewTimer(demoWait)
	defer deadline.Stop()
	for {
		select {
		case err := <-c.denied:
			if strings.Contains(err.Error(), fmt.Sprintf("%s to %q", op, subject)) {
				_, text, _ := strings.Cut(err.Error(), ": Permissions ")
				return "Permissions " + text, nil
			}
		case <-deadline.C:
			return "", fmt.Errorf("no denial of %s to %q", op, subject)
		}
	}
}

// tryPublish publishes what must be denied.
func (c *demoClient) tryPublish(subject string, data []byte) (string, error) {
	if err := c.nc.PublishRequest(subject, c.inbox+".denied", data); err != nil {
		return "", err
	}
	return c.denial("Publish", subject)
}

// trySubscribe subscribes to what must be denied.
func (c *demoClient) trySubscribe(subject string) (string, error) {
	sub, err := c.nc.SubscribeSync(subject)
	if err != nil {
		return "", err
	}
	defer func() { _ = sub.Unsubscribe() }() // the broker dropped it already
	return c.denial("Subscription", subject)
}

// join subscribes to a channel; it is effective once the broker has answered the flush without a denial (§7).
func (c *demoClient) join(channel string) (*nats.Subscription, error) {
	subject := "cotal.main.chat.*.*." + channel
	sub, err := c.nc.SubscribeSync(subject)
	if err != nil {
		return nil, err
	}
	if err := c.nc.Flush(); err != nil {
		return nil, err
	}
	if last := c.nc.LastError(); last != nil && strings.Contains(last.Error(), fmt.Sprintf("%q", subject)) {
		return nil, last
	}
	return sub, nil
}

// post sends a delivery message through JetStream under its own id (§8).
func (c *demoClient) post(m wire.CotalMessage) (*jetstream.PubAck, error) {
	m.Space, m.From, m.TS = "main", wire.EndpointRef{ID: c.id().Dot(), Name: c.actor, Role: c.role}, 1710000000000
	if err := m.Validate(); err != nil {
		return nil, err
	}
	subject, err := m.Subject()
	if err != nil {
		return nil, err
	}
	data, err := encodeMessage(m)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), demoWait)
	defer cancel()
	return c.js.PublishMsg(ctx, &nats.Msg{Subject: subject.String(), Data: data}, jetstream.WithMsgID(m.ID))
}

// receive takes the next message of a subscription as a delivery, rejected where it is none (§5).
func (c *demoClient) receive(sub *nats.Subscription) (wire.Delivery, error) {
	msg, err := sub.NextMsg(demoWait)
	if err != nil {
		return wire.Delivery{}, err
	}
	return wire.Receive(msg.Subject, msg.Data)
}

// pull takes the next message of the principal's own durable and acknowledges it once it is surfaced.
func (c *demoClient) pull(stream, durable string, wait time.Duration) (wire.Delivery, error) {
	ctx, cancel := context.WithTimeout(context.Background(), demoWait)
	defer cancel()
	cons, err := c.js.Consumer(ctx, stream, durable)
	if err != nil {
		return wire.Delivery{}, err
	}
	msg, err := cons.Next(jetstream.FetchMaxWait(wait))
	if err != nil {
		return wire.Delivery{}, err
	}
	delivery, err := wire.Receive(msg.Subject(), msg.Data())
	if err != nil {
		return delivery, errors.Join(err, msg.Term())
	}
	return delivery, msg.DoubleAck(ctx)
}
