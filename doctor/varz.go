package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Varz is the part of a VARZ answer that checks read. Sizes are in bytes.
type Varz struct {
	Host           string          `json:"host"`         // that clients connect to, as configured
	Port           int             `json:"port"`         // 0: no listener for clients
	ConnectURLs    []string        `json:"connect_urls"` // host:port of every server that it advertises, itself included, sorted
	MaxControlLine int             `json:"max_control_line"`
	MaxPayload     int             `json:"max_payload"`
	AuthTimeout    time.Duration   `json:"auth_timeout_ns"`
	Now            time.Time       `json:"now"` // by the server's clock
	Digest         string          `json:"config_digest"`
	SystemAccount  string          `json:"system_account"`
	Operators      []string        `json:"operators"` // public keys of the trusted operators, sorted
	FeatureFlags   map[string]bool `json:"feature_flags"`
	ClusterPort    int             `json:"cluster_port"`  // 0: takes no routes
	RouteURLs      []string        `json:"route_urls"`    // as configured, sorted
	Gateway        string          `json:"gateway"`       // gateway name, or ""
	GatewayURLs    []Remote        `json:"gateways"`      // configured remote clusters by name
	LeafPort       int             `json:"leaf_port"`     // 0: takes no leaf nodes
	LeafAccounts   []string        `json:"leaf_accounts"` // local account of each remote that it connects to, sorted
	MQTTPort       int             `json:"mqtt_port"`     // 0: takes no MQTT clients
	Between        []Listener      `json:"between"`       // its listeners for other servers, by kind
	TLS            []Certificate   `json:"tls"`           // by listener
	JetStream      *JetStream      `json:"jetstream"`     // nil: off
}

// Remote is a cluster that a gateway is configured to connect to.
type Remote struct {
	Name string   `json:"name"`
	URLs []string `json:"urls"`
}

// Listener takes connections of other servers.
type Listener struct {
	Kind string `json:"kind"` // cluster, gateway, leaf
	Host string `json:"host"` // as configured
	TLS  bool   `json:"tls"`  // it requires TLS
}

// Certificate is the TLS certificate of a listener.
type Certificate struct {
	Listener string    `json:"listener"` // client, cluster, gateway, leaf, mqtt, websocket
	NotAfter time.Time `json:"not_after"`
}

// JetStream is the JetStream of one server. A MaxMemory or MaxStore below 0 is no limit, and so is a Most… of 0 or below.
type JetStream struct {
	Domain         string        `json:"domain"`
	Strict         bool          `json:"strict"` // it refuses requests with unknown fields
	MaxMemory      int64         `json:"max_memory"`
	MaxStore       int64         `json:"max_store"`
	Memory         uint64        `json:"memory"` // in use
	Store          uint64        `json:"store"`
	ReservedMemory uint64        `json:"reserved_memory"` // of streams with max_bytes
	ReservedStore  uint64        `json:"reserved_store"`
	HAAssets       int           `json:"ha_assets"` // replicated streams and consumers that it has
	APILevel       int           `json:"api_level"`
	MostConsumers  int           `json:"most_consumers"`     // of a stream that states no number of its own
	MostAckPending int           `json:"most_ack_pending"`   // that a consumer may ask for
	MostDuplicates time.Duration `json:"most_duplicates_ns"` // that a stream may ask for
	MostHAAssets   int           `json:"most_ha_assets"`     // that it takes
	Meta           *Meta         `json:"meta"`               // nil: no JetStream cluster
}

// Meta is a server's view of the JetStream meta group, which spans the clusters of a supercluster.
type Meta struct {
	Leader string   `json:"leader"` // server name, "" while there is none
	Size   int      `json:"size"`
	Peers  []string `json:"peers"` // server names other than the one that answers, sorted
}

// meta is the meta group as the server sees it, or nil.
func (v *Varz) meta() *Meta {
	if v.JetStream == nil {
		return nil
	}
	return v.JetStream.Meta
}

// varzData is the data of a VARZ answer by the broker's own JSON names.
type varzData struct {
	ID             string          `json:"server_id"`
	Version        string          `json:"version"`
	Host           string          `json:"host"`
	Port           int             `json:"port"`
	ConnectURLs    []string        `json:"connect_urls"`
	MaxControlLine int             `json:"max_control_line"`
	MaxPayload     int             `json:"max_payload"`
	AuthTimeout    float64         `json:"auth_timeout"`
	Now            time.Time       `json:"now"`
	Digest         string          `json:"config_digest"`
	SystemAccount  string          `json:"system_account"`
	FeatureFlags   map[string]bool `json:"feature_flags"`
	Operators      []struct {
		Subject string `json:"sub"`
	} `json:"trusted_operators_claim"`
	TLS     time.Time `json:"tls_cert_not_after"`
	Cluster struct {
		Port int       `json:"cluster_port"`
		Host string    `json:"addr"`
		URLs []string  `json:"urls"`
		TLS  time.Time `json:"tls_cert_not_after"`
		Need bool      `json:"tls_required"`
	} `json:"cluster"`
	Gateway struct {
		Name     string    `json:"name"`
		Gateways []Remote  `json:"gateways"`
		Host     string    `json:"host"`
		Port     int       `json:"port"`
		TLS      time.Time `json:"tls_cert_not_after"`
		Need     bool      `json:"tls_required"`
	} `json:"gateway"`
	Leaf struct {
		Host    string    `json:"host"`
		Port    int       `json:"port"`
		TLS     time.Time `json:"tls_cert_not_after"`
		Need    bool      `json:"tls_required"`
		Remotes []struct {
			Account string `json:"local_account"`
		} `json:"remotes"`
	} `json:"leaf"`
	MQTT struct {
		Port int       `json:"port"`
		TLS  time.Time `json:"tls_cert_not_after"`
	} `json:"mqtt"`
	Websocket struct {
		TLS time.Time `json:"tls_cert_not_after"`
	} `json:"websocket"`
	JetStream jetstreamData `json:"jetstream"`
}

