package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// The operations that answer the questions of the table. Each makes what it needs.

// publishes is whether a publish reaches a subscriber.
func publishes(subject string) func(*stage) bool {
	return func(st *stage) bool {
		st.ear.Do(natstest.SubOp(subject, "", "2"))
		if len(st.raw.Do(natstest.PubOp(subject, "", "hello"))[0].Errs) > 0 {
			return false
		}
		return st.ear.Await().Msgs[0].Subject == subject
	}
}

// hears is whether a SUB is admitted and delivers what another publishes.
func hears(sub, queue, published string) func(*stage) bool {
	return func(st *stage) bool {
		if len(st.raw.Do(natstest.SubOp(sub, queue, "2"))[0].Errs) > 0 {
			return false
		}
		st.ear.Do(natstest.PubOp(published, "", "for another"))
		return st.raw.Await().Msgs[0].Data == "for another"
	}
}

// tells is whether the broker takes a request and its answer holds a text.
func tells(prepare func(*stage), subject, body, want string) func(*stage) bool {
	return func(st *stage) bool {
		prepare(st)
		got := st.told(subject, body)
		if got != "" && !strings.Contains(got, want) {
			st.t.Errorf("%s: got %.300q, want %q in it", subject, got, want)
		}
		return got != ""
	}
}

func inBucket(st *stage) { st.bucket() }
func inOrders(st *stage) { st.orders() }
func inStore(st *stage)  { st.store("a") }

// readsMessage is a get by sequence, of the message that another wrote.
func readsMessage(prepare func(*stage), stream string) func(*stage) bool {
	return tells(prepare, apiRoot+"STREAM.MSG.GET."+stream, `{"seq":2}`, `"message"`)
}

// readsDirect is the same of a replica.
func readsDirect(prepare func(*stage), stream string) func(*stage) bool {
	return tells(prepare, apiRoot+"DIRECT.GET."+stream, `{"seq":2}`, "Nats-Sequence: 2")
}

// readsKey is the get of one key of the bucket.
func readsKey(key, want string) func(*stage) bool {
	return tells(inBucket, apiRoot+"DIRECT.GET.KV_cfg.$KV.cfg."+key, "", want)
}

// makes is a consumer create with this subject tail and filter, whose answer tells how much it holds.
func makes(prepare func(*stage), tail, stream, name, filters string, pending int) func(*stage) bool {
	body := fmt.Sprintf(`{"stream_name":%q,"config":{"name":%q,"ack_policy":"none",%s}}`, stream, name, filters)
	return tells(prepare, apiRoot+"CONSUMER.CREATE."+tail, body, fmt.Sprintf(`"num_pending":%d`, pending))
}

// retargets is a create onto a durable of another, which gets a new filter.
func retargets(prepare func(*stage), stream, durable, filter string) func(*stage) bool {
	return func(st *stage) bool {
		prepare(st)
		body := fmt.Sprintf(`{"stream_name":%q,"config":{"durable_name":%q,"name":%q,"ack_policy":"explicit","filter_subject":%q}}`, stream, durable, durable, filter)
		if st.told(apiRoot+"CONSUMER.CREATE."+stream+"."+durable+"."+filter, body) == "" {
			return false
		}
		c, err := st.js.Consumer(st.t.Context(), stream, durable)
		return err == nil && c.CachedInfo().Config.FilterSubject == filter
	}
}

// deletes is a delete of a durable of another.
func deletes(prepare func(*stage), stream, durable string) func(*stage) bool {
	return func(st *stage) bool {
		prepare(st)
		if st.told(apiRoot+"CONSUMER.DELETE."+stream+"."+durable, "") == "" {
			return false
		}
		_, err := st.js.Consumer(st.t.Context(), stream, durable)
		return errors.Is(err, jetstream.ErrConsumerNotFound)
	}
}

// pulls takes a message of a durable.
func pulls(durable, want string) func(*stage) bool {
	return tells(inOrders, apiRoot+"CONSUMER.MSG.NEXT.ORDERS."+durable, `{"batch":1}`, want)
}

// nexts takes a message of a durable by an acknowledgement.
func nexts(durable, want string) func(*stage) bool {
	return tells(inOrders, "$JS.ACK.ORDERS."+durable+".1.1.1.1.0", `+NXT {"batch":1}`, want)
}

// rolls publishes with a roll-up of all, and is whether that erased what another wrote. A refusal by the stream is a no.
func rolls(subject string, erased func(*stage) bool) func(*stage) bool {
	return func(st *stage) bool {
		inBucket(st)
		inStore(st)
		head := "NATS/1.0\r\nNats-Rollup: all\r\n\r\n"
		op := fmt.Sprintf("HPUB %s probe.answer %d %d\r\n%s", subject, len(head), len(head), head)
		if len(st.raw.Do(op)[0].Errs) > 0 {
			return false
		}
		st.ear.Await()
		return erased(st)
	}
}

