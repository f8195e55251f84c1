package spacetest

import (
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// NewResolved is a provisioned space on servers each of which keeps the accounts in a resolver of its own that takes pushes, as
// those of an operator do.
func NewResolved(t testing.TB, c *contract.Contract, topology string, n int) *Space {
	t.Helper()
	s := signed(t, c, topology, n, true)
	for _, name := range s.Topology.Accounts {
		for _, server := range s.Servers {
			if err := server.AccountResolver().Store(s.accounts[name].PublicKey(), s.accounts[name].JWT(t)); err != nil {
				t.Fatal(err)
			}
			awaitJetStream(t, server, s.accounts[name])
		}
	}
	if err := s.Plan(t).Apply(bounded(t), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitJetStream makes a server take the account from its resolver. A request that comes before JetStream is on there would be refused.
func awaitJetStream(t testing.TB, server *natstest.Server, a *natstest.Account) {
	t.Helper()
	natstest.Await(t, func() string {
		if held, err := server.LookupAccount(a.PublicKey()); err != nil || !held.JetStreamEnabled() {
			return "JetStream in " + a.Claims.Name + " on " + server.Name()
		}
		return ""
	})
}
