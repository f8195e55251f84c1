package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cotalctl/cotalctl/wire"
)

const (
	channel  = "team.backend"
	presence = "cotal_presence_main"
)

func encodeMessage(m wire.CotalMessage) ([]byte, error) { return json.Marshal(m) }

func messageID(n int) string { return fmt.Sprintf("018f1d0a-0000-7000-9000-%012d", n) }

func text(n int, t string) wire.CotalMessage {
	return wire.CotalMessage{ID: messageID(n), Parts: []wire.Part{wire.TextPart(t)}}
}

func describe(x wire.Delivery) string {
	return fmt.Sprintf("kind=%s from %s: %q", x.Kind, x.Message.From.ID, x.Message.Parts[0].Text)
}

// a, b are Alice and Bob once they are connected.
func (d *demo) a() *demoClient { return d.clients[0] }
func (d *demo) b() *demoClient { return d.clients[1] }

func (d *demo) connect() error {
	d.step("2. Alice and Bob connect with inbox prefixes of their connections")
	for _, p := range []principal{alice, bob} {
		c, err := d.client(p)
		if err != nil {
			return err
		}
		d.accepted(p.actor+" connects", "server "+c.nc.ConnectedServerVersion()+", inbox "+c.inbox+".>", nil)
	}
	answer, err := d.b().trySubscribe(d.a().inbox + ".>")
	d.refused("bob subscribes alice's inbox", answer, err)
	answer, err = d.b().trySubscribe("_INBOX.>")
	d.refused("bob subscribes the account-wide inbox", answer, err)
	return nil
}

func (d *demo) join() error {
	d.step("3. Both write presence and join " + channel)
	ctx, cancel := context.WithTimeout(d.app.ctx, demoWait)
	defer cancel()
	for _, c := range d.clients[:2] {
		kv, err := c.js.KeyValue(ctx, presence)
		if err != nil {
			return err
		}
		rev, err := kv.Put(ctx, c.id().Dot(), presenceOf(c))
		d.accepted(c.actor+" writes presence "+c.id().Dot(), fmt.Sprintf("revision %d", rev), err)
	}
	answer, err := d.seePresence(ctx)
	d.accepted("bob watches presence", answer, err)
	answer, err = d.b().tryPublish("$KV."+presence+"."+alice.id().Dot(), presenceOf(d.b()))
	d.refused("bob writes alice's presence", answer, err)
	answer, err = d.b().trySubscribe("cotal.main.chat.*.*.ops")
	d.refused("bob joins ops, outside his read ACL", answer, err)
	answer, err = d.b().trySubscribe("cotal.main.chat.>")
	d.refused("bob subscribes all chat", answer, err)
	return nil
}

func presenceOf(c *demoClient) []byte {
	data, err := json.Marshal(wire.Presence{Card: wire.AgentCard{ID: c.id().Dot(), Name: c.actor, Kind: wire.CardAgent, Role: c.role,
		ProtocolVersion: "0.4"},
		Status: wire.StatusIdle, LifecycleUID: c.uid, TS: 1710000000000})
	if err != nil {
		panic(err) // plain values always encode
	}
	return data
}

// seePresence watches the directory until both are in it.
func (d *demo) seePresence(ctx context.Context) (string, error) {
	kv, err := d.b().js.KeyValue(ctx, presence)
	if err != nil {
		return "", err
	}
	watch, err := kv.WatchAll(ctx)
	if err != nil {
		return "", err
	}
	// Not stopped: Appendix B grants no consumer delete on the bucket, so the watch ends with the connection.
	found := map[string]bool{}
	for len(found) < 2 {
		select {
		case entry := <-watch.Updates():
			if entry != nil {
				found[entry.Key()] = true
			}
		case <-ctx.Done():
			return "", fmt.Errorf("saw %d of 2 entries: %w", len(found), ctx.Err())
		}
	}
	return "alice and bob are present", nil
}

