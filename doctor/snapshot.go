package doctor

import (
	"encoding/json"
	"fmt"
	"io"
)

// SnapshotSchema names the JSON form of a [Snapshot].
const SnapshotSchema = "cotalctl/snapshot/v1"

// The requests of a round. Every server of the system account answers each of them.
const (
	SubjectVarz   = "$SYS.REQ.SERVER.PING.VARZ"
	SubjectRoutez = "$SYS.REQ.SERVER.PING.ROUTEZ"
)

// Snapshot is what one gathering saw, as evidence: nothing in it is judged yet.
type Snapshot struct {
	Schema      string `json:"schema"`      // SnapshotSchema
	Connected   Server `json:"connected"`   // the server of the connection, by its INFO
	Interrupted string `json:"interrupted"` // why the gathering ended before its time, or ""
	Varz        Round  `json:"varz"`
	Routez      Round  `json:"routez"`
}

// Round is one request with all of its answers.
type Round struct {
	Subject string   `json:"subject"`
	Refused string   `json:"refused"` // why the broker took no request, or ""
	Endless string   `json:"endless"` // which bound cut the answers off, or ""
	Answers []Answer `json:"answers"` // by server name, id and content
}

// Answer is one reply. Exactly one of Varz, Routez, Error and Malformed is set.
type Answer struct {
	Server    Server     `json:"server"` // by the reply's envelope; zero where that cannot be read
	Varz      *Varz      `json:"varz,omitempty"`
	Routez    *Routez    `json:"routez,omitempty"`
	Error     *APIError  `json:"error,omitempty"`
	Malformed *Malformed `json:"malformed,omitempty"`
}

// Server identifies a server. Cluster is "" for one that stands alone.
type Server struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Cluster string `json:"cluster"`
}

// APIError is an error that a server answered with.
type APIError struct {
	Code        int    `json:"code"`
	Description string `json:"description"`
}

// Malformed is a reply that is not what its request is answered with. Text is the beginning of it, at most 512 bytes.
type Malformed struct {
	Reason string `json:"reason"`
	Bytes  int    `json:"bytes"`
	Text   string `json:"text"`
}

// Varz is the part of a VARZ answer that checks read. Sizes are in bytes.
type Varz struct {
	MaxControlLine int      `json:"max_control_line"`
	MaxPayload     int      `json:"max_payload"`
	JetStream      bool     `json:"jetstream"`
	Meta           *Meta    `json:"meta,omitempty"` // nil: no JetStream cluster
	ClusterPort    int      `json:"cluster_port"`   // 0: takes no routes
	RouteURLs      []string `json:"route_urls"`     // as configured, sorted
	Gateway        string   `json:"gateway"`        // gateway name, or ""
	Leafs          bool     `json:"leafs"`          // listens for leaf nodes, or has a remote
}

// Meta is a server's view of the JetStream meta group.
type Meta struct {
	Size  int      `json:"size"`
	Peers []string `json:"peers"` // server names other than the one that answers, sorted
}

// Routez is a server's view of its routes.
type Routez struct {
	Routes []Route `json:"routes"` // one for each remote server, by name and id
}

// Route is the remote server of a route.
type Route struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Write writes the snapshot as indented JSON; the same snapshot gives the same bytes.
func (s *Snapshot) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

// ReadSnapshot reads what [Snapshot.Write] wrote. Another schema, an unknown field or an answer that is nothing or two things
// at once is an error.
func ReadSnapshot(r io.Reader) (*Snapshot, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	var s Snapshot
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	if s.Schema != SnapshotSchema {
		return nil, fmt.Errorf("snapshot schema, got %q, want %q", s.Schema, SnapshotSchema)
	}
	for _, a := range s.Varz.Answers {
		if a.Routez != nil || a.kinds() != 1 {
			return nil, fmt.Errorf("snapshot: answer of server %q to %s, got %d kinds of content, want one", a.Server.Name, SubjectVarz, a.kinds())
		}
	}
	for _, a := range s.Routez.Answers {
		if a.Varz != nil || a.kinds() != 1 {
			return nil, fmt.Errorf("snapshot: answer of server %q to %s, got %d kinds of content, want one", a.Server.Name, SubjectRoutez, a.kinds())
		}
	}
	return &s, nil
}

func (a Answer) kinds() int {
	n := 0
	for _, set := range []bool{a.Varz != nil, a.Routez != nil, a.Error != nil, a.Malformed != nil} {
		if set {
			n++
		}
	}
	return n
}
