package natstest_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// What the servers of a supercluster with two leaf nodes say of themselves and of each other. Who judges a deployment by these
// answers relies on it; a server that says something else fails here first.
func TestWhatServersSay(t *testing.T) {
	t.Parallel()
	clusters := natstest.StartSupercluster(t, []natstest.Cluster{{Name: "east", Size: 2}, {Name: "west", Size: 1}}, natstest.LeafListener)
	east, west := clusters[0], clusters[1]
	plain := east[0].StartLeaf(t, east[0].System)
	named := east[0].StartLeaf(t, east[0].System, func(o *server.Options) { o.ServerName, o.Cluster.Name = "edge1", "edge" })
	all := append(slices.Concat(east, west), plain, named)
	nc := west[0].Connect(t, east[0].System.User(t, jwt.Permissions{}))

	t.Run("cluster", func(t *testing.T) {
		// A leaf node without a cluster's name says its own.
		want := map[string]string{"east1": "east", "east2": "east", "west1": "west", "leaf": "leaf", "edge1": "edge"}
		if diff := cmp.Diff(want, natstest.Answering(t, nc, len(all))); diff != "" {
			t.Errorf("servers, with their clusters (-want +got):\n%s", diff)
		}
	})
	t.Run("gateways", func(t *testing.T) {
		// A server has one gateway out to each cluster, and names the far end by its id. The near ends of all who came in are spread
		// over a cluster's servers.
		var inbound []string
		for name, g := range answers[server.Gatewayz](t, nc, "GATEWAYZ", len(all)) {
			for _, in := range g.InboundGateways["east"] {
				inbound = append(inbound, in.Connection.Name)
			}
			if out := g.OutboundGateways["west"]; strings.HasPrefix(name, "east") && (out == nil || out.Connection.Name != west[0].ID()) {
				t.Errorf("%s: outbound gateway to west %+v, want to %s", name, out, west[0].ID())
			}
		}
		slices.Sort(inbound)
		want := []string{east[0].ID(), east[1].ID()}
		slices.Sort(want)
		if diff := cmp.Diff(want, inbound); diff != "" {
			t.Errorf("servers that came in from east (-want +got):\n%s", diff)
		}
	})
	t.Run("leaf nodes", func(t *testing.T) {
		// A leaf node is known by its name only: no answer of the hub has its id.
		var names []string
		for _, l := range answers[server.Leafz](t, nc, "LEAFZ", len(all))["east1"].Leafs {
			names = append(names, l.Name)
		}
		slices.Sort(names)
		if diff := cmp.Diff([]string{"edge1", "leaf"}, names); diff != "" {
			t.Errorf("leaf nodes of east1 (-want +got):\n%s", diff)
		}
	})
	t.Run("routes", func(t *testing.T) {
		// Several connections per pair of servers in routes, one in remotes.
		v := answers[server.Varz](t, nc, "VARZ", len(all))["east1"]
		if v.Remotes != 1 || v.Routes <= 1 {
			t.Errorf("east1: got %d remotes, %d routes, want 1 and more", v.Remotes, v.Routes)
		}
	})
	t.Run("JetStream", func(t *testing.T) {
		// One group spans the clusters; of its peers only the leader knows more than the name. Off is no error.
		var jsz map[string]server.JSInfo
		var leader string
		natstest.Await(t, func() string {
			jsz = answers[server.JSInfo](t, nc, "JSZ", len(all))
			if leader = jsz["east1"].Meta.Leader; leader == "" {
				return "the word of the leader at east1"
			}
			return ""
		})
		if meta := jsz[leader].Meta; meta.Size != 3 || len(meta.Replicas) != 2 {
			t.Errorf("leader %s: got size %d and replicas %v, want 3 and 2 of them", leader, meta.Size, meta.Replicas)
		}
		if got := jsz["leaf"]; !got.Disabled || got.Meta != nil {
			t.Errorf("leaf: got disabled %v and meta group %v, want true and none", got.Disabled, got.Meta)
		}
	})
}

// answers decodes what n servers answer, by server name.
func answers[T any](t *testing.T, nc *nats.Conn, kind string, n int) map[string]T {
	t.Helper()
	out := map[string]T{}
	for _, a := range natstest.Ping(t, nc, kind, "", n, 10*time.Second) {
		var v T
		if err := json.Unmarshal(a.Data, &v); err != nil {
			t.Fatalf("%s of %s: %v", kind, a.Server.Name, err)
		}
		out[a.Server.Name] = v
	}
	return out
}

// A server reads an account when it is first used there, and until then says that there is none. A request for the account's
// connections is a use.
func TestAccountIsUnknownUntilUsed(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	nc := s.Connect(t, s.System.User(t, jwt.Permissions{}))
	known := func() bool {
		got := natstest.Ping(t, nc, "ACCOUNTZ", `{"account":"`+s.Account.PublicKey()+`"}`, 1, 10*time.Second)
		return len(got) == 1 && got[0].Error == nil
	}
	before := known()
	natstest.Ping(t, nc, "CONNZ", `{"acc":"`+s.Account.PublicKey()+`"}`, 1, 10*time.Second)
	if diff := cmp.Diff([]bool{false, true}, []bool{before, known()}); diff != "" {
		t.Errorf("known before and after CONNZ of the account (-want +got):\n%s", diff)
	}
}

// A full resolver answers a lookup with the bare JWT, which does not say whose it is, and with nothing for an account that it has
// not. Without one nobody answers.
func TestLookupNamesNoServer(t *testing.T) {
	t.Parallel()
	look := func(s *natstest.Server) (string, error) {
		nc := s.Connect(t, s.System.User(t, jwt.Permissions{}))
		msg, err := nc.Request("$SYS.REQ.ACCOUNT."+s.Account.PublicKey()+".CLAIMS.LOOKUP", nil, 10*time.Second)
		if err != nil {
			return "", err
		}
		return string(msg.Data), nil
	}
	full := natstest.Start(t, natstest.FullResolver(t))
	if got, err := look(full); err != nil || got != "" {
		t.Errorf("unknown account: got %q, %v, want an empty answer", got, err)
	}
	full.SetJWT(t, full.Account, full.Account.JWT(t))
	if got, err := look(full); err != nil || got != full.Account.JWT(t) {
		t.Errorf("known account: got %d bytes, %v, want its JWT", len(got), err)
	}
	if _, err := look(natstest.Start(t)); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("without a full resolver: got %v, want %v", err, nats.ErrNoResponders)
	}
}
