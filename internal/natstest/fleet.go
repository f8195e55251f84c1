package natstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// Layout says which stock servers StartFleet runs.
type Layout struct {
	Clusters []Cluster // more than one are joined by gateways
	// Resolver is the source of the accounts: a directory per server, which takes pushes and starts with all accounts, or, false,
	// the configuration alone.
	FullResolver bool
	Accounts     []string // further accounts beside SYS and APP
	// Leaf "SYS" or "APP" adds a server "leaf", without JetStream, that joins the first server as a leaf node of that account.
	Leaf string
	// Edit, when set, returns the configuration that a server gets in place of the one given.
	Edit func(server, config string) string
}

// Fleet is a set of stock servers, each in a process of its own, with one operator. Account is the account APP, with JetStream.
type Fleet struct {
	Clusters [][]*Process // as in the layout
	Leaf     *Process     // nil without one
	Account  *Account
	System   *Account

	layout   Layout
	operator *operator
}

// StartProcesses runs a cluster "test" of n stock servers, n1 and so on, as processes. edit, when given, changes the configuration of
// each.
func StartProcesses(t testing.TB, n int, edit ...func(server, config string) string) *Fleet {
	t.Helper()
	return StartFleet(t, Layout{Clusters: []Cluster{{Name: "test", Size: n}}, Edit: func(server, config string) string {
		for _, f := range edit {
			config = f(server, config)
		}
		return config
	}})
}

// StartFleet runs the servers of a layout and returns when they all know each other and one JetStream spans them. The servers of a
// single cluster are called n1, n2 and so on, those of several like their cluster: east1.
func StartFleet(t testing.TB, layout Layout) *Fleet {
	t.Helper()
	o := newOperator(t)
	f := &Fleet{Account: o.account(t, "APP"), System: o.system, layout: layout, operator: o}
	for _, name := range layout.Accounts {
		o.account(t, name)
	}
	// Another process may take a port between the probe and the server's own listen: try again with others.
	for attempt := 1; ; attempt++ {
		err := f.launch(t)
		if err == nil {
			break
		}
		f.kill()
		if attempt == 5 || !strings.Contains(err.Error(), "address already in use") {
			t.Fatal(err)
		}
	}
	f.awaitWhole(t)
	return f
}

