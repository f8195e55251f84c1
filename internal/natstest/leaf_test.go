package natstest_test

import (
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

func TestLeafJoinsOneAccount(t *testing.T) {
	t.Parallel()
	hub := natstest.Start(t, natstest.LeafListener)
	app := hub.StartLeaf(t, hub.Account)
	sub, err := app.Connect(t, hub.User(t, jwt.Permissions{})).SubscribeSync("x")
	if err != nil {
		t.Fatal(err)
	}
	nc := hub.Connect(t, hub.User(t, jwt.Permissions{}))
	natstest.Await(t, func() string {
		if acc, err := hub.LookupAccount(hub.Account.PublicKey()); err != nil || acc.Interest("x") == 0 {
			return "the interest of the leaf node's subscriber"
		}
		return ""
	})
	if err := nc.Publish("x", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := sub.NextMsg(30 * time.Second); err != nil {
		t.Errorf("message over the leaf connection of APP: %v", err)
	}
	sys := hub.Connect(t, hub.System.User(t, jwt.Permissions{}))
	if got := natstest.Ping(t, sys, "VARZ", "", 2, 500*time.Millisecond); len(got) != 1 {
		t.Errorf("answers to a ping with a leaf node of APP: got %d, want 1: that of the hub", len(got))
	}
}