func otherKeyGone(st *stage) bool {
	_, err := st.bucket().Get(st.t.Context(), "other.x")
	return errors.Is(err, jetstream.ErrKeyNotFound)
}

func otherObjectGone(st *stage) bool {
	store, err := st.js.ObjectStore(st.t.Context(), "files")
	if err == nil {
		_, err = store.GetInfo(st.t.Context(), "b")
	}
	return errors.Is(err, jetstream.ErrObjectNotFound)
}

// removes deletes a stream whole.
func removes(prepare func(*stage), stream string) func(*stage) bool {
	return func(st *stage) bool {
		prepare(st)
		if st.told(apiRoot+"STREAM.DELETE."+stream, "") == "" {
			return false
		}
		_, err := st.js.Stream(st.t.Context(), stream)
		return errors.Is(err, jetstream.ErrStreamNotFound)
	}
}

type call func(context.Context, jetstream.JetStream, *nats.Conn) error

// uses is a call of nats.go.
func uses(prepare func(*stage), do call) func(*stage) bool {
	return func(st *stage) bool {
		prepare(st)
		return st.client(do)
	}
}

func withBucket(do func(context.Context, jetstream.KeyValue) error) call {
	return func(ctx context.Context, js jetstream.JetStream, _ *nats.Conn) error {
		kv, err := js.KeyValue(ctx, "cfg")
		if err != nil {
			return err
		}
		return do(ctx, kv)
	}
}

func getKey(ctx context.Context, kv jetstream.KeyValue) error { return wanted(kv.Get(ctx, "team.a")) }

func wanted(e jetstream.KeyValueEntry, err error) error {
	if err == nil && string(e.Value()) != "ours" {
		return fmt.Errorf("got %q", e.Value())
	}
	return err
}

func putKey(ctx context.Context, kv jetstream.KeyValue) error {
	_, err := kv.PutString(ctx, "team.a", "ours")
	return err
}

func putAndGet(ctx context.Context, kv jetstream.KeyValue) error {
	return errors.Join(putKey(ctx, kv), getKey(ctx, kv))
}

