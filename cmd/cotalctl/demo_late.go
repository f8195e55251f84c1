package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cotalctl/cotalctl/wire"
)

// surfaced is a message that a client showed its user.
type surfaced struct {
	id         string
	historical bool
}

// lateJoiner follows §7: watermark, subscribe, history up to the watermark, one surfacing per id.
func (d *demo) lateJoiner() error {
	d.step("7. A late joiner sees the history up to its watermark, and no message twice")
	for n := 4; n <= 5; n++ {
		m := text(n, fmt.Sprintf("Before Carol, %d", n))
		m.Channel = channel
		if _, err := d.a().post(m); err != nil {
			d.accepted("alice multicasts", "", err)
			return nil
		}
	}
	c, err := d.client(carol)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.app.ctx, demoWait)
	defer cancel()
	stream, err := c.js.Stream(ctx, "CHAT_main")
	if err != nil {
		d.accepted("carol reads the frontier of CHAT", "", err)
		return nil
	}
	watermark := stream.CachedInfo().State.LastSeq
	d.accepted("carol records the watermark", fmt.Sprintf("CHAT sequence %d", watermark), nil)
	sub, err := c.join(channel)
	d.accepted("carol joins "+channel, "subscribed", err)
	if err != nil {
		return nil
	}
	// A message published again after the join reaches the live tail although its id is in the history; a new one follows.
	for _, n := range []int{5, 6} {
		m := text(n, fmt.Sprintf("After Carol, %d", n))
		m.Channel = channel
		ack, err := d.a().post(m)
		if err != nil {
			d.accepted("alice multicasts", "", err)
			return nil
		}
		d.accepted("alice multicasts "+m.ID, fmt.Sprintf("%s, duplicate=%t", stored(ack), ack.Duplicate), nil)
	}
	shown, err := c.history(ctx, watermark)
	d.accepted("carol reads the history of "+channel, fmt.Sprintf("%d messages with historical=true", len(shown)), err)
	live, dropped, err := c.tail(sub, messageID(6))
	d.accepted("carol reads the live tail", fmt.Sprintf("%d surfaced, %d duplicate dropped", len(live), dropped), err)
	d.checkLate(append(shown, live...), dropped)
	d.lateRefusals(c)
	return nil
}

func (d *demo) checkLate(shown []surfaced, dropped int) {
	want := []surfaced{{messageID(1), true}, {messageID(4), true}, {messageID(5), true}, {messageID(6), false}}
	d.line("accepted", "each message once, history first", fmt.Sprintf("%d messages surfaced", len(shown)), slices.Equal(shown, want) && dropped == 1)
}

func (d *demo) lateRefusals(c *demoClient) {
	name := carol.durable("chathist_")
	answer, err := c.tryPublish("$JS.API.CONSUMER.CREATE.CHAT_main."+name+".cotal.main.chat.*.*.ops", []byte("{}"))
	d.refused("carol reads the history of ops, outside her read ACL", answer, err)
	answer, err = c.tryPublish("$JS.API.DIRECT.GET.CHAT_main", []byte("{}"))
	d.refused("carol reads CHAT by direct get", answer, err)
	answer, err = c.pinned(name)
	d.refused("carol asks for another filter than her grant's", answer, err)
}

// history reads one channel through the pinned single-filter consumer, up to the watermark, and deletes it.
func (c *demoClient) history(ctx context.Context, watermark uint64) ([]surfaced, error) {
	name := c.durable("chathist_")
	cons, err := c.js.CreateConsumer(ctx, "CHAT_main", jetstream.ConsumerConfig{Name: name, FilterSubject: "cotal.main.chat.*.*." + channel,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: demoWait})
	if err != nil {
		return nil, err
	}
	batch, err := cons.FetchNoWait(100)
	if err != nil {
		return nil, err
	}
	var out []surfaced
	for msg := range batch.Messages() {
		meta, err := msg.Metadata()
		if err != nil {
			return out, err
		}
		if meta.Sequence.Stream > watermark {
			continue // the live tail has it
		}
		x, err := wire.Receive(msg.Subject(), msg.Data())
		if err != nil {
			return out, err
		}
		if !c.seen[x.Message.ID] {
			c.seen[x.Message.ID] = true
			out = append(out, surfaced{x.Message.ID, true})
		}
	}
	return out, errors.Join(batch.Error(), c.js.DeleteConsumer(ctx, "CHAT_main", name))
}

// tail reads the live subscription until the message with the last id.
func (c *demoClient) tail(sub *nats.Subscription, last string) (out []surfaced, dropped int, err error) {
	for {
		x, err := c.receive(sub)
		if err != nil {
			return out, dropped, err
		}
		if c.seen[x.Message.ID] {
			dropped++
			continue
		}
		c.seen[x.Message.ID] = true
		out = append(out, surfaced{x.Message.ID, false})
		if x.Message.ID == last {
			return out, dropped, nil
		}
	}
}

// pinned asks for a consumer whose body names another filter than the subject that carries the request.
func (c *demoClient) pinned(name string) (string, error) {
	body := fmt.Sprintf(`{"stream_name":"CHAT_main","config":{"name":%q,"filter_subject":"cotal.main.chat.>","ack_policy":"none"}}`, name)
	reply, err := c.nc.Request("$JS.API.CONSUMER.CREATE.CHAT_main."+name+".cotal.main.chat.*.*."+channel, []byte(body), demoWait)
	if err != nil {
		return "", err
	}
	var answer struct {
		Error *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return "", err
	}
	if answer.Error == nil {
		return "", errors.New("the broker created it")
	}
	return fmt.Sprintf("%s (%d)", answer.Error.Description, answer.Error.Code), nil
}

// residual shows what one account does not confine: the broker publishes an acknowledgement to whatever reply the publisher
// names, with its own authority.
func (d *demo) residual() error {
	d.step("Residual REDIRECT-ACK: what a single account does not confine")
	ctx, cancel := context.WithTimeout(d.app.ctx, demoWait)
	defer cancel()
	row := "$KV." + presence + "." + alice.id().Dot()
	answer, err := d.b().tryPublish(row, []byte("{}"))
	d.refused("bob writes alice's presence row", answer, err)
	kv, err := d.a().js.KeyValue(ctx, presence)
	if err != nil {
		return err
	}
	watch, err := kv.Watch(ctx, alice.id().Dot(), jetstream.UpdatesOnly())
	if err != nil {
		return err
	}
	own := "cotal.main.inst." + bob.owner + ".bob." + bob.owner + ".bob"
	if err := d.b().nc.PublishRequest(own, row, []byte("{}")); err != nil {
		return err
	}
	select {
	case entry := <-watch.Updates():
		value := string(entry.Value())
		d.line("residual", "bob sends himself a direct message whose reply subject is alice's presence row",
			"the row now holds the acknowledgement "+value+"; bound: the account, and readers that close-parse every row",
			strings.Contains(value, `"stream":"DM_main"`))
	case <-ctx.Done():
		d.line("residual", "bob sends himself a direct message whose reply subject is alice's presence row",
			"the row did not change: the residual is gone, and the contract should say so", false)
	}
	return nil
}
