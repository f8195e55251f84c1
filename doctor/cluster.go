package doctor

import (
	"cmp"
	"maps"
	"slices"
)

// cluster is what is known about the servers of one cluster.
type cluster struct {
	name     string
	members  []*member
	routed   map[string]string   // server id → name, over all routes that members report
	gateways map[string]bool     // server ids to which gateway connections of other clusters lead
	leafs    map[string]bool     // server names to which leaf node connections of other clusters' servers lead
	peers    map[string]bool     // server names of the JetStream meta group that belong here
	urls     map[string]bool     // configured route URLs
	named    map[string]Identity // by server id: at an address that the operator named, and not among the members
	unnamed  bool                // the meta group is larger than the peers that it names
	sources  sources
}

// sources says which sources spoke at all.
type sources struct{ routes, gateways, leafs, peers, urls bool }

func (v *view) cluster(name string) *cluster {
	c := v.clusters[name]
	if c == nil {
		c = &cluster{name: name, routed: map[string]string{}, gateways: map[string]bool{}, leafs: map[string]bool{}, peers: map[string]bool{},
			urls: map[string]bool{}, named: map[string]Identity{}}
		v.clusters[name] = c
	}
	return c
}

// addRoutes takes every route that a member reports; a member that reports its routes is one of the servers itself.
func (c *cluster) addRoutes() {
	for _, m := range c.members {
		if m.routes == nil || m.stranger {
			continue
		}
		c.sources.routes = true
		c.routed[m.ID] = m.Name
		for _, r := range m.routes.Routes {
			c.routed[r.ID] = r.Name
		}
	}
}

// addGateways takes the gateway connections that a member reports: each server of another cluster has one to some server of this one,
// so that together they name all of it.
func (v *view) addGateways(m *member) {
	if m.gateways == nil || m.stranger {
		return
	}
	for _, remote := range m.gateways.Clusters {
		c := v.cluster(remote.Cluster)
		c.sources.gateways = true
		for _, p := range remote.Peers {
			c.gateways[p.ID] = true
		}
	}
}

// addLeafs takes the leaf node connections that a member reports, for the cluster of the server at the other end. One that is bound to
// the system account leads to a server that answers as every other; until it has, its name stands for its cluster.
func (v *view) addLeafs(m *member) {
	if m.leafs == nil || m.stranger {
		return
	}
	for _, l := range m.leafs.Leafs {
		i := slices.IndexFunc(v.members, func(other *member) bool { return other.Name == l.Name && other.Cluster != m.Cluster })
		name := l.Name
		switch {
		case i >= 0:
			name = v.members[i].Cluster
		case m.varz == nil || l.Account != m.varz.SystemAccount:
			continue
		}
		c := v.cluster(name)
		c.sources.leafs, c.leafs[l.Name] = true, true
	}
}

// addConfigured takes the configured route URLs. They name addresses, not servers, so they can only confirm a number.
func (c *cluster) addConfigured() {
	for _, m := range c.members {
		if m.varz == nil || m.stranger {
			continue
		}
		for _, u := range m.varz.RouteURLs {
			c.urls[u] = true
		}
		if m.varz.ClusterPort == 0 {
			c.urls["without a cluster listener: "+m.ID] = true
		}
	}
	c.sources.urls = len(c.urls) > 0
}

// addPeers takes the meta group's servers. It spans the clusters of a supercluster: a peer belongs to the cluster that knows it, and
// one that no cluster knows is an orphan.
func (v *view) addPeers() {
	of := map[string][]*cluster{}
	for _, c := range v.clusters {
		for _, name := range c.known() {
			of[name] = append(of[name], c)
		}
	}
	orphans := map[string]bool{}
	for _, m := range v.members {
		if m.varz == nil || m.stranger || m.varz.JetStream == nil {
			continue
		}
		meta, c := m.varz.meta(), v.cluster(m.Cluster)
		if meta == nil && m.varz.ClusterPort != 0 {
			continue
		}
		c.sources.peers = true
		c.peers[m.Name] = true
		if meta == nil {
			continue
		}
		c.unnamed = c.unnamed || meta.Size != len(meta.Peers)+1
		for _, p := range meta.Peers {
			switch {
			case slices.Contains(of[p], c):
				c.peers[p] = true
			case of[p] == nil:
				orphans[p] = true
			}
		}
	}
	v.orphans = slices.Sorted(maps.Keys(orphans))
}

// adopt asks for each orphan in a cluster of which more servers are stated than are known, else in the connection's own.
func (v *view) adopt(e Expect) {
	for _, name := range v.orphans {
		into := v.cluster(v.home)
		for _, other := range slices.Sorted(maps.Keys(v.clusters)) {
			if c := v.clusters[other]; e.of(v, other) > len(c.members)+len(c.absent()) {
				into = c
				break
			}
		}
		into.sources.peers, into.peers[name] = true, true
	}
	v.orphans = nil
}

// known are the names of servers that answered or that a route leads to.
func (c *cluster) known() []string {
	names := slices.Collect(maps.Values(c.routed))
	for _, m := range c.members {
		names = append(names, m.Name)
	}
	return names
}

// missing are the servers that a connection between servers or the meta group names and that have not answered, each with the
// source that names it.
func (c *cluster) missing() []string {
	var out []string
	for _, a := range c.absent() {
		out = append(out, a.name+" (by "+a.source+")")
	}
	return out
}

const byAddress = "the address "

// absentee is a server that some source names and that has not answered.
type absentee struct{ name, source string }

func (c *cluster) absent() []absentee {
	ids, names := map[string]bool{}, map[string]bool{}
	for _, m := range c.members {
		ids[m.ID], names[m.Name] = true, true
	}
	var out []absentee
	add := func(id, name, source string) {
		if !ids[id] && !names[name] {
			out, names[name] = append(out, absentee{name, source}), true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.routed)) {
		if !ids[id] { // a server that came back under a new id is missing under the old one
			out, names[c.routed[id]], ids[id] = append(out, absentee{c.routed[id], "a route"}), true, true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.named)) {
		if !ids[id] {
			name := cmp.Or(c.named[id].Found.Name, id)
			out, names[name], ids[id] = append(out, absentee{name, byAddress + c.named[id].Address}), true, true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.peers)) {
		add("", name, "JetStream's peers")
	}
	for _, id := range slices.Sorted(maps.Keys(c.gateways)) {
		add(id, id, "a gateway")
	}
	for _, name := range slices.Sorted(maps.Keys(c.leafs)) {
		add("", name, "a leaf node connection")
	}
	slices.SortStableFunc(out, func(a, b absentee) int { return cmp.Compare(a.name, b.name) })
	return out
}

// agreeing are the sources that name exactly the servers that answered.
func (c *cluster) agreeing() []string {
	var out []string
	n, whole := len(c.members), len(c.absent()) == 0
	if c.sources.routes && len(c.routed) == n && whole {
		out = append(out, "routes")
	}
	if c.sources.gateways && len(c.gateways) == n && whole {
		out = append(out, "gateways")
	}
	if c.sources.leafs && len(c.leafs) == n && whole {
		out = append(out, "leaf node connections")
	}
	if c.sources.peers && !c.unnamed && len(c.peers) == n && whole {
		out = append(out, "JetStream peers")
	}
	if c.sources.urls && len(c.urls) == n {
		out = append(out, "configured route URLs")
	}
	return out
}