// Server is the server of that name.
func (f *Fleet) Server(t testing.TB, name string) *Process {
	t.Helper()
	for _, p := range f.All() {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("the fleet has no server %q", name)
	return nil
}

// All are the servers in the order of their start, the leaf node last.
func (f *Fleet) All() []*Process {
	var out []*Process
	for _, c := range f.Clusters {
		out = append(out, c...)
	}
	if f.Leaf != nil {
		out = append(out, f.Leaf)
	}
	return out
}

// URLs are the client URLs of the clusters' servers, separated by commas.
func (f *Fleet) URLs() string {
	var out []string
	for _, c := range f.Clusters {
		for _, p := range c {
			out = append(out, p.URL())
		}
	}
	return strings.Join(out, ",")
}

// AccountNamed is the account of that name.
func (f *Fleet) AccountNamed(t testing.TB, name string) *Account {
	t.Helper()
	for _, a := range f.operator.accounts {
		if a.Claims.Name == name {
			return a
		}
	}
	t.Fatalf("the fleet has no account %q", name)
	return nil
}

// Connect opens a nats.go connection to the server that is closed with the test, with asynchronous errors dropped unless opts set
// a handler.
func (p *Process) Connect(t testing.TB, c Creds, opts ...nats.Option) *nats.Conn {
	t.Helper()
	return connect(t, p.URL(), c, opts...)
}

// launch starts every server on fresh ports; on error some may run.
func (f *Fleet) launch(t testing.TB) error {
	t.Helper()
	f.Clusters, f.Leaf = make([][]*Process, len(f.layout.Clusters)), nil
	sites := make([]site, len(f.layout.Clusters))
	for i, c := range f.layout.Clusters {
		ports := freePorts(t, 2*c.Size)
		sites[i] = site{c, ports[:c.Size], ports[c.Size:]}
	}
	leafPort := freePorts(t, 1)[0]
	for i, s := range sites {
		for k := range s.Size {
			name, text := s.member(k, sites)
			if f.layout.Leaf != "" && i == 0 && k == 0 {
				text += fmt.Sprintf("leafnodes: { listen: \"127.0.0.1:%d\" }\n", leafPort)
			}
			f.Clusters[i] = append(f.Clusters[i], f.run(t, name, true, text))
		}
	}
	if f.layout.Leaf != "" {
		a := f.AccountNamed(t, f.layout.Leaf)
		f.Leaf = f.run(t, "leaf", false, fmt.Sprintf(
			"leafnodes: { remotes: [{ url: \"nats-leaf://127.0.0.1:%d\", account: %s, credentials: %q }] }\n",
			leafPort, a.PublicKey(), a.leafUser(t).File(t)))
	}
	for _, p := range f.All() {
		if err := p.awaitReady(); err != nil {
			return err
		}
	}
	return nil
}

// run writes the configuration of one server and starts it.
func (f *Fleet) run(t testing.TB, name string, jetStream bool, listeners string) *Process {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("server_name: %q\nlisten: \"127.0.0.1:-1\"\nmax_control_line: 65536\n", name)
	if jetStream {
		text += fmt.Sprintf("jetstream: { store_dir: %q }\n", filepath.Join(dir, "jetstream"))
	}
	text += fmt.Sprintf("operator: %q\nsystem_account: %s\n", must(f.operator.claims.Encode(f.operator.key))(t), f.System.PublicKey())
	if f.layout.FullResolver {
		// A long interval: a server that a push has missed stays as it is.
		text += fmt.Sprintf("resolver: { type: full, dir: %q, allow_delete: false, interval: \"1h\" }\n", filepath.Join(dir, "resolver"))
	} else {
		text += "resolver: MEMORY\n"
	}
	text += "resolver_preload: {\n"
	for _, a := range f.operator.accounts {
		text += fmt.Sprintf("  %s: %q\n", a.PublicKey(), a.JWT(t))
	}
	text += "}\n" + listeners
	if f.layout.Edit != nil {
		text = f.layout.Edit(name, text)
	}
	config := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, name: name, config: config}
	if err := p.launch(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func (f *Fleet) kill() {
	for _, p := range f.All() {
		p.Kill()
	}
}

// site is a cluster with the ports of its routes and gateways.
type site struct {
	Cluster
	routePorts, gatewayPorts []int
}

// member is the name of the i-th server of the site among all, and the part of its configuration that joins it to the others.
func (s site) member(i int, all []site) (name, text string) {
	if len(all) > 1 { // JetStream with a gateway wants routes, be it to itself
		return s.Name + strconv.Itoa(i+1), s.routes(i) + s.gateway(i, all)
	}
	if s.Size > 1 {
		text = s.routes(i)
	}
	return fmt.Sprintf("n%d", i+1), text
}

func (s site) routes(i int) string {
	return fmt.Sprintf("cluster: { name: %q, listen: \"127.0.0.1:%d\", routes: [%s] }\n", s.Name, s.routePorts[i], quoted("nats-route", s.routePorts))
}

func (s site) gateway(i int, all []site) string {
	var remotes []string
	for _, r := range all {
		remotes = append(remotes, fmt.Sprintf("{ name: %q, urls: [%s] }", r.Name, quoted("nats", r.gatewayPorts)))
	}
	return fmt.Sprintf("gateway: { name: %q, listen: \"127.0.0.1:%d\", gateways: [%s] }\n", s.Name, s.gatewayPorts[i], strings.Join(remotes, ", "))
}

func quoted(scheme string, ports []int) string {
	var out []string
	for _, u := range urls(scheme, ports) {
		out = append(out, strconv.Quote(u.String()))
	}
	return strings.Join(out, ", ")
}
