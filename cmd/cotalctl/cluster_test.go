package main

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// cluster runs three servers on the trust of one directory, each on stores of its own, and returns them and their client URLs once
// JetStream has a leader and three peers.
func cluster(t *testing.T, d *trust.Dir) ([]*server.Server, string) {
	t.Helper()
	const n = 3
	routes := freeRoutes(t, n)
	var servers []*server.Server
	var urls []string
	for i := range n {
		opts := nodeOptions(t, d, fmt.Sprintf("n%d", i+1), routes[i])
		opts.Routes = routes
		s := startNode(t, opts)
		servers, urls = append(servers, s), append(urls, s.ClientURL())
	}
	natstest.AwaitLeader(t, servers)
	return servers, strings.Join(urls, ",")
}

// nodeOpts are the options that each server of startNode was started with, for a reload.
var nodeOpts sync.Map // *server.Server → *server.Options

// startNode starts a server that is stopped with the test.
func startNode(t *testing.T, opts *server.Options) *server.Server {
	t.Helper()
	asked := opts.Clone()
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	nodeOpts.Store(s, asked)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
		s.AccountResolver().Close()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatalf("server %s is not ready", opts.ServerName)
	}
	return s
}

// nodeOptions is the configuration of the directory with stores of its own and a cluster port.
func nodeOptions(t *testing.T, d *trust.Dir, name string, route *url.URL) *server.Options {
	t.Helper()
	text, err := d.ServerConfig(trust.ServerOptions{Port: -1, ServerName: name})
	if err != nil {
		t.Fatal(err)
	}
	stores := t.TempDir()
	own := strings.NewReplacer(fmt.Sprintf("dir: %q", filepath.Join(d.Path(), "resolver")), fmt.Sprintf("dir: %q", filepath.Join(stores, "resolver")),
		fmt.Sprintf("store_dir: %q", d.Path()), fmt.Sprintf("store_dir: %q", stores)).Replace(string(text))
	if strings.Count(own, stores) != 2 {
		t.Fatalf("the configuration names its stores otherwise:\n%s", text)
	}
	opts := &server.Options{}
	if err := opts.ProcessConfigString(own); err != nil {
		t.Fatal(err)
	}
	opts.NoSigs, opts.NoLog = true, true
	opts.Cluster = server.ClusterOpts{Name: "test", Host: route.Hostname()}
	if opts.Cluster.Port, err = strconv.Atoi(route.Port()); err != nil {
		t.Fatal(err)
	}
	return opts
}

// freeRoutes are addresses whose ports were free a moment ago: a JetStream cluster needs its routes before it starts.
func freeRoutes(t *testing.T, n int) []*url.URL {
	t.Helper()
	routes := make([]*url.URL, n)
	for i := range routes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		routes[i] = &url.URL{Scheme: "nats-route", Host: l.Addr().String()}
	}
	return routes
}

// TestCluster: with --replicas 3 every stream and bucket is replicated, and stays as it was made.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster with fourteen raft groups of three takes its time")
	}
	t.Parallel()
	dir, d := provisioned(t, "first")
	_, urls := cluster(t, d)
	space := []string{"provision", "space", "main", "--dir", dir, "--server", urls, "--timeout", patience.String(), "-o", "json"}
	out, _ := command(t, 0, append(space, "--replicas", "3")...)
	readPlan(t, out)
	out, _ = command(t, 0, append(space, "--replicas", "3")...)
	wantOnlyNone(t, out)
	out, _ = command(t, 0, space...) // the number is the space's
	wantOnlyNone(t, out)
	on := []string{"--server", urls, "--timeout", patience.String(), "-o", "json"}
	out, _ = command(t, 0, principalArgs("provision", dir, on...)...)
	readPlan(t, out)
	out, _ = command(t, 0, principalArgs("provision", dir, on...)...)
	wantOnlyNone(t, out)

	streams, consumers := 0, 0
	for _, account := range []string{"", "authority"} { // of the default topology
		js := admin(t, d, urls, "main", account)
		for s := range js.StreamsInfo() {
			streams++
			if s.Config.Replicas != 3 || s.Cluster == nil || len(s.Cluster.Replicas) != 2 {
				t.Errorf("stream %s: num_replicas %d, cluster %+v, want 3", s.Config.Name, s.Config.Replicas, s.Cluster)
			}
			for c := range js.ConsumersInfo(s.Config.Name) {
				consumers++
				if c.Cluster == nil || len(c.Cluster.Replicas) != 2 {
					t.Errorf("consumer %s/%s: cluster %+v, want two replicas beside its leader", s.Config.Name, c.Name, c.Cluster)
				}
			}
		}
	}
	if streams != 23 || consumers != 5 { // fanout and reader, dm_, dlv_, svc_
		t.Errorf("got %d streams and %d consumers, want 23 and 5", streams, consumers)
	}
	out, stderr := command(t, 3, append(space, "--replicas", "1")...)
	if readPlan(t, out).Applied || !strings.Contains(stderr, "nothing was applied") {
		t.Errorf("fewer replicas of what is create-or-verify: got %s%s, want a refusal", out, stderr)
	}
}
