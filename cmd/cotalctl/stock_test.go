package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// creds connects with a .creds file that the tool wrote.
func creds(t testing.TB, url, file string) *nats.Conn {
	t.Helper()
	opts, _, err := fileOptions(file)
	if err != nil {
		t.Fatal(err)
	}
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	nc, err := nats.Connect(url, append(opts, nats.Timeout(patience), nats.MaxReconnects(0), quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// subscribe returns once the broker has judged the subscription.
func subscribe(t testing.TB, nc *nats.Conn, subject string) *nats.Subscription {
	t.Helper()
	sub, err := nc.SubscribeSync(subject)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	return sub
}

// refusedBy reports whether the broker has refused an operation on the subject since the connection was opened.
func refusedBy(t testing.TB, nc *nats.Conn, subject string) bool {
	t.Helper()
	if err := nc.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	err := nc.LastError()
	return err != nil && strings.Contains(err.Error(), `"`+subject+`"`)
}

// TestStockServer: a stock nats-server runs the printed configuration, and a space that it does not know is provisioned on it.
func TestStockServer(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	dir, config := filepath.Join(tmp, "D"), filepath.Join(tmp, "nats.conf")
	command(t, 0, "provision", "space", "first", "--dir", dir)
	text, _ := command(t, 0, "broker", "config", "--dir", dir, "--listen", "127.0.0.1:-1")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	url := natstest.StartStock(t, config).URL()
	on := func(want int, args ...string) string {
		t.Helper()
		out, _ := command(t, want, append(args, "--dir", dir, "--server", url, "-o", "json")...)
		return out
	}
	wantOnlyNone(t, on(0, "provision", "space", "first"))
	for _, a := range readPlan(t, on(0, "provision", "space", "main")).Actions {
		if a.Action != "create" {
			t.Errorf("new space: %s %s is %s, want create", a.Kind, a.Name, a.Action)
		}
	}
	wantOnlyNone(t, on(0, "provision", "space", "main"))
	if text, _ := command(t, 0, "broker", "config", "--dir", dir); strings.Count(text, "# main\n") != 1 {
		t.Error("the next configuration does not preload the new account")
	}
	principal := func(verb string) string { return on(0, principalArgs(verb, dir)...) }
	readPlan(t, principal("provision"))
	wantOnlyNone(t, principal("provision"))

	file := filepath.Join(tmp, "alice.creds")
	command(t, 0, "mint", "agent", "--dir", dir, "--space", "main", "--set", "owner=local", "--set", "actor=alice", "--set",
		"uid="+strings.Repeat("a", 26), "--set", "allowSubscribe=team.>", "--set", "allowPublish=team.backend", "-o", file)
	nc := creds(t, url, file)
	sub := subscribe(t, nc, "cotal.main.chat.*.*.team.>")
	js, err := nc.JetStream(nats.MaxWait(patience))
	if err != nil {
		t.Fatal(err)
	}
	if ack, err := js.Publish("cotal.main.chat.local.alice.team.backend", []byte("hello")); err != nil || ack.Stream != "CHAT_main" {
		t.Errorf("publish: got %v, %v, want an acknowledgement of CHAT_main", ack, err)
	}
	if msg, err := sub.NextMsg(patience); err != nil || string(msg.Data) != "hello" {
		t.Errorf("subscription: got %v, %v", msg, err)
	}
	forged := "cotal.main.chat.local.bob.team.backend"
	if err := nc.Publish(forged, nil); err != nil {
		t.Fatal(err)
	}
	if !refusedBy(t, nc, forged) {
		t.Errorf("publish as another: got %v, want a refusal", nc.LastError())
	}
	bound, err := js.PullSubscribe("cotal.main.inst.local.alice.>", "", nats.Bind("DM_main", "dm_local-alice-"+strings.Repeat("a", 26)))
	if err != nil {
		t.Fatalf("own durable: %v", err)
	}
	if _, err := js.Publish("cotal.main.inst.local.alice.local.alice", []byte("note to self")); err != nil {
		t.Fatal(err)
	}
	if msgs, err := bound.Fetch(1, nats.MaxWait(patience)); err != nil || len(msgs) != 1 {
		t.Errorf("own durable: got %d messages, %v, want 1", len(msgs), err)
	}
	readPlan(t, principal("deprovision"))
	wantOnlyNone(t, principal("deprovision"))
}
