package natstest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Answer is one server's answer to a request that all get: the envelope that names the server, and either data or an error.
type Answer struct {
	Server server.ServerInfo `json:"server"`
	Data   json.RawMessage   `json:"data"`
	Error  *server.ApiError  `json:"error"`

	Raw []byte `json:"-"`
}

// Ping asks every server over $SYS.REQ.SERVER.PING.KIND and returns the answers, in the order they come: n of them, or fewer when
// no more come within the wait. Of the kinds, IDZ alone is answered without the envelope.
func Ping(t testing.TB, nc *nats.Conn, kind, body string, n int, wait time.Duration) []Answer {
	t.Helper()
	sub := must(nc.SubscribeSync(nc.NewInbox()))(t)
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest("$SYS.REQ.SERVER.PING."+kind, sub.Subject, []byte(body)); err != nil {
		t.Fatal(err)
	}
	var out []Answer
	for deadline := time.Now().Add(wait); len(out) < n; {
		msg, err := sub.NextMsg(time.Until(deadline))
		if err != nil {
			break
		}
		var a Answer
		if err := json.Unmarshal(msg.Data, &a); err != nil {
			t.Fatalf("%s: %v in %s", kind, err, msg.Data)
		}
		a.Raw = msg.Data
		out = append(out, a)
	}
	return out
}

// Answering returns the servers that answer pings, by name, with the cluster that each says it is in: want of them, or fewer when
// no more answer.
func Answering(t testing.TB, nc *nats.Conn, want int) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, a := range Ping(t, nc, "VARZ", "", want, ready) {
		out[a.Server.Name] = a.Server.Cluster
	}
	return out
}
