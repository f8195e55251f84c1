package spacetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// tampering is a request, or a publish, that changes something where it is permitted.
type tampering struct {
	subject, header, body string
	on                    string // of the control: a part of what changes in the state, where "$" ends its name
	answer                string // of the control: a part of the server's answer, where nothing that the state shows can be changed here
}

// loose is a stream of every account that protects nothing, so that a control can take effect on it.
const loose = "LOOSE"

// loosen puts the stream with two messages and a durable into every account.
func (v *vault) loosen() {
	v.t.Helper()
	for account, js := range v.js {
		stream := &nats.StreamConfig{Name: loose, Subjects: []string{"loose.>"}, Replicas: len(v.s.Servers)}
		if _, err := js.AddStream(stream); err != nil {
			v.t.Fatalf("%s: %v", account, err)
		}
		for _, subject := range []string{"loose.a", "loose.b", "loose.c"} {
			if _, err := js.Publish(subject, []byte("kept")); err != nil {
				v.t.Fatal(err)
			}
		}
		for _, durable := range []string{"d1", "d2"} {
			if _, err := js.AddConsumer(loose, &nats.ConsumerConfig{Durable: durable, AckPolicy: nats.AckExplicitPolicy}); err != nil {
				v.t.Fatal(err)
			}
		}
	}
}

// loosely are the operations on the loose stream, in an order in which each still finds what it changes. A taken message is
// redelivered only after the consumer's wait, so that an acknowledgement of it is one.
var loosely = []tampering{
	{subject: "loose.a", body: "new", on: "LOOSE message 4$"},
	{subject: "loose.b", header: "Nats-Rollup: sub", body: "new", answer: "rollup not permitted"},
	{subject: "$JS.API.STREAM.UPDATE.LOOSE", body: `{"name":"LOOSE","subjects":["loose.>"],"description":"new","num_replicas":%R}`, on: " LOOSE$"},
	{subject: "$JS.API.CONSUMER.CREATE.LOOSE",
		body: `{"stream_name":"LOOSE","config":{"deliver_subject":"elsewhere","ack_policy":"none","inactive_threshold":3600000000000}}`,
		on:   "LOOSE consumer "},
	{subject: "$JS.API.CONSUMER.CREATE.LOOSE.d3.loose.a",
		body: `{"stream_name":"LOOSE","config":{"name":"d3","durable_name":"d3","filter_subject":"loose.a","ack_policy":"explicit"}}`, on: "consumer d3$"},
	{subject: "$JS.API.CONSUMER.DURABLE.CREATE.LOOSE.d4",
		body: `{"stream_name":"LOOSE","config":{"durable_name":"d4","ack_policy":"explicit"}}`, on: "consumer d4$"},
	{subject: "$JS.API.CONSUMER.MSG.NEXT.LOOSE.d1", body: `{"batch":1}`, on: "consumer d1 counts$"},
	{subject: "$JS.ACK.LOOSE.d1.1.1.1.1.1", on: "consumer d1 counts$"},
	{subject: "$JS.API.CONSUMER.PAUSE.LOOSE.d2", body: `{"pause_until":"2099-01-01T00:00:00Z"}`, on: "consumer d2 counts$"},
	{subject: "$JS.API.CONSUMER.RESET.LOOSE.d1", body: `{"seq":1}`, on: "consumer d1 counts$"},
	{subject: "$JS.API.CONSUMER.UNPIN.LOOSE.d1", body: `{"group":"g"}`, answer: "consumer_unpin_response"},
	{subject: "$JS.API.CONSUMER.DELETE.LOOSE.d2", on: "consumer d2$"},
	{subject: "$JS.API.STREAM.MSG.DELETE.LOOSE", body: `{"seq":2}`, on: "LOOSE message 2$"},
	{subject: "$JS.API.STREAM.SNAPSHOT.LOOSE", body: `{"deliver_subject":"elsewhere"}`, answer: "stream_snapshot_response"},
	{subject: "$JS.API.STREAM.RESTORE.LOOSE2",
		body: `{"config":{"name":"LOOSE2","subjects":["loose2.>"]},"state":{}}`, answer: "stream_restore_response"},
	{subject: "$JS.API.STREAM.PURGE.LOOSE", on: "LOOSE message 1$"},
	{subject: "$JS.API.STREAM.CREATE.EVIL", body: `{"name":"EVIL","subjects":["evil.>"],"sources":[{"name":"LOOSE"}]}`, on: " EVIL$"},
	{subject: "$JS.API.STREAM.DELETE.LOOSE", on: " LOOSE$"},
}

