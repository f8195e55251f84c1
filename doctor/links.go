package doctor

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// Routez is a server's view of its routes.
type Routez struct {
	Routes []Peer `json:"routes"` // one for each remote server, by name and id
}

// Peer is a server at the other end of a connection between servers. ID is "" where the broker tells the name alone.
type Peer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Gatewayz is a server's view of its gateway connections.
type Gatewayz struct {
	Name     string        `json:"name"` // of its own cluster, "" without a gateway
	Clusters []RemotePeers `json:"clusters"`
}

// RemotePeers are servers of another cluster to which a gateway connection leads, in either direction.
type RemotePeers struct {
	Cluster string `json:"cluster"`
	Peers   []Peer `json:"peers"` // by name and id
}

// Leafz is a server's view of its leaf node connections.
type Leafz struct {
	Leafs []Leaf `json:"leafs"` // by name and account
}

// Leaf is one leaf node connection.
type Leaf struct {
	Name    string `json:"name"`    // of the remote server
	Account string `json:"account"` // that it is bound to here
}

func comparePeers(a, b Peer) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) }

func compareText(a, b string) int { return cmp.Compare(a, b) }

func (z *Routez) decode(s Server, data []byte) string {
	var d struct {
		ID     string `json:"server_id"`
		Routes []struct {
			ID   string `json:"remote_id"`
			Name string `json:"remote_name"`
		} `json:"routes"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return "ROUTEZ data is not readable"
	}
	if why := misattributed("ROUTEZ", d.ID, s); why != "" {
		return why
	}
	z.Routes = []Peer{}
	for _, r := range d.Routes {
		if r.ID == "" {
			return "ROUTEZ data has a route to no server id"
		}
		z.Routes = append(z.Routes, Peer{ID: r.ID, Name: cmp.Or(r.Name, r.ID)})
	}
	slices.SortFunc(z.Routes, comparePeers)
	z.Routes = slices.Compact(z.Routes) // a pool of connections leads to each remote server
	return ""
}

// gatewayConn is one gateway connection. Its name is the id of the remote server.
type gatewayConn struct {
	Connection *struct {
		Name string `json:"name"`
	} `json:"connection"`
}

func (z *Gatewayz) decode(s Server, data []byte) string {
	var d struct {
		ID       string                   `json:"server_id"`
		Name     string                   `json:"name"`
		Outbound map[string]*gatewayConn  `json:"outbound_gateways"`
		Inbound  map[string][]gatewayConn `json:"inbound_gateways"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return "GATEWAYZ data is not readable"
	}
	if why := misattributed("GATEWAYZ", d.ID, s); why != "" {
		return why
	}
	peers := map[string][]Peer{}
	add := func(cluster string, c *gatewayConn) {
		if c != nil && c.Connection != nil && c.Connection.Name != "" {
			peers[cluster] = append(peers[cluster], Peer{ID: c.Connection.Name})
		}
	}
	for cluster, c := range d.Outbound {
		add(cluster, c)
	}
	for cluster, list := range d.Inbound {
		for _, c := range list {
			add(cluster, &c)
		}
	}
	z.Name, z.Clusters = d.Name, []RemotePeers{}
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		slices.SortFunc(peers[name], comparePeers)
		z.Clusters = append(z.Clusters, RemotePeers{name, slices.Compact(peers[name])})
	}
	return ""
}

func (z *Leafz) decode(s Server, data []byte) string {
	var d struct {
		ID    string `json:"server_id"`
		Leafs []struct {
			Name    string `json:"name"`
			Account string `json:"account"`
		} `json:"leafs"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return "LEAFZ data is not readable"
	}
	if why := misattributed("LEAFZ", d.ID, s); why != "" {
		return why
	}
	z.Leafs = []Leaf{}
	for _, l := range d.Leafs {
		z.Leafs = append(z.Leafs, Leaf(l))
	}
	slices.SortFunc(z.Leafs, func(a, b Leaf) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Account, b.Account)) })
	return ""
}
