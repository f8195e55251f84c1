package spacetest

import (
	"testing"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// NewUnknown is a space whose accounts are signed and that its one server does not know: the server has a resolver that takes
// pushes, and in it the system account alone. Nothing is provisioned.
func NewUnknown(t testing.TB, c *contract.Contract, topology string) *Space {
	t.Helper()
	return signed(t, c, topology, 1, true)
}

// Stream is the name of the stream behind a resource of the space.
func (s *Space) Stream(t testing.TB, resource string) string {
	t.Helper()
	scope, err := compile.NewScope(s.Contract, s.Topology, nil, s.input(nil))
	if err != nil {
		t.Fatal(err)
	}
	name, err := scope.StreamName(resource)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// Grants is the compiled permission set of a profile in an account; values name its connId, which no credential stands behind here.
func (s *Space) Grants(t testing.TB, account, profile string, values map[string]any) *compile.PermissionSet {
	t.Helper()
	set, err := s.set(account, profile, s.input(values))
	if err != nil {
		t.Fatalf("%s in %s: %v", profile, account, err)
	}
	return set
}

// Do sends protocol lines over a connection that no client library stands in front of.
func (h *Holder) Do(ops ...string) []natstest.Reply {
	h.t.Helper()
	return h.raw.Do(ops...)
}

// Unlimited is a holder whom nothing is refused in an account.
func (s *Space) Unlimited(t testing.TB, account string) *Holder {
	t.Helper()
	creds := s.Account(t, account).User(t, jwt.Permissions{})
	return &Holder{t: t, profile: "allow-all", Conn: s.Servers[0].Connect(t, creds), raw: s.Servers[0].Raw(t, creds)}
}
