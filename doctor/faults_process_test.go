package doctor_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// lookingInto makes a stand look into the account of a space and the system account, and tells it what the operator knows of them.
func (s *stand) lookingInto(t *testing.T, app, system *natstest.Account) {
	t.Helper()
	s.app, s.system = app, system
	s.opts = doctor.Options{Timeout: 4 * time.Second, Servers: 3, Identify: true, Accounts: []doctor.Account{
		{Name: "space", Key: app.PublicKey()}, {Name: "system", Key: system.PublicKey()}}}
	s.expect = expected(t, app, system)
	s.expect.Servers, s.expect.Storage, s.expect.APILevel = 3, gib, 2
	s.floors = floors
}

func newProcessStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{t: t, fleet: natstest.StartProcesses(t, 3)}
	s.lookingInto(t, s.fleet.Account, s.fleet.System)
	s.nc = s.fleet.Server(t, "n1").Connect(t, s.system.User(t, accountGrants(), fit), nats.CustomInboxPrefix(inbox), nats.MaxReconnects(0))
	return s
}

func TestFaultsOfProcesses(t *testing.T) {
	t.Parallel()
	s := newProcessStand(t)
	if testing.Short() { // half a minute of restarts
		s.try(t, endedFaults())
		return
	}
	s.try(t, processFaults())
}

// reloaded changes the configuration of a server while it runs; restarted has it end and start again for that.
func (s *stand) reloaded(server string, edit func(config string) string) {
	s.configured(server, edit, func(p *natstest.Process, edit func(string) string) {
		p.Edit(edit)
		p.Reload()
	})
}

func (s *stand) restarted(server string, edit func(config string) string) {
	s.configured(server, edit, func(p *natstest.Process, edit func(string) string) {
		p.Kill()
		p.Edit(edit)
		p.Restart()
	})
	natstest.Await(s.t, func() string {
		if r := s.report(); !r.Complete {
			return "all servers"
		}
		return ""
	})
}

func (s *stand) configured(server string, edit func(config string) string, apply func(p *natstest.Process, edit func(string) string)) {
	s.t.Helper()
	p, before := s.fleet.Server(s.t, server), ""
	apply(p, func(config string) string {
		before = config
		after := edit(config)
		if after == config {
			s.t.Error("the configuration is as before")
		}
		return after
	})
	s.t.Cleanup(func() { apply(p, func(string) string { return before }) })
}

// ended is a fault of a process that does not run.
func ended(name, how, server, row string, do, undo func(p *natstest.Process)) injected {
	return injected{name, how + " to " + server, func(s *stand) {
		p := s.fleet.Server(s.t, server)
		do(p)
		s.t.Cleanup(func() { undo(p) })
		s.missing()
	}, []string{row}, nil, 0}
}

func processFaults() []injected {
	return append(endedFaults(), configFaults()...)
}

// endedFaults are those of a process that does not run.
func endedFaults() []injected {
	return []injected{
		ended("a node frozen", "SIGSTOP", "n2", "D001 -", (*natstest.Process).Freeze, (*natstest.Process).Thaw),
		ended("a node killed", "SIGKILL", "n2", "D001 -", (*natstest.Process).Kill, (*natstest.Process).Restart),
		ended("a node stopped in order", "SIGTERM", "n2", "D001 -", (*natstest.Process).Stop, (*natstest.Process).Restart),
	}
}

func lowLine(config string) string {
	return strings.Replace(config, "max_control_line: 65536", "max_control_line: 4096", 1)
}

