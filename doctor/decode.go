package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// shown bounds the text of a malformed reply that is kept as evidence, in bytes.
const shown = 512

// envelope is what a server wraps every monitoring answer in.
type envelope struct {
	Server *struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Version string `json:"ver"`
		Cluster string `json:"cluster"`
	} `json:"server"`
	Data  json.RawMessage `json:"data"`
	Error *APIError       `json:"error"`
}

// decode reads one reply to subject. What it cannot read becomes a malformed answer, never an error: a reply is evidence.
func decode(subject string, body []byte) Answer {
	var env envelope
	if err := json.Unmarshal(body, &env); err != nil {
		return malformed(Server{}, body, "not a JSON answer")
	}
	if env.Server == nil || env.Server.ID == "" || env.Server.Name == "" || env.Server.Version == "" {
		return malformed(Server{}, body, "names no server")
	}
	a := Answer{Server: Server{ID: env.Server.ID, Name: env.Server.Name, Version: env.Server.Version, Cluster: env.Server.Cluster}}
	if env.Error != nil {
		a.Error = env.Error
		return a
	}
	var reason string
	if subject == SubjectVarz {
		a.Varz, reason = decodeVarz(a.Server, env.Data)
	} else {
		a.Routez, reason = decodeRoutez(a.Server, env.Data)
	}
	if reason != "" {
		return malformed(a.Server, body, reason)
	}
	return a
}

func malformed(s Server, body []byte, reason string) Answer {
	text := body[:min(len(body), shown)]
	return Answer{Server: s, Malformed: &Malformed{Reason: reason, Bytes: len(body), Text: strings.ToValidUTF8(string(text), "\uFFFD")}}
}

// varzData is the data of a VARZ answer by the broker's own JSON names.
type varzData struct {
	ID             string `json:"server_id"`
	Version        string `json:"version"`
	MaxControlLine int    `json:"max_control_line"`
	MaxPayload     int    `json:"max_payload"`
	Cluster        struct {
		Port int      `json:"cluster_port"`
		URLs []string `json:"urls"`
	} `json:"cluster"`
	Gateway struct {
		Name string `json:"name"`
	} `json:"gateway"`
	Leaf struct {
		Port    int               `json:"port"`
		Remotes []json.RawMessage `json:"remotes"`
	} `json:"leaf"`
	JetStream struct {
		Config *json.RawMessage `json:"config"`
		Meta   *metaData        `json:"meta"`
	} `json:"jetstream"`
}

type metaData struct {
	Leader   string `json:"leader"`
	Size     int    `json:"cluster_size"`
	Replicas []struct {
		Name string `json:"name"`
	} `json:"replicas"`
}

func decodeVarz(s Server, data []byte) (*Varz, string) {
	var d varzData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, "VARZ data is not readable"
	}
	switch {
	case d.ID != s.ID:
		return nil, fmt.Sprintf("VARZ data is of server id %q, its envelope of %q", d.ID, s.ID)
	case d.Version != s.Version:
		return nil, fmt.Sprintf("VARZ data states version %q, its envelope %q", d.Version, s.Version)
	case d.MaxControlLine <= 0 || d.MaxPayload <= 0:
		return nil, "VARZ data states no max_control_line or no max_payload"
	}
	v := &Varz{
		MaxControlLine: d.MaxControlLine, MaxPayload: d.MaxPayload,
		JetStream:   d.JetStream.Config != nil,
		ClusterPort: d.Cluster.Port, RouteURLs: sortedSet(d.Cluster.URLs),
		Gateway: d.Gateway.Name, Leafs: d.Leaf.Port != 0 || len(d.Leaf.Remotes) > 0,
	}
	if m := d.JetStream.Meta; m != nil {
		v.Meta = &Meta{Size: m.Size, Peers: m.peers(s.Name)}
	}
	return v, ""
}

// peers are the leader and the replicas: a server leaves itself out of its own list.
func (m *metaData) peers(self string) []string {
	names := []string{}
	if m.Leader != "" && m.Leader != self {
		names = append(names, m.Leader)
	}
	for _, r := range m.Replicas {
		if r.Name != self {
			names = append(names, r.Name)
		}
	}
	return sortedSet(names)
}

func decodeRoutez(s Server, data []byte) (*Routez, string) {
	var d struct {
		ID     string `json:"server_id"`
		Routes []struct {
			ID   string `json:"remote_id"`
			Name string `json:"remote_name"`
		} `json:"routes"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, "ROUTEZ data is not readable"
	}
	if d.ID != s.ID {
		return nil, fmt.Sprintf("ROUTEZ data is of server id %q, its envelope of %q", d.ID, s.ID)
	}
	routes := []Route{}
	for _, r := range d.Routes {
		if r.ID == "" {
			return nil, "ROUTEZ data has a route to no server id"
		}
		routes = append(routes, Route{ID: r.ID, Name: cmp.Or(r.Name, r.ID)})
	}
	// A pool of connections leads to each remote server.
	slices.SortFunc(routes, func(a, b Route) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return &Routez{Routes: slices.Compact(routes)}, ""
}

func sortedSet(in []string) []string {
	out := append([]string{}, in...)
	slices.Sort(out)
	return slices.Compact(out)
}

// sortAnswers puts a round in the order that a snapshot has, whatever order the network had.
func sortAnswers(answers []Answer) {
	slices.SortStableFunc(answers, func(a, b Answer) int {
		return cmp.Or(cmp.Compare(a.Server.Name, b.Server.Name), cmp.Compare(a.Server.ID, b.Server.ID),
			cmp.Compare(a.content(), b.content()))
	})
}

// content is the answer as text that is equal exactly for equal answers.
func (a Answer) content() string {
	text, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
