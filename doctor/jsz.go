package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/cotalctl/cotalctl/internal/shape"
)

// Jsz is what one server holds of one account's streams.
type Jsz struct {
	Disabled bool     `json:"disabled"` // JetStream is off on the server
	Account  string   `json:"account"`  // public key, or "" where the server holds nothing of the account
	Streams  []Stream `json:"streams"`  // by name
}

// Stream is one copy of a stream.
type Stream struct {
	Name   string       `json:"name"`
	Config shape.Config `json:"config"`  // by the broker's names
	Group  *Group       `json:"cluster"` // nil: the server told none
}

// Group is a server's view of the servers that hold a stream or a consumer. Only the leader's view of the replicas is true.
type Group struct {
	Leader   string    `json:"leader"`   // server name, "" while there is none
	Replicas []Replica `json:"replicas"` // other than the one that tells, by name
}

// Replica is another server that holds the same.
type Replica struct {
	Name    string        `json:"name"` // of the server
	Current bool          `json:"current"`
	Offline bool          `json:"offline"`
	Lag     uint64        `json:"lag"` // operations behind
	Active  time.Duration `json:"active_ns"`
}

// Consumer is one copy of a consumer.
type Consumer struct {
	Name       string       `json:"name"`
	Config     shape.Config `json:"config"`
	Pending    uint64       `json:"num_pending"`
	AckPending int          `json:"num_ack_pending"`
	Group      *Group       `json:"cluster"`
}

// push is the subject to which a consumer delivers by itself, or "".
func (c *Consumer) push() string {
	s, _ := c.Config["deliver_subject"].(string)
	return s
}

func (c *Consumer) durable() bool {
	s, _ := c.Config["durable_name"].(string)
	return s != ""
}

// Consumerz is what one server holds of the consumers of one account.
type Consumerz struct {
	Disabled bool              `json:"disabled"`
	Account  string            `json:"account"`
	Streams  []StreamConsumers `json:"streams"` // that have a consumer there, by name
}

// StreamConsumers are consumers of one stream.
type StreamConsumers struct {
	Stream    string     `json:"stream"`
	Consumers []Consumer `json:"consumers"` // by name
}

// jszData is the data of a JSZ answer by the broker's own JSON names.
type jszData struct {
	ID       string `json:"server_id"`
	Disabled bool   `json:"disabled"`
	Accounts []struct {
		ID      string       `json:"id"`
		Streams []streamData `json:"stream_detail"`
	} `json:"account_details"`
}

// streamData is a stream in a JSZ answer and in one of STREAM.INFO.
type streamData struct {
	Name      string         `json:"name"`
	Config    shape.Config   `json:"config"`
	Cluster   *groupData     `json:"cluster"`
	Consumers []consumerData `json:"consumer_detail"`
}

type groupData struct {
	Leader   string `json:"leader"`
	Replicas []struct {
		Name    string        `json:"name"`
		Current bool          `json:"current"`
		Offline bool          `json:"offline"`
		Lag     uint64        `json:"lag"`
		Active  time.Duration `json:"active"`
	} `json:"replicas"`
}

type apiError struct {
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

type consumerData struct {
	Name       string       `json:"name"`
	Config     shape.Config `json:"config"`
	Pending    uint64       `json:"num_pending"`
	AckPending int          `json:"num_ack_pending"`
	Cluster    *groupData   `json:"cluster"`
}

// readJsz reads the answer about one account.
func readJsz(s Server, data []byte) (d jszData, why string) {
	if err := shape.Unmarshal(data, &d); err != nil {
		return d, "JSZ data is not readable"
	}
	if why := misattributed("JSZ", d.ID, s); why != "" {
		return d, why
	}
	if len(d.Accounts) > 1 {
		return d, fmt.Sprintf("JSZ data is of %d accounts, one was asked for", len(d.Accounts))
	}
	for _, a := range d.Accounts {
		for _, st := range a.Streams {
			if st.Name == "" || st.Config == nil {
				return d, "JSZ data has a stream without a name or without a configuration"
			}
			for _, c := range st.Consumers {
				if c.Name == "" || c.Config == nil {
					return d, "JSZ data has a consumer without a name or without a configuration"
				}
			}
		}
	}
	return d, ""
}

func (z *Jsz) decode(s Server, data []byte) string {
	d, why := readJsz(s, data)
	if why != "" {
		return why
	}
	*z = Jsz{Disabled: d.Disabled, Streams: []Stream{}}
	for _, a := range d.Accounts {
		z.Account = a.ID
		for _, st := range a.Streams {
			z.Streams = append(z.Streams, st.read())
		}
	}
	slices.SortFunc(z.Streams, func(a, b Stream) int { return compareText(a.Name, b.Name) })
	return ""
}

func (z *Consumerz) decode(s Server, data []byte) string {
	d, why := readJsz(s, data)
	if why != "" {
		return why
	}
	*z = Consumerz{Disabled: d.Disabled, Streams: []StreamConsumers{}}
	for _, a := range d.Accounts {
		z.Account = a.ID
		for _, st := range a.Streams {
			if len(st.Consumers) > 0 {
				z.Streams = append(z.Streams, StreamConsumers{st.Name, readConsumers(st.Consumers)})
			}
		}
	}
	slices.SortFunc(z.Streams, func(a, b StreamConsumers) int { return compareText(a.Stream, b.Stream) })
	return ""
}

func (d *streamData) read() Stream {
	return Stream{Name: d.Name, Config: d.Config, Group: d.Cluster.read()}
}

func readConsumers(in []consumerData) []Consumer {
	out := make([]Consumer, 0, len(in))
	for _, c := range in {
		out = append(out, Consumer{Name: c.Name, Config: c.Config, Pending: c.Pending, AckPending: c.AckPending, Group: c.Cluster.read()})
	}
	slices.SortFunc(out, func(a, b Consumer) int { return compareText(a.Name, b.Name) })
	return out
}

func (d *groupData) read() *Group {
	if d == nil {
		return nil
	}
	g := &Group{Leader: d.Leader, Replicas: []Replica{}}
	for _, r := range d.Replicas {
		g.Replicas = append(g.Replicas, Replica(r))
	}
	slices.SortFunc(g.Replicas, func(a, b Replica) int { return compareText(a.Name, b.Name) })
	return g
}
