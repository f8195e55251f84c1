package spacetest_test

import (
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/spacetest"
	"github.com/cotalctl/cotalctl/matrix"
)

// The identities of the tests; every grammar's shape is legal.
const (
	owner    = "u_abcdefghijklmnopqrstuvwxyz"
	uid      = "a1b2c3d4e5f6g7h8i9j0k1l2m3"
	otherUID = "z1b2c3d4e5f6g7h8i9j0k1l2m3"
	instance = "i1b2c3d4e5f6g7h8i9j0k1l2m3"
)

func load(t testing.TB) *contract.Contract {
	t.Helper()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// topologies runs a test in each topology of the contract, each on a space of its own with one server.
func topologies(t *testing.T, test func(t *testing.T, s *spacetest.Space)) {
	t.Helper()
	topologiesOn(t, 1, test)
}

// topologiesOnCluster is the same on three servers with three replicas of every stream; not under -short.
func topologiesOnCluster(t *testing.T, test func(t *testing.T, s *spacetest.Space)) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster for each topology")
	}
	topologiesOn(t, 3, test)
}

func topologiesOn(t *testing.T, servers int, test func(t *testing.T, s *spacetest.Space)) {
	t.Helper()
	c := load(t)
	if len(c.Topologies) == 0 {
		t.Fatal("the contract has no topology")
	}
	for _, top := range c.Topologies {
		t.Run(top.Name, func(t *testing.T) {
			t.Parallel()
			test(t, spacetest.New(t, c, top.Name, servers))
		})
	}
}

// TestProvisionedTwice: a provisioned space differs in nothing from its contract.
func TestProvisionedTwice(t *testing.T) {
	t.Parallel()
	topologies(t, func(t *testing.T, s *spacetest.Space) {
		plan := s.Plan(t)
		if len(plan.Actions) == 0 {
			t.Fatal("the plan has no action")
		}
		for _, a := range plan.Actions {
			if a.Action != provision.None {
				t.Errorf("%s %s %s %v %s", a.Action, a.Kind, a.Name, a.Diff, a.Reason)
			}
		}
	})
}

// TestAgentSends: an agent sends as itself, and as nobody else.
func TestAgentSends(t *testing.T) {
	t.Parallel()
	topologies(t, func(t *testing.T, s *spacetest.Space) {
		who := map[string]any{"owner": owner, "actor": "alice", "uid": uid, "allowPublish": []any{"general"}, "allowSubscribe": []any{"general"}}
		s.Provision(t, "principal", who)
		alice := s.Open(t, "agent", who)
		if ack := alice.Store("cotal.main.chat."+owner+".alice.general", "hello", "Nats-Msg-Id: one"); ack.Stream != "CHAT_main" {
			t.Errorf("stored in %q, want CHAT_main", ack.Stream)
		}
		alice.Refuses("PUB cotal.main.chat."+owner+".bob.general", "SUB cotal.main.chat.*.*.other")
		alice.Admits("PUB cotal.main.chat."+owner+".alice.general", "SUB cotal.main.chat.*.*.general")
		alice.Store("cotal.main.inst."+owner+".alice."+owner+".alice", "note")
		msg := alice.Next("DM_main", "dm_"+owner+"-alice-"+uid)
		if string(msg.Data) != "note" {
			t.Errorf("got %q, want the note", msg.Data)
		}
		alice.Ack(msg)
	})
}