type jetstreamData struct {
	Config *struct {
		MaxMemory int64  `json:"max_memory"`
		MaxStore  int64  `json:"max_storage"`
		Domain    string `json:"domain"`
		Strict    bool   `json:"strict"`
	} `json:"config"`
	Stats struct {
		Memory         uint64 `json:"memory"`
		Store          uint64 `json:"storage"`
		ReservedMemory uint64 `json:"reserved_memory"`
		ReservedStore  uint64 `json:"reserved_storage"`
		HAAssets       int    `json:"ha_assets"`
		API            struct {
			Level int `json:"level"`
		} `json:"api"`
	} `json:"stats"`
	Limits struct {
		Consumers  int           `json:"default_max_consumers"`
		AckPending int           `json:"max_ack_pending"`
		Duplicates time.Duration `json:"max_duplicate_window"`
		HAAssets   int           `json:"max_ha_assets"`
	} `json:"limits"`
	Meta *struct {
		Leader   string `json:"leader"`
		Size     int    `json:"cluster_size"`
		Replicas []struct {
			Name string `json:"name"`
		} `json:"replicas"`
	} `json:"meta"`
}

func (v *Varz) decode(s Server, data []byte) string {
	var d varzData
	if err := json.Unmarshal(data, &d); err != nil {
		return "VARZ data is not readable"
	}
	if why := misattributed("VARZ", d.ID, s); why != "" {
		return why
	}
	switch {
	case d.Version != s.Version:
		return fmt.Sprintf("VARZ data states version %q, its envelope %q", d.Version, s.Version)
	case d.MaxControlLine <= 0 || d.MaxPayload <= 0:
		return "VARZ data states no max_control_line or no max_payload"
	case d.Now.IsZero():
		return "VARZ data states no time"
	}
	*v = Varz{
		Host: d.Host, Port: d.Port, ConnectURLs: sortedSet(d.ConnectURLs),
		MaxControlLine: d.MaxControlLine, MaxPayload: d.MaxPayload, AuthTimeout: time.Duration(d.AuthTimeout * float64(time.Second)),
		Now: d.Now.UTC(), Digest: d.Digest, SystemAccount: d.SystemAccount, FeatureFlags: d.FeatureFlags,
		ClusterPort: d.Cluster.Port, RouteURLs: sortedSet(d.Cluster.URLs),
		Gateway: d.Gateway.Name, GatewayURLs: append([]Remote{}, d.Gateway.Gateways...),
		LeafPort: d.Leaf.Port, MQTTPort: d.MQTT.Port, Between: d.between(), TLS: d.certificates(), JetStream: d.JetStream.read(s.Name),
	}
	if v.FeatureFlags == nil {
		v.FeatureFlags = map[string]bool{}
	}
	slices.SortFunc(v.GatewayURLs, func(a, b Remote) int { return compareText(a.Name, b.Name) })
	var operators, leafs []string
	for _, o := range d.Operators {
		operators = append(operators, o.Subject)
	}
	for _, r := range d.Leaf.Remotes {
		leafs = append(leafs, r.Account)
	}
	v.Operators, v.LeafAccounts = sortedSet(operators), append([]string{}, leafs...)
	slices.Sort(v.LeafAccounts)
	return ""
}

func (d *varzData) between() []Listener {
	out := []Listener{}
	add := func(port int, l Listener) {
		if port != 0 {
			out = append(out, l)
		}
	}
	add(d.Cluster.Port, Listener{"cluster", d.Cluster.Host, d.Cluster.Need})
	add(d.Gateway.Port, Listener{"gateway", d.Gateway.Host, d.Gateway.Need})
	add(d.Leaf.Port, Listener{"leaf", d.Leaf.Host, d.Leaf.Need})
	return out
}

func (d *varzData) certificates() []Certificate {
	ends := map[string]time.Time{"client": d.TLS, "cluster": d.Cluster.TLS, "gateway": d.Gateway.TLS, "leaf": d.Leaf.TLS,
		"mqtt": d.MQTT.TLS, "websocket": d.Websocket.TLS}
	out := []Certificate{}
	for _, name := range slices.Sorted(maps.Keys(ends)) {
		if !ends[name].IsZero() {
			out = append(out, Certificate{name, ends[name].UTC()})
		}
	}
	return out
}

func (d *jetstreamData) read(self string) *JetStream {
	if d.Config == nil {
		return nil
	}
	js := &JetStream{
		Domain: d.Config.Domain, Strict: d.Config.Strict, MaxMemory: d.Config.MaxMemory, MaxStore: d.Config.MaxStore,
		Memory: d.Stats.Memory, Store: d.Stats.Store, ReservedMemory: d.Stats.ReservedMemory, ReservedStore: d.Stats.ReservedStore,
		HAAssets: d.Stats.HAAssets, APILevel: d.Stats.API.Level, MostConsumers: d.Limits.Consumers,
		MostAckPending: d.Limits.AckPending, MostDuplicates: d.Limits.Duplicates, MostHAAssets: d.Limits.HAAssets,
	}
	if m := d.Meta; m != nil {
		// The leader and the replicas: a server leaves itself out of its own list.
		names := []string{m.Leader}
		for _, r := range m.Replicas {
			names = append(names, r.Name)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == "" || n == self })
		js.Meta = &Meta{Leader: m.Leader, Size: m.Size, Peers: sortedSet(names)}
	}
	return js
}
