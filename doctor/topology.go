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
	members   []*member // one for each server id that answered VARZ, by name and id
	malformed []stray   // of every round
	clusters  map[string]*cluster
	reached   map[string]bool // server ids to which connections between servers lead, from the connection's own server on
	linked    bool            // somebody reported such connections
	inner     map[string]bool // what core returns, once it was asked
	orphans   []string        // names of JetStream peers that no cluster knows, sorted; see adopt
}

// stray is a reply that could not be read.
type stray struct {
	server Server
	*Malformed
}

// member is a server that answered VARZ, with everything that it said.
type member struct {
	Server
	after     Answer[Varz] // its first answer, whatever it holds
	varz      *Varz        // nil with an error answer, a malformed or a second, differing one
	err       *APIError    // set with an error answer
	routes    *Routez      // nil without an answer, as the following
	gateways  *Gatewayz
	leafs     *Leafz
	conflict  bool // two differing answers to one request
	malformed string
	stranger  bool // no connection between servers leads to it
}

func newView(s *Snapshot) *view {
	v := &view{home: s.Connected.Cluster, connected: s.Connected, clusters: map[string]*cluster{}}
	v.collect(s)
	for _, m := range v.members {
		c := v.cluster(m.Cluster)
		c.members = append(c.members, m)
	}
	v.reach()
	for _, c := range v.clusters {
		c.addRoutes()
	}
	for _, m := range v.members {
		v.addGateways(m)
		v.addLeafs(m)
	}
	for _, c := range v.clusters {
		c.addConfigured()
	}
	v.addPeers()
	v.addNamed(s)
	return v
}

// collect makes a member of every server that answered VARZ and reads what it said elsewhere.
func (v *view) collect(s *Snapshot) {
	byID := map[string]*member{}
	for _, a := range s.Varz.Answers {
		if a.Server.ID == "" || byID[a.Server.ID] != nil {
			continue
		}
		m := &member{Server: a.Server, after: a, err: a.Error}
		if a.Malformed != nil {
			m.malformed = a.Malformed.Reason
		}
		byID[m.ID] = m
	}
	v.members = slices.SortedFunc(maps.Values(byID), func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	join(v, s.Varz, byID, func(m *member, d *Varz) { m.varz = d })
	join(v, s.Routez, byID, func(m *member, d *Routez) { m.routes = d })
	join(v, s.Gatewayz, byID, func(m *member, d *Gatewayz) { m.gateways = d })
	join(v, s.Leafz, byID, func(m *member, d *Leafz) { m.leafs = d })
	for i := range s.Accounts {
		a := &s.Accounts[i]
		join(v, a.Streams, byID, func(*member, *Jsz) {})
		join(v, a.Consumers, byID, func(*member, *Consumerz) {})
	}
	for _, m := range byID {
		if m.conflict {
			m.forget()
		}
	}
}

// forget drops what a member said: whose answer is whose, nobody can tell.
func (m *member) forget() { m.varz, m.err, m.routes, m.gateways, m.leafs = nil, nil, nil, nil, nil }

// join hands every member the content of its answer in a round. Two that differ are a conflict.
func join[T any](v *view, r Round[T], byID map[string]*member, set func(*member, *T)) {
	first := map[string]*Answer[T]{}
	for i := range r.Answers {
		a := &r.Answers[i]
		if a.Malformed != nil {
			v.malformed = append(v.malformed, stray{a.Server, a.Malformed})
		}
		m := byID[a.Server.ID]
		if m == nil {
			continue
		}
		if was := first[m.ID]; was != nil && was.content() != a.content() || a.Server != m.Server {
			m.conflict = true
		}
		first[m.ID] = a
		set(m, a.Data)
	}
}

// reach follows the connections that servers report, from the connection's own server on, whose INFO nobody can forge.
func (v *view) reach() {
	v.reached = v.walk(func(m *member) []Peer {
		v.linked = v.linked || m.routes != nil
		return m.links()
	})
	for _, m := range v.members {
		m.stranger = v.linked && !v.reached[m.ID]
	}
}

// core are the ids of the servers to which routes and gateways lead from the connection's own server on. It is for the judging, which
// asks for every server: once contradictions are known, it stays as it is.
func (v *view) core() map[string]bool {
	if v.inner == nil {
		v.inner = v.walk((*member).serverPeers)
	}
	return v.inner
}

// walk is the ids of the members to which links lead from the connection's own server on, that server among them.
func (v *view) walk(links func(*member) []Peer) map[string]bool {
	found := map[string]bool{v.connected.ID: true}
	for todo := []string{v.connected.ID}; len(todo) > 0; todo = todo[1:] {
		for _, m := range v.members {
			if m.ID != todo[0] {
				continue
			}
			for _, p := range links(m) {
				for _, other := range v.members {
					if (other.ID == p.ID || p.ID == "" && other.Name == p.Name) && !found[other.ID] {
						found[other.ID], todo = true, append(todo, other.ID)
					}
				}
			}
		}
	}
	return found
}

// links are the servers to which a member's own connections lead.
func (m *member) links() []Peer {
	out := m.serverPeers()
	if m.leafs != nil {
		for _, l := range m.leafs.Leafs {
			out = append(out, Peer{Name: l.Name})
		}
	}
	return out
}

// serverPeers are the servers to which a member's own routes and gateway connections lead.
func (m *member) serverPeers() []Peer {
	var out []Peer
	if m.routes != nil {
		out = append(out, m.routes.Routes...)
	}
	if m.gateways != nil {
		for _, c := range m.gateways.Clusters {
			out = append(out, c.Peers...)
		}
	}
	return out
}

// settled reports whether the sets of servers are known and each has answered every request that the broker takes.
func (v *view) settled(unanswered func(id string) string, e Expect) bool {
	if v.clusters[v.home] == nil {
		return false
	}
	v.adopt(e)
	for _, m := range v.members {
		if unanswered(m.ID) != "" {
			return false
		}
	}
	for name := range e.Clusters {
		v.cluster(name)
	}
	for name, c := range v.clusters {
		stated := e.of(v, name)
		switch {
		case len(c.absent()) > 0 || len(c.members) < stated:
			return false
		case stated > 0 && len(c.agreeing()) < 1, stated == 0 && len(c.agreeing()) < 2:
			return false
		}
	}
	for _, m := range v.members {
		if m.varz != nil && m.awaitsOthers(v) {
			return false
		}
	}
	return true
}

// awaitsOthers reports whether a member is configured to reach a cluster of which nothing has been heard yet.
func (m *member) awaitsOthers(v *view) bool {
	for _, r := range m.varz.GatewayURLs {
		if r.Name != m.Cluster && (v.clusters[r.Name] == nil || len(v.clusters[r.Name].members) == 0) {
			return true
		}
	}
	return false
}