// clustered are the operations of a cluster on the loose stream; on one server nothing answers them.
var clustered = []tampering{
	{subject: "$JS.API.STREAM.LEADER.STEPDOWN.LOOSE", on: " LOOSE peers$"},
	{subject: "$JS.API.CONSUMER.LEADER.STEPDOWN.LOOSE.d1", answer: `"success":true`}, // which may elect the same again,
	{subject: "$JS.API.STREAM.CANCEL_MOVE.LOOSE", answer: "stream_cancel_move_response"},
	{subject: "$JS.API.STREAM.PEER.REMOVE.LOOSE", body: `{"peer":"nobody"}`, answer: "stream_remove_peer_response"},
	{subject: "$JS.API.STREAM.PEER.EVACUATE.LOOSE", body: `{"peer":"nobody"}`, answer: "stream_evacuate_peer_response"},
	{subject: "$JS.API.CONSUMER.PEER.REMOVE.LOOSE.d1", body: `{"peer":"nobody"}`, answer: "consumer_remove_peer_response"},
	{subject: "$JS.API.CONSUMER.PEER.EVACUATE.LOOSE.d1", body: `{"peer":"nobody"}`, answer: "consumer_evacuate_peer_response"},
}

// stored are a message of the victim's for every declared resource of the accounts, and the API's verbs on each by its name.
func stored(t *testing.T, s *spacetest.Space, account string) (publishes, verbs []tampering) {
	t.Helper()
	for _, store := range contract.SortedKeys(rows) {
		if account != "" && s.Home(t, store) != account {
			continue
		}
		publishes = append(publishes, tampering{subject: row(store, "planted"), body: "x", on: " " + s.Stream(t, store) + " counts$"})
		for _, op := range append(append([]tampering{}, loosely...), clustered...) {
			if strings.HasPrefix(op.subject, "$JS.") && strings.Contains(op.subject, "."+loose) {
				subject := strings.Replace(op.subject, loose, s.Stream(t, store), 1)
				verbs = append(verbs, tampering{subject: subject, body: strings.ReplaceAll(op.body, loose, s.Stream(t, store))})
			}
		}
	}
	return publishes, verbs
}

// onServers are the operations of the system account on accounts and servers. victim is the id of a client's connection.
func onServers(t *testing.T, s *spacetest.Space, victim uint64) []tampering {
	t.Helper()
	account, id := s.Account(t, "space"), s.Servers[0].ID()
	claims, client := foreign(t, account), fmt.Sprintf(`{"cid":%d}`, victim)
	return []tampering{
		{subject: "$SYS.REQ.SERVER." + id + ".RELOAD", answer: `"server"`},
		{subject: "$SYS.REQ.CLAIMS.DELETE", body: claims, answer: `"error"`},
		{subject: "$SYS.REQ.CLAIMS.UPDATE", body: claims, on: "space JWT on server 1$"},
		{subject: "$SYS.REQ.ACCOUNT." + account.PublicKey() + ".CLAIMS.UPDATE", body: foreign(t, account), on: "space JWT on server 1$"},
		{subject: "$SYS.ACCOUNT." + account.PublicKey() + ".CLAIMS.UPDATE", body: foreign(t, account), on: "space JWT on server 1$"},
		{subject: "$SYS.REQ.SERVER." + id + ".LDM", body: client, answer: `"server"`},
		{subject: "$SYS.REQ.SERVER." + id + ".KICK", body: client, answer: `"server"`},
		{subject: "$JS.API.ACCOUNT.PURGE." + account.PublicKey(), on: "space CHAT_main$"},
	}
}

// onMeta are those on a cluster's leaders and peers; a leader answers them, and one that steps down is another's.
var onMeta = []tampering{
	{subject: "$JS.API.SERVER.REMOVE", body: `{"peer":"nobody"}`, answer: "meta_server_remove_response"},
	{subject: "$JS.API.SERVER.EVACUATE", body: `{"peer":"nobody"}`, answer: "meta_server_evacuate_response"},
	{subject: "$JS.API.META.RESCUE", body: `{}`, answer: "meta_rescue_response"},
	{subject: "$JS.API.META.LEADER.STEPDOWN", answer: `"success":true`},
}

// unheard are subjects on which servers hear each other, and those that look like a request and are none: a publish there is refused.
func unheard(t *testing.T, s *spacetest.Space) []tampering {
	t.Helper()
	key, id := s.Account(t, "space").PublicKey(), s.Servers[0].ID()
	var out []tampering
	for _, subject := range []string{"$SYS.REQ.ACCOUNT." + key + ".CLAIMS.DELETE", "$SYS.SERVER." + id + ".SHUTDOWN",
		"$SYS.SERVER." + id + ".LAMEDUCK", "$SYS.SERVER." + id + ".STATSZ", "$SYS.ACCOUNT." + key + ".SERVER.CONNS",
		"$SYS.ACCOUNT." + key + ".CONNECT", "$SYS.ACCOUNT." + key + ".DISCONNECT", "$SYS.LATENCY.M2.x", "$SYS._INBOX.x.y",
		"$SYS.REQ.SERVER." + id + ".PROFILEZ", "$JS.API.ACCOUNT.STREAM.MOVE." + key + ".LOOSE",
		"$JS.API.ACCOUNT.STREAM.CANCEL_MOVE." + key + ".LOOSE", "$NRG.x", "$JSC.x", "$JS.FC.LOOSE.d1.x"} {
		out = append(out, tampering{subject: subject, body: "{}"})
	}
	return out
}
