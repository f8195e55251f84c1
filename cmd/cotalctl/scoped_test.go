package main

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// TestScopedCredentialWorks connects with a scoped credential: it does what its tags say and nothing else, and is disconnected once its
// key is removed.
func TestScopedCredentialWorks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "D")
	creds := filepath.Join(t.TempDir(), "alice.creds")
	command(t, 0, "provision", "space", "main", "--dir", dir)
	visit(t, dir, func(_ *trust.Dir, url string) {
		command(t, 0, "provision", "scoped", "agent", "--dir", dir, "--set", "reads=mediated")
		command(t, 0, "mint", "agent", "--scoped", "agent", "--dir", dir, "--set", "owner=local", "--set", "actor=alice", "--set", "uid=aaaaaaaaaaaaaaaaaaaaaaaaaa",
			"--set", "allowSubscribe=team.>", "--set", "allowPublish=team.backend,team.ops", "-o", creds)
		closed, faults := make(chan struct{}), make(chan error, 8)
		nc, err := nats.Connect(url, nats.UserCredentials(creds), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { faults <- err }))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		sub, err := nc.SubscribeSync("cotal.main.chat.*.*.team.>")
		if err != nil {
			t.Fatal(err)
		}
		for _, channel := range []string{"team.backend", "team.ops"} {
			if err := nc.Publish("cotal.main.chat.local.alice."+channel, []byte("hello")); err != nil {
				t.Fatal(err)
			}
			if m, err := sub.NextMsg(patience); err != nil || m.Subject != "cotal.main.chat.local.alice."+channel {
				t.Fatalf("got %v and %v, want the message on %s", m, err, channel)
			}
		}
		for _, subject := range []string{"cotal.main.chat.local.bob.team.backend", "cotal.main.chat.local.alice.team.other"} {
			if err := nc.Publish(subject, nil); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-faults:
				if !errors.Is(err, nats.ErrPermissionViolation) {
					t.Errorf("%s: got %v, want %v", subject, err, nats.ErrPermissionViolation)
				}
			case <-time.After(patience):
				t.Errorf("%s: published, want a refusal", subject)
			}
		}
		command(t, 0, "deprovision", "scoped", "agent", "--dir", dir)
		select {
		case <-closed:
		case <-time.After(patience):
			t.Error("still connected after its key was removed")
		}
		if nc, err := nats.Connect(url, nats.UserCredentials(creds), nats.NoReconnect()); !errors.Is(err, nats.ErrAuthorization) {
			nc.Close()
			t.Errorf("connected again: %v, want %v", err, nats.ErrAuthorization)
		}
	})
}
