package doctor

import (
	"cmp"
	"maps"
	"slices"
)

// view is a snapshot by server and cluster.
type view struct {
	home      string // cluster of the connection
	connected Server
	asked     bool      // for ROUTEZ, and the broker took the request
	members   []*member // one for each server id that answered VARZ, by name and id
	malformed []Answer  // of both rounds
	clusters  map[string]*cluster
}

// member is a server that answered VARZ, with everything that it said.
type member struct {
	Server
	varz      *Varz     // nil with an error answer, a malformed or a second, differing one
	err       *APIError // set with an error answer
	routes    *Routez   // nil without a ROUTEZ answer
	answers   map[string]bool
	conflict  bool // two differing answers to one request
	malformed string
}

// cluster is what the answers of one cluster say about its servers.
type cluster struct {
	name    string
	members []*member
	routed  map[string]string // server id → name, over all routes that members report
	peers   map[string]bool   // server names of the JetStream meta group, those known to other clusters left out
	urls    map[string]bool   // configured route URLs
	unnamed bool              // the meta group is larger than the peers that it names
	sources sources
}

// sources says which sources spoke at all.
type sources struct{ routes, peers, urls bool }

func newView(s *Snapshot) *view {
	v := &view{home: s.Connected.Cluster, connected: s.Connected, asked: s.Routez.Refused == "", clusters: map[string]*cluster{}}
	byID := map[string]*member{}
	for _, a := range s.Varz.Answers {
		v.addVarz(byID, a)
	}
	for _, a := range s.Routez.Answers {
		v.addRoutez(byID, a)
	}
	v.members = slices.SortedFunc(maps.Values(byID), func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	for _, m := range v.members {
		c := v.cluster(m.Cluster)
		c.members = append(c.members, m)
	}
	for _, c := range v.clusters {
		c.addRoutes()
	}
	for _, c := range v.clusters {
		c.addConfigured()
		c.addPeers(v)
	}
	return v
}

func (v *view) cluster(name string) *cluster {
	c := v.clusters[name]
	if c == nil {
		c = &cluster{name: name, routed: map[string]string{}, peers: map[string]bool{}, urls: map[string]bool{}}
		v.clusters[name] = c
	}
	return c
}

func (v *view) addVarz(byID map[string]*member, a Answer) {
	if a.Malformed != nil {
		v.malformed = append(v.malformed, a)
	}
	if a.Server.ID == "" {
		return
	}
	m := byID[a.Server.ID]
	if m == nil {
		m = &member{Server: a.Server, answers: map[string]bool{}, varz: a.Varz, err: a.Error}
		byID[a.Server.ID] = m
	}
	if a.Malformed != nil {
		m.malformed = a.Malformed.Reason
	}
	m.answers[a.content()] = true
	if len(m.answers) > 1 {
		m.conflict, m.varz, m.err = true, nil, nil
	}
}

func (v *view) addRoutez(byID map[string]*member, a Answer) {
	if a.Malformed != nil {
		v.malformed = append(v.malformed, a)
	}
	m := byID[a.Server.ID]
	if m == nil || a.Routez == nil {
		return
	}
	if m.routes != nil && !slices.Equal(m.routes.Routes, a.Routez.Routes) {
		m.conflict, m.varz, m.err = true, nil, nil
	}
	m.routes = a.Routez
}

// addRoutes takes every route that a member reports; a member that reports its routes is one of the servers itself.
func (c *cluster) addRoutes() {
	for _, m := range c.members {
		if m.routes == nil {
			continue
		}
		c.sources.routes = true
		c.routed[m.ID] = m.Name
		for _, r := range m.routes.Routes {
			c.routed[r.ID] = r.Name
		}
	}
}

// addConfigured takes the configured route URLs. They name addresses, not servers, so they can only confirm a number.
func (c *cluster) addConfigured() {
	for _, m := range c.members {
		if m.varz == nil {
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

// addPeers takes the meta group's servers. It spans the clusters of a supercluster: a peer that another cluster knows is not
// missing here, and one that nobody knows is asked for in the connection's own cluster.
func (c *cluster) addPeers(v *view) {
	elsewhere := map[string]bool{}
	for _, other := range v.clusters {
		if other == c {
			continue
		}
		for _, name := range other.known() {
			elsewhere[name] = true
		}
	}
	here := map[string]bool{}
	for _, name := range c.known() {
		here[name] = true
	}
	for _, m := range c.members {
		if m.varz == nil || !m.varz.JetStream {
			continue
		}
		if m.varz.Meta == nil && m.varz.ClusterPort != 0 {
			continue
		}
		c.sources.peers = true
		c.peers[m.Name] = true
		if m.varz.Meta == nil {
			continue
		}
		c.unnamed = c.unnamed || m.varz.Meta.Size != len(m.varz.Meta.Peers)+1
		for _, p := range m.varz.Meta.Peers {
			if here[p] || (!elsewhere[p] && c.name == v.home) {
				c.peers[p] = true
			}
		}
	}
}

// known are the names of servers that answered or that a route leads to.
func (c *cluster) known() []string {
	names := slices.Collect(maps.Values(c.routed))
	for _, m := range c.members {
		names = append(names, m.Name)
	}
	return names
}

// missing are the servers that a route or the meta group names and that have not answered, each with the source that names it.
func (c *cluster) missing() []string {
	ids, names := map[string]bool{}, map[string]bool{}
	for _, m := range c.members {
		ids[m.ID], names[m.Name] = true, true
	}
	var out []string
	for id, name := range c.routed {
		if !ids[id] {
			out = append(out, name+" (by a route)")
			names[name] = true
		}
	}
	for name := range c.peers {
		if !names[name] {
			out = append(out, name+" (by JetStream's peers)")
		}
	}
	slices.Sort(out)
	return out
}

// agreeing are the sources that name exactly the servers that answered.
func (c *cluster) agreeing() []string {
	var out []string
	if c.sources.routes && len(c.routed) == len(c.members) && len(c.missing()) == 0 {
		out = append(out, "routes")
	}
	if c.sources.peers && !c.unnamed && len(c.peers) == len(c.members) && len(c.missing()) == 0 {
		out = append(out, "JetStream peers")
	}
	if c.sources.urls && len(c.urls) == len(c.members) {
		out = append(out, "configured route URLs")
	}
	return out
}

// unrouted are members whose id no route of another member leads to.
func (c *cluster) unrouted() []string {
	var out []string
	for _, m := range c.members {
		asked, found := false, false
		for _, other := range c.members {
			if other == m || other.routes == nil {
				continue
			}
			asked = true
			found = found || slices.ContainsFunc(other.routes.Routes, func(r Route) bool { return r.ID == m.ID })
		}
		if asked && !found {
			out = append(out, m.Name)
		}
	}
	return out
}

// settled reports whether the set of servers is known and each has answered both requests that the broker takes.
func (v *view) settled(servers int) bool {
	c := v.clusters[v.home]
	if c == nil {
		return false
	}
	for _, m := range v.members {
		if m.varz == nil || m.varz.Gateway != "" || m.varz.Leafs {
			return false // other clusters may answer, and nothing gathered here names them
		}
	}
	for _, m := range c.members {
		if v.asked && m.routes == nil {
			return false
		}
	}
	if len(c.missing()) > 0 {
		return false
	}
	if servers > 0 {
		return len(c.members) >= servers && len(c.agreeing()) >= 1
	}
	return len(c.agreeing()) >= 2
}