func (d *demo) multicast() error {
	d.step("4. Alice multicasts on " + channel + "; Bob receives it")
	sub, err := d.b().join(channel)
	d.accepted("bob joins "+channel, "subscribed cotal.main.chat.*.*."+channel, err)
	if err != nil {
		return nil
	}
	m := text(1, "Can you review this?")
	m.Channel, m.Mentions = channel, []string{"bob"}
	ack, err := d.a().post(m)
	if err != nil {
		d.accepted("alice multicasts", "", err)
		return nil
	}
	d.accepted("alice multicasts", fmt.Sprintf("stored as %s sequence %d", ack.Stream, ack.Sequence), nil)
	got, err := d.b().receive(sub)
	d.accepted("bob receives", described(got, err), check(err, got.Kind == "channel" && got.Message.ID == m.ID, "another delivery"))
	answer, err := d.b().tryPublish("cotal.main.chat."+alice.owner+".alice."+channel, []byte("{}"))
	d.refused("bob multicasts as alice", answer, err)
	answer, err = d.a().tryPublish("cotal.main.chat."+alice.owner+".alice.ops", []byte("{}"))
	d.refused("alice multicasts on ops, outside her post ACL", answer, err)
	return nil
}

func described(x wire.Delivery, err error) string {
	if err != nil {
		return err.Error()
	}
	return describe(x)
}

// check turns a broken expectation into an error.
func check(err error, ok bool, otherwise string) error {
	if err == nil && !ok {
		return errors.New(otherwise)
	}
	return err
}

func (d *demo) unicast() error {
	d.step("5. Alice unicasts to Bob")
	m := text(2, "Direct note.")
	m.To = bob.id().Dot()
	ack, err := d.a().post(m)
	d.accepted("alice sends a direct message", stored(ack), err)
	got, err := d.b().pull("DM_main", bob.durable("dm_"), demoWait)
	d.accepted("bob pulls his durable", described(got, err), check(err, got.Kind == "dm", "another delivery"))
	for _, attempt := range []struct{ tried, subject string }{
		{"alice pulls bob's durable", "$JS.API.CONSUMER.MSG.NEXT.DM_main." + bob.durable("dm_")},
		{"alice creates a consumer on DM", "$JS.API.CONSUMER.CREATE.DM_main"},
		{"alice creates a filtered consumer on DM", "$JS.API.CONSUMER.CREATE.DM_main.mine.cotal.main.inst.>"},
		{"alice creates a durable on DM", "$JS.API.CONSUMER.DURABLE.CREATE.DM_main.mine"},
		{"bob sends a direct message as alice", "cotal.main.inst." + bob.owner + ".bob." + alice.owner + ".alice"},
	} {
		c := d.a()
		if attempt.tried[0] == 'b' {
			c = d.b()
		}
		answer, err := c.tryPublish(attempt.subject, []byte("{}"))
		d.refused(attempt.tried, answer, err)
	}
	answer, err := d.a().trySubscribe("cotal.main.inst." + bob.owner + ".bob.>")
	d.refused("alice subscribes bob's direct messages", answer, err)
	return nil
}

func stored(ack *jetstream.PubAck) string {
	if ack == nil {
		return ""
	}
	return fmt.Sprintf("stored as %s sequence %d", ack.Stream, ack.Sequence)
}

func (d *demo) anycast() error {
	d.step("6. Alice anycasts to reviewer; exactly one of two reviewers receives it")
	var reviewers []*demoClient
	for _, p := range []principal{rita, ron} {
		c, err := d.client(p)
		if err != nil {
			return err
		}
		reviewers = append(reviewers, c)
	}
	m := text(3, "Anyone free for a review?")
	m.ToService = "reviewer"
	ack, err := d.a().post(m)
	d.accepted("alice sends to the role", stored(ack), err)
	received := 0
	for _, c := range reviewers {
		got, err := c.pull("TASK_main", "svc_reviewer", 500*time.Millisecond)
		switch {
		case err == nil:
			received++
			d.accepted(c.actor+" pulls the role's durable", describe(got), check(nil, got.Kind == "anycast", "another delivery"))
		case errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrNoMessages):
			d.accepted(c.actor+" pulls the role's durable", "nothing left for the second", nil)
		default:
			d.accepted(c.actor+" pulls the role's durable", "", err)
		}
	}
	d.line("accepted", "count the receivers", fmt.Sprintf("%d of 2", received), received == 1)
	answer, err := d.b().tryPublish("$JS.API.CONSUMER.MSG.NEXT.TASK_main.svc_reviewer", nil)
	d.refused("bob, who has no role, pulls the role's durable", answer, err)
	return nil
}
