package natstest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// awaitWhole asks the servers over the system account until each has a route to every other of its cluster and a gateway to every
// other cluster, the leaf node is joined, and one JetStream server leads all others, which are current.
func (f *Fleet) awaitWhole(t testing.TB) {
	t.Helper()
	nc := f.Clusters[0][0].Connect(t, f.System.User(t, jwt.Permissions{}))
	defer nc.Close()
	servers := 0
	for _, c := range f.Clusters {
		servers += len(c)
	}
	answers := servers
	if f.layout.Leaf == "SYS" {
		answers++
	}
	Await(t, func() string {
		varz, what := ask[server.Varz](t, nc, "VARZ", answers)
		if what != "" {
			return what
		}
		if f.Leaf != nil && varz[f.Clusters[0][0].name].Leafs == 0 {
			return "the leaf node"
		}
		if what := f.missingRoutes(varz); what != "" {
			return what
		}
		if what := f.missingGateways(t, nc, answers); what != "" {
			return what
		}
		return missingLeader(varz)
	})
}

func (f *Fleet) missingRoutes(varz map[string]server.Varz) string {
	for _, c := range f.Clusters {
		for _, p := range c {
			if got := varz[p.name].Remotes; got != len(c)-1 {
				return fmt.Sprintf("servers that %s has a route to: got %d, want %d", p.name, got, len(c)-1)
			}
		}
	}
	return ""
}

func (f *Fleet) missingGateways(t testing.TB, nc *nats.Conn, answers int) string {
	t.Helper()
	if len(f.Clusters) == 1 {
		return ""
	}
	gatewayz, what := ask[server.Gatewayz](t, nc, "GATEWAYZ", answers)
	if what != "" {
		return what
	}
	own := make([][]server.Gatewayz, len(f.Clusters))
	for i, c := range f.Clusters {
		for _, p := range c {
			own[i] = append(own[i], gatewayz[p.name])
		}
	}
	return missingGateways(f.layout.Clusters, own)
}

// missingLeader looks for the leader among the servers that run JetStream.
func missingLeader(varz map[string]server.Varz) string {
	running, leader := 0, (*server.MetaClusterInfo)(nil)
	for name, v := range varz {
		if v.JetStream.Config == nil {
			continue
		}
		running++
		if meta := v.JetStream.Meta; meta != nil && meta.Leader == name {
			leader = meta
		}
	}
	switch {
	case running < 2: // no group is formed
		return ""
	case leader == nil:
		return "a JetStream leader"
	default:
		return missingPeers(leader, running)
	}
}

// ask returns the answers of n servers by server name, or what is missing.
func ask[T any](t testing.TB, nc *nats.Conn, kind string, n int) (map[string]T, string) {
	t.Helper()
	out := map[string]T{}
	for _, a := range Ping(t, nc, kind, "", n, 200*time.Millisecond) {
		var v T
		if err := json.Unmarshal(a.Data, &v); err != nil {
			t.Fatalf("%s of %s: %v", kind, a.Server.Name, err)
		}
		out[a.Server.Name] = v
	}
	if len(out) < n {
		return nil, fmt.Sprintf("answers to %s: got %d, want %d", kind, len(out), n)
	}
	return out, ""
}
