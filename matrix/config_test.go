package matrix

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// jsonTags are the JSON keys of a struct, sorted.
func jsonTags(v any) []string {
	var out []string
	typ := reflect.TypeOf(v)
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func names(table []ConfigKey) []string {
	out := make([]string, len(table))
	for i, k := range table {
		out[i] = k.Name
	}
	return out
}

// A field that a newer server adds must be judged before a contract can leave it out.
func TestTablesMatchServer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		table []ConfigKey
		typ   any
	}{
		{"stream", StreamKeys(), server.StreamConfig{}},
		{"consumer", ConsumerKeys(), server.ConsumerConfig{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := jsonTags(tt.typ)
			if len(want) < 30 {
				t.Fatalf("server type has %d keys, want at least 30", len(want))
			}
			if diff := cmp.Diff(want, names(tt.table)); diff != "" {
				t.Errorf("keys (-server +table):\n%s", diff)
			}
			for _, k := range tt.table {
				if (k.Kind == KeyFixed) != (k.Default == nil) || (k.Kind == KeyFixed) == (k.Why == "") {
					t.Errorf("key %s of kind %s, got default %v and reason %q, want exactly one of them", k.Name, k.Kind, k.Default, k.Why)
				}
			}
		})
	}
}

// request sends one JetStream API request and returns the stored configuration.
func request(t *testing.T, nc *nats.Conn, subject, body string) map[string]any {
	t.Helper()
	msg, err := nc.Request("$JS.API."+subject, []byte(body), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Config map[string]any `json:"config"`
		Error  any            `json:"error"`
	}
	if err := json.Unmarshal(msg.Data, &answer); err != nil || answer.Error != nil {
		t.Fatalf("%s: %v %v", subject, err, answer.Error)
	}
	return answer.Config
}

func connect(t *testing.T) *nats.Conn {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("embedded server is not ready")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// stored is a table value as it comes back in JSON; what the server leaves out is the zero of its kind.
func stored(cfg map[string]any, k ConfigKey) any {
	v, ok := cfg[k.Name]
	switch n, isNumber := v.(float64); {
	case isNumber:
		return int64(n)
	case ok:
		return v
	case k.Kind == KeyBool:
		return false
	case k.Kind == KeyText:
		return ""
	case k.Kind == KeyEnum:
		return k.Enum[0]
	}
	return int64(0)
}

// The defaults of the tables are what the broker stores for a request that leaves every key out.
func TestDefaultsAreTheServers(t *testing.T) {
	nc := connect(t)
	checked := 0
	check := func(what string, cfg map[string]any, table []ConfigKey, want map[string]any) {
		for _, k := range table {
			if k.Kind == KeyFixed {
				continue
			}
			checked++
			if got := stored(cfg, k); got != want[k.Name] {
				t.Errorf("%s %s: server stores %v (%T), table says %v (%T)", what, k.Name, got, got, want[k.Name], want[k.Name])
			}
		}
	}
	for i, age := range []int64{0, int64(time.Minute), int64(time.Hour)} {
		name := fmt.Sprintf("S%d", i)
		want := map[string]any{"max_age": age}
		complete(want, false)
		cfg := request(t, nc, "STREAM.CREATE."+name, fmt.Sprintf(`{"name":%q,"subjects":[%q],"max_age":%d}`, name, name, age))
		check("stream", cfg, streamKeys, want)
	}
	for _, ack := range []string{"none", "explicit", "all"} {
		want := map[string]any{"ack_policy": ack}
		completeConsumer(want)
		cfg := request(t, nc, "CONSUMER.CREATE.S0."+ack, fmt.Sprintf(`{"stream_name":"S0","config":{"durable_name":%q,"ack_policy":%q}}`, ack, ack))
		check("consumer", cfg, consumerKeys, want)
	}
	if checked < 100 {
		t.Errorf("checked %d keys, want at least 100", checked)
	}
}

// The defaults of a bucket are what the client library writes into one.
func TestBucketDefaultsAreTheClients(t *testing.T) {
	nc := connect(t)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateKeyValue(&nats.KeyValueConfig{Bucket: "b", TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"max_age": int64(time.Minute)}
	complete(want, true)
	cfg := request(t, nc, "STREAM.INFO.KV_b", "")
	checked := 0
	for _, k := range streamKeys {
		if k.Kind == KeyFixed {
			continue
		}
		checked++
		if got := stored(cfg, k); got != want[k.Name] {
			t.Errorf("bucket %s: client stores %v, table says %v", k.Name, got, want[k.Name])
		}
	}
	if checked == 0 {
		t.Error("no key was checked")
	}
}