func watchKeys(pattern string) func(context.Context, jetstream.KeyValue) error {
	return func(ctx context.Context, kv jetstream.KeyValue) error {
		w, err := kv.Watch(ctx, pattern)
		if err != nil {
			return err
		}
		select {
		case e := <-w.Updates():
			if e == nil {
				return errors.New("no key")
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// work pulls one message of w1 and waits until the broker has its acknowledgement.
func work(ctx context.Context, js jetstream.JetStream, _ *nats.Conn) error {
	c, err := js.Consumer(ctx, "ORDERS", "w1")
	if err != nil {
		return err
	}
	return takeOne(ctx, c)
}

func takeOne(ctx context.Context, c jetstream.Consumer) error {
	batch, err := c.Fetch(1)
	if err != nil {
		return err
	}
	select {
	case m := <-batch.Messages():
		if m == nil {
			return fmt.Errorf("no message: %w", batch.Error())
		}
		return m.DoubleAck(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ownConsumer makes a consumer of its own and works on it.
func ownConsumer(cfg jetstream.ConsumerConfig) call {
	return func(ctx context.Context, js jetstream.JetStream, _ *nats.Conn) error {
		c, err := js.CreateOrUpdateConsumer(ctx, "ORDERS", cfg)
		if err != nil {
			return err
		}
		return takeOne(ctx, c)
	}
}

// ordered reads the first message of a stream in order.
func ordered(stream, filter, prefix string) call {
	return func(ctx context.Context, js jetstream.JetStream, _ *nats.Conn) error {
		c, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}, NamePrefix: prefix})
		if err != nil {
			return err
		}
		batch, err := c.Fetch(1)
		if err != nil {
			return err
		}
		select {
		case m := <-batch.Messages():
			if m == nil {
				return fmt.Errorf("no message: %w", batch.Error())
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func publishOrder(ctx context.Context, js jetstream.JetStream, _ *nats.Conn) error {
	_, err := js.Publish(ctx, "orders.eu.2", nil)
	return err
}

func getObject(ctx context.Context, js jetstream.JetStream, _ *nats.Conn) error {
	store, err := js.ObjectStore(ctx, "files")
	if err != nil {
		return err
	}
	got, err := store.GetString(ctx, "a")
	if err == nil && got != "object a" {
		return fmt.Errorf("got %q", got)
	}
	return err
}

func objectInfo(ctx context.Context, js jetstream.JetStream, _ *nats.Conn) error {
	store, err := js.ObjectStore(ctx, "files")
	if err == nil {
		_, err = store.GetInfo(ctx, "a")
	}
	return err
}

func putObject(ctx context.Context, js jetstream.JetStream, _ *nats.Conn) error {
	store, err := js.ObjectStore(ctx, "files")
	if err == nil {
		_, err = store.PutString(ctx, "a", "new")
	}
	return err
}

// readsObject reads the metadata of an object.
func readsObject(name string) func(*stage) bool {
	return func(st *stage) bool {
		meta, _ := st.store(name)
		return strings.Contains(st.told(apiRoot+"DIRECT.GET.OBJ_files."+meta, ""), `"name":"`+name+`"`)
	}
}

// readsChunks makes a consumer of the chunks of an object, or of every one ("").
func readsChunks(object string, pending int) func(*stage) bool {
	return func(st *stage) bool {
		filter := "$O.files.C.>"
		if object != "" {
			_, filter = st.store(object)
		}
		return makes(inStore, "OBJ_files.r1."+filter, "OBJ_files", "r1", fmt.Sprintf(`"filter_subject":%q`, filter), pending)(st)
	}
}

// answers is whether a request of another to the holder is answered.
func answers(subject, queue string) func(*stage) bool {
	return func(st *stage) bool {
		if len(st.raw.Do(natstest.SubOp(subject, queue, "3"))[0].Errs) > 0 {
			return false
		}
		return st.answersOn("_INBOX.asker.1", subject)
	}
}

// answersOn lets another ask with a reply subject of its choice, and is whether the holder may publish there.
func (st *stage) answersOn(reply, subject string) bool {
	st.t.Helper()
	st.ear.Do(natstest.SubOp(reply, "", "4"))
	st.ear.Do(natstest.PubOp(subject, reply, "question"))
	st.raw.Await()
	if len(st.raw.Do(natstest.PubOp(reply, "", "answer"))[0].Errs) > 0 {
		return false
	}
	return st.ear.Await().Msgs[0].Subject == reply
}

// steered is whether a requester makes the holder publish where the requester says.
func steered(subject string) func(*stage) bool {
	return func(st *stage) bool {
		st.raw.Do(natstest.SubOp(subject, "", "3"))
		return st.answersOn("alarms.fire", subject)
	}
}

// requests is whether the holder gets the answer of a service of another.
func requests(subject string) func(*stage) bool {
	return func(st *stage) bool {
		sub, err := st.owner.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte("done")) })
		if err != nil {
			st.t.Fatal(err)
		}
		if err := errors.Join(sub.SetPendingLimits(-1, -1), st.owner.Flush()); err != nil {
			st.t.Fatal(err)
		}
		return st.client(func(ctx context.Context, _ jetstream.JetStream, nc *nats.Conn) error {
			_, err := nc.RequestWithContext(ctx, subject, nil)
			return err
		})
	}
}

// serves runs a service of the micro framework with the holder's credential, and asks it.
func serves(subject string) func(*stage) bool {
	return func(st *stage) bool {
		return st.client(func(ctx context.Context, _ jetstream.JetStream, nc *nats.Conn) error {
			_, err := micro.AddService(nc, micro.Config{Name: "calc", Version: "1.0.0", Endpoint: &micro.EndpointConfig{Subject: subject,
				Handler: micro.HandlerFunc(func(r micro.Request) { _ = r.Respond([]byte("42")) })}})
			if err != nil {
				return err
			}
			if err := nc.FlushWithContext(ctx); err != nil {
				return err
			}
			for _, asked := range []string{subject, "$SRV.PING.calc"} {
				if _, err := st.owner.RequestWithContext(ctx, asked, nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// leaf connects as a leaf node.
func leaf(st *stage) bool {
	_, ok := st.dialLeaf()
	return ok
}

// leafPublishes is whether a leaf node of the credential publishes what the entries do not grant.
func leafPublishes(subject string) func(*stage) bool {
	return func(st *stage) bool {
		write, ok := st.dialLeaf()
		if !ok || !write("LMSG "+subject+" 5\r\nhello") {
			return false
		}
		return st.ear.Await().Msgs[0].Subject == subject
	}
}

// leafHears is whether a leaf node of the credential hears what the entries do not grant.
func leafHears(sub, published string) func(*stage) bool {
	return func(st *stage) bool {
		write, ok := st.dialLeaf()
		if !ok || !write("LS+ "+sub) {
			return false
		}
		st.ear.Do(natstest.PubOp(published, "", "for another"))
		return write("PING") && strings.Contains(strings.Join(st.leafIn, ""), "for another")
	}
}

func unprepared(*stage) {}
