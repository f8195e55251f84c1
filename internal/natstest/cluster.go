package natstest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Cluster names a cluster of a supercluster and says how many servers it has. The servers are called like it, with a number from
// 1 on: east1, east2.
type Cluster struct {
	Name string
	Size int
}

// StartCluster runs n servers, n1 and so on, that form the cluster "test" with one operator, and returns when they all know each
// other and have a JetStream leader.
func StartCluster(t testing.TB, n int, edit ...func(*server.Options)) []*Server {
	t.Helper()
	o := newOperator(t)
	app := o.account(t, "APP")
	ports := freePorts(t, n)
	out := make([]*Server, n)
	for i := range n {
		out[i] = o.start(t, app, append([]func(*server.Options){func(opts *server.Options) {
			opts.ServerName = fmt.Sprintf("n%d", i+1)
			clustered(opts, "test", ports, i)
		}}, edit...)...)
	}
	awaitRoutes(t, out)
	AwaitLeader(t, inner(out))
	return out
}

// StartSupercluster runs the servers of several clusters with one operator, joined by gateways, and returns them by cluster, in
// the order of the list, when every gateway is up in both directions and one JetStream spans them all. edit runs for each server
// after its names and ports are set.
func StartSupercluster(t testing.TB, clusters []Cluster, edit ...func(*server.Options)) [][]*Server {
	t.Helper()
	o := newOperator(t)
	app := o.account(t, "APP")
	routes, gateways := make([][]int, len(clusters)), make([][]int, len(clusters))
	for i, c := range clusters {
		ports := freePorts(t, 2*c.Size)
		routes[i], gateways[i] = ports[:c.Size], ports[c.Size:]
	}
	out := make([][]*Server, len(clusters))
	var all []*Server
	for i, c := range clusters {
		for k := range c.Size {
			s := o.start(t, app, append([]func(*server.Options){func(opts *server.Options) {
				opts.ServerName = c.Name + strconv.Itoa(k+1)
				clustered(opts, c.Name, routes[i], k)
				opts.Gateway = server.GatewayOpts{Name: c.Name, Host: "127.0.0.1", Port: gateways[i][k]}
				for j, remote := range clusters {
					opts.Gateway.Gateways = append(opts.Gateway.Gateways, &server.RemoteGatewayOpts{Name: remote.Name, URLs: urls("nats", gateways[j])})
				}
			}}, edit...)...)
			out[i] = append(out[i], s)
			all = append(all, s)
		}
	}
	for _, servers := range out {
		awaitRoutes(t, servers)
	}
	awaitGateways(t, clusters, out)
	AwaitLeader(t, inner(all))
	return out
}

// clustered makes a server the i-th member of a cluster.
func clustered(opts *server.Options, name string, ports []int, i int) {
	opts.Cluster = server.ClusterOpts{Name: name, Host: "127.0.0.1", Port: ports[i]}
	opts.Routes = urls("nats-route", ports)
}

func urls(scheme string, ports []int) []*url.URL {
	out := make([]*url.URL, len(ports))
	for i, p := range ports {
		out[i] = &url.URL{Scheme: scheme, Host: fmt.Sprintf("127.0.0.1:%d", p)}
	}
	return out
}

func inner(servers []*Server) []*server.Server {
	out := make([]*server.Server, len(servers))
	for i, s := range servers {
		out[i] = s.Server
	}
	return out
}

// nextPort walks through ports below those that the kernel gives to outgoing connections: none of these takes a port between
// the probe and the server's own listen. The random start keeps test binaries that run side by side apart.
var nextPort = startPort()

func startPort() *atomic.Int64 {
	var n atomic.Int64
	n.Store(rand.Int64N(portSpan))
	return &n
}

const firstPort, portSpan = 10_000, 20_000

// freePorts returns ports that were free a moment ago: a cluster needs the addresses of its routes before it starts.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range portSpan {
		port := firstPort + int(nextPort.Add(1)%portSpan)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		l.Close()
		if ports = append(ports, port); len(ports) == n {
			return ports
		}
	}
	t.Fatalf("free ports: got %d, want %d", len(ports), n)
	return nil
}

// Await asks every 20 ms until there is nothing missing, and fails with what is.
func Await(t testing.TB, missing func() string) {
	t.Helper()
	deadline := time.After(ready)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		what := missing()
		if what == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", ready, what)
		}
	}
}

// AwaitLeader returns once one server leads JetStream, knows all of them that run it as its peers and finds them current.
func AwaitLeader(t testing.TB, servers []*server.Server) {
	t.Helper()
	servers = slices.DeleteFunc(slices.Clone(servers), func(s *server.Server) bool { return !s.JetStreamEnabled() })
	Await(t, func() string {
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers) {
				return missingPeers(must(s.Jsz(nil))(t).Meta, len(servers))
			}
		}
		return fmt.Sprintf("a JetStream leader with %d peers", len(servers))
	})
}

// missingPeers judges what the leader says of its peers; of the others, each knows the leader alone.
func missingPeers(meta *server.MetaClusterInfo, servers int) string {
	current := 1
	if meta != nil {
		for _, r := range meta.Replicas {
			if r.Current && !r.Offline {
				current++
			}
		}
	}
	if current == servers {
		return ""
	}
	return fmt.Sprintf("JetStream peers that are current: got %d, want %d", current, servers)
}

// awaitRoutes returns once every server has a route to every other.
func awaitRoutes(t testing.TB, servers []*Server) {
	t.Helper()
	Await(t, func() string {
		for _, s := range servers {
			remotes := map[string]bool{}
			for _, r := range must(s.Routez(nil))(t).Routes {
				remotes[r.RemoteID] = true
			}
			if len(remotes) != len(servers)-1 {
				return fmt.Sprintf("routes of %s: got %d servers, want %d", s.Name(), len(remotes), len(servers)-1)
			}
		}
		return ""
	})
}

// awaitGateways returns once every server has its outbound gateway to every other cluster and has been reached by it.
func awaitGateways(t testing.TB, clusters []Cluster, servers [][]*Server) {
	t.Helper()
	Await(t, func() string {
		gatewayz := make([][]server.Gatewayz, len(clusters))
		for i, own := range servers {
			for _, s := range own {
				gatewayz[i] = append(gatewayz[i], *must(s.Gatewayz(nil))(t))
			}
		}
		return missingGateways(clusters, gatewayz)
	})
}

// missingGateways judges what the servers of each cluster say. A server has one gateway out to each other cluster, to any server of
// it: of those that come in, only the sum over a cluster is known.
func missingGateways(clusters []Cluster, gatewayz [][]server.Gatewayz) string {
	for i, own := range gatewayz {
		inbound := map[string]int{}
		for k, g := range own {
			if got := len(g.OutboundGateways); got != len(clusters)-1 {
				return fmt.Sprintf("outbound gateways of %s%d: got %d, want %d", clusters[i].Name, k+1, got, len(clusters)-1)
			}
			for name, conns := range g.InboundGateways {
				inbound[name] += len(conns)
			}
		}
		for j, remote := range clusters {
			if i != j && inbound[remote.Name] != remote.Size {
				return fmt.Sprintf("gateways from %s into %s: got %d, want %d", remote.Name, clusters[i].Name, inbound[remote.Name], remote.Size)
			}
		}
	}
	return ""
}