func configFaults() []injected {
	add := func(text string) func(string) string {
		return func(config string) string { return config + text + "\n" }
	}
	reload := func(name, how, check string, edit func(string) string) injected {
		return injected{name, how + " on n2, SIGHUP", func(s *stand) { s.reloaded("n2", edit) }, []string{check}, nil, 0}
	}
	restart := func(name, how, check string, edit func(string) string) injected {
		return injected{name, how + " on n2, restarted", func(s *stand) { s.restarted("n2", edit) }, []string{check}, nil, 0}
	}
	claim := func(name, what, check string, skips []string, edit func(c *jwt.AccountClaims)) injected {
		return injected{name, what + " in the account JWT in the configuration of n2, SIGHUP", func(s *stand) {
			s.reloaded("n2", func(config string) string {
				return strings.Replace(config, s.app.JWT(s.t), s.app.Sign(s.t, time.Now().Add(-time.Hour), edit), 1)
			})
		}, []string{check + " n2 account space"}, skips, 0}
	}
	jetStream := regexp.MustCompile(`jetstream: \{[^}]*\}`)
	return []injected{
		reload("one low max_control_line", "`max_control_line: 4096`", "D004 n2", lowLine),
		reload("one low max_payload", "`max_payload: 65536`", "D005 n2", add("max_payload: 65536")),
		claim("a stale account JWT", "an older issue and a tag", "D021", nil, func(c *jwt.AccountClaims) { c.Tags.Add("old") }),
		claim("an undeclared mapping", "a mapping", "D023", []string{"n2"}, func(c *jwt.AccountClaims) {
			c.Mappings = jwt.Mapping{"a": {{Subject: "b"}}}
		}),
		restart("JetStream off on one", "no `jetstream` block", "D006 n2", func(config string) string { return jetStream.ReplaceAllString(config, "") }),
		restart("a leaf listener", "`leafnodes: { listen }`", "D012 n2", add(`leafnodes: { listen: "127.0.0.1:-1" }`)),
		restart("an MQTT listener", "`mqtt: { listen }`", "D013 n2", add(`mqtt: { listen: "127.0.0.1:-1" }`)),
		restart("a flag that moves acknowledgements", "`feature_flags: { js_ack_fc_v2: true }`", "D014 n2", add("feature_flags: { js_ack_fc_v2: true }")),
		restart("a store that is too small", "`max_file_store: 1MB`", "D008 n2", func(config string) string {
			return strings.Replace(config, "jetstream: {", "jetstream: { max_file_store: 1MB,", 1)
		}),
	}
}

// newSuperStand is two clusters, and a leaf node of the system account at the first server.
func newSuperStand(t *testing.T) *stand {
	t.Helper()
	clusters := natstest.StartSupercluster(t, []natstest.Cluster{{Name: "east", Size: 2}, {Name: "west", Size: 2}},
		only("east1", natstest.LeafListener), natstest.FullResolver(t))
	s := &stand{t: t, servers: append(append([]*natstest.Server{}, clusters[0]...), clusters[1]...)}
	hub := s.servers[0]
	s.app = hub.Account
	s.admitLeafs(0)
	s.servers = append(s.servers, s.leaf(t, "edge", hub.System))
	for _, n := range s.servers {
		n.SetJWT(t, hub.Account, hub.Account.JWT(t))
	}
	s.lookingInto(t, hub.Account, hub.System)
	s.nc = hub.Connect(t, s.system.User(t, accountGrants(), fit), nats.CustomInboxPrefix(inbox), nats.MaxReconnects(0))
	s.answering(5)
	s.joined("edge")
	return s
}

// admitLeafs signs the account anew, with so many leaf nodes that it admits. New servers and the first one take it so.
func (s *stand) admitLeafs(n int64) {
	s.t.Helper()
	s.servers[0].UpdateAccount(s.t, s.app, func(c *jwt.AccountClaims) { c.Limits.LeafNodeConn = n })
}

// joined tells a stand that its cluster of two is joined to another one and to a leaf node of the system account.
func (s *stand) joined(leaf string) {
	s.opts.Servers, s.expect.Servers = 2, 2
	s.stated(map[string]int{"west": 2, leaf: 1})
}

func newSuperProcessStand(t *testing.T) *stand {
	t.Helper()
	clusters := []natstest.Cluster{{Name: "east", Size: 2}, {Name: "west", Size: 2}}
	s := &stand{t: t, fleet: natstest.StartFleet(t, natstest.Layout{Clusters: clusters, Leaf: "SYS"})}
	s.lookingInto(t, s.fleet.Account, s.fleet.System)
	s.nc = s.fleet.Server(t, "east1").Connect(t, s.system.User(t, accountGrants(), fit), nats.CustomInboxPrefix(inbox), nats.MaxReconnects(0))
	s.joined("leaf")
	shut := s.app.Sign(t, time.Now(), func(c *jwt.AccountClaims) { c.Limits.LeafNodeConn = 0 })
	for _, p := range s.fleet.All() {
		p.Edit(func(config string) string { return strings.Replace(config, s.app.JWT(t), shut, 1) })
		p.Reload()
	}
	s.token = shut
	s.knows(shut)
	s.answering(5)
	return s
}

func TestFaultsOfASuperclusterOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("five processes that elect and restart")
	}
	t.Parallel()
	newSuperProcessStand(t).try(t, superProcessFaults())
}

func superProcessFaults() []injected {
	killed := func(name, server, cluster string) injected {
		f := ended(name, "SIGKILL", server, "D001 - cluster "+cluster, (*natstest.Process).Kill, (*natstest.Process).Restart)
		kill := f.inject
		// The gateways of others that led to it are made anew, to a server that is left: until then its cluster hears and says nothing.
		f.inject = func(s *stand) { kill(s); s.answering(4) }
		return f
	}
	return []injected{
		{"one low max_control_line in the other cluster", "`max_control_line: 4096` on west2, SIGHUP",
			func(s *stand) { s.reloaded("west2", lowLine) }, []string{"D004 west2"}, nil, 0},
		{"a stale account JWT in the other cluster", "an older issue and a tag in the account JWT in the configuration of west1, SIGHUP", func(s *stand) {
			s.reloaded("west1", func(config string) string {
				old := s.app.Sign(s.t, time.Now().Add(-time.Hour), func(c *jwt.AccountClaims) {
					c.Limits.LeafNodeConn = 0
					c.Tags.Add("old")
				})
				return strings.Replace(config, s.token, old, 1)
			})
		}, []string{"D021 west1 account space"}, nil, 0},
		killed("a node killed", "east2", "east"),
		killed("a node killed in the other cluster", "west1", "west"),
		killed("a leaf node killed", "leaf", "leaf"),
	}
}

// stated is the number of servers in each other cluster, as the operator states it.
func (s *stand) stated(clusters map[string]int) {
	s.opts.Clusters, s.expect.Clusters = clusters, clusters
}

// answering waits until so many servers answer.
func (s *stand) answering(n int) {
	s.t.Helper()
	natstest.Await(s.t, func() string {
		if got := len(natstest.Ping(s.t, s.nc, "VARZ", "", n+1, 300*time.Millisecond)); got != n {
			return fmt.Sprintf("answers: got %d, want %d", got, n)
		}
		return ""
	})
}

// leaf joins the first server as a leaf node of an account. Of the system account it knows no other.
func (s *stand) leaf(t *testing.T, name string, a *natstest.Account) *natstest.Server {
	t.Helper()
	edits := []func(*server.Options){func(o *server.Options) { o.ServerName = name }}
	if a == s.servers[0].System {
		edits = append(edits, natstest.FullResolver(t))
	}
	return s.servers[0].StartLeaf(t, a, edits...)
}

func TestFaultsOfASupercluster(t *testing.T) {
	t.Parallel()
	s := newSuperStand(t)
	s.try(t, superFaults())
}

func superFaults() []injected {
	stop := func(s *stand, name string) {
		n := s.server(name)
		n.Shutdown()
		n.WaitForShutdown()
		s.missing()
	}
	return []injected{
		{"one low max_control_line in the other cluster", "`max_control_line: 4096` on west2, reloaded",
			func(s *stand) { s.reload("west2", func(o *server.Options) { o.MaxControlLine = 4096 }) }, []string{"D004 west2"}, nil, 0},
		{"a leaf node in the account of the space", "the account's next JWT admits leaf nodes, and a server joins east1 in it", func(s *stand) {
			base := s.app.JWT(s.t)
			s.admitLeafs(-1)
			next := s.app.JWT(s.t)
			s.t.Cleanup(func() {
				s.admitLeafs(0)
				s.give(base, s.servers...)
			})
			s.give(next, s.servers...)
			s.knows(next)
			s.leaf(s.t, "stray", s.app)
		}, []string{"D012 east1"}, nil, 0},
		{"a leaf node that is not there", "two leaf nodes are stated",
			func(s *stand) { s.stated(map[string]int{"west": 2, "edge": 1, "edge2": 1}); s.missing() }, []string{"D001 - cluster edge2"}, nil, 0},
		{"a node down while another cluster makes the number right", "east2 is shut down, and a further leaf node answers in its place",
			func(s *stand) {
				s.leaf(s.t, "edge2", s.system)
				s.answering(6)
				stop(s, "east2")
				s.answering(5)
				s.stated(map[string]int{"west": 2, "edge": 1, "edge2": 1})
			}, []string{"D001 - cluster east"}, nil, 0},
	}
}
