package audit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

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
func hearsOn(sub, queue, published string) func(*stage) bool {
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

func unprepared(*stage) {}
