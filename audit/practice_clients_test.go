package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

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
