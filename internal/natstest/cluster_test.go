package natstest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

func TestSuperclusterAnswersAsOne(t *testing.T) {
	t.Parallel()
	clusters := natstest.StartSupercluster(t, []natstest.Cluster{{Name: "east", Size: 2}, {Name: "west", Size: 1}})
	want := map[string]string{"east1": "east", "east2": "east", "west1": "west"}
	nc := clusters[1][0].Connect(t, clusters[0][0].System.User(t, jwt.Permissions{}))
	if diff := cmp.Diff(want, natstest.Answering(t, nc, len(want))); diff != "" {
		t.Errorf("servers that answer, with their clusters (-want +got):\n%s", diff)
	}
}

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
	if diff := cmp.Diff(map[string]string{"test": ""}, natstest.Answering(t, sys, 1)); diff != "" {
		t.Errorf("with a leaf node of APP (-want +got):\n%s", diff)
	}
}

func TestLeafOfSystemAccountAnswers(t *testing.T) {
	t.Parallel()
	hub := natstest.Start(t, natstest.LeafListener)
	hub.StartLeaf(t, hub.System)
	nc := hub.Connect(t, hub.System.User(t, jwt.Permissions{}))
	if diff := cmp.Diff(map[string]string{"test": "", "leaf": "leaf"}, natstest.Answering(t, nc, 2)); diff != "" {
		t.Errorf("servers that answer, with their clusters (-want +got):\n%s", diff)
	}
}
