package shape

import (
	"encoding/json"
	"fmt"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// Space is what a contract declares for one space in one topology. It may be used by several at the same time.
type Space struct {
	Streams  []Stream   // those of buckets too, by id
	Durables []Consumer // that stand with the space, by id

	c       *contract.Contract
	t       *contract.Topology
	scope   *compile.Scope
	namings []*naming
}

// Stream is a declared stream, or the one that backs a bucket.
type Stream struct {
	ID      string // of the resource
	Pos     contract.Pos
	Account string // of the topology
	Name    string // at the broker: a bucket's stream is KV_<bucket>
	Bucket  bool
	Update  bool // provisioning may update it; else it is create-or-verify
	Config  Config
	Protect []string // settings that no update may weaken
}

// Declare binds a contract to a space. Every stream has as many replicas; 0 is 1.
func Declare(c *contract.Contract, t *contract.Topology, space string, replicas int) (*Space, error) {
	scope, err := compile.NewScope(c, t, nil, compile.Input{Values: map[string]any{compile.SpaceParam: space}})
	if err != nil {
		return nil, err
	}
	s := &Space{c: c, t: t, scope: scope}
	for _, r := range contract.Sorted(c.Resources) {
		config, err := StreamConfig(scope, r, replicas)
		if err != nil {
			return nil, fmt.Errorf("%s: resource %s: %w", r.Pos, r.ID, err)
		}
		s.Streams = append(s.Streams, Stream{ID: r.ID, Pos: r.Pos, Account: scope.Account(r.ID), Name: config["name"].(string), Bucket: r.Bucket,
			Update: r.Update, Config: config, Protect: r.Protect})
	}
	for _, d := range contract.Sorted(c.Consumers) {
		if d.Standing {
			err = s.standing(d)
		} else {
			err = s.named(d)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: consumer %s: %w", d.Pos, d.ID, err)
		}
	}
	return s, s.rows()
}

// standing adds a durable that stands with the space.
func (s *Space) standing(d *contract.Consumer) error {
	stream, config, err := ConsumerConfig(s.scope, d, 0)
	if err != nil {
		return err
	}
	s.Durables = append(s.Durables, Consumer{ID: d.ID, Pos: d.Pos, Account: s.scope.Account(d.Resource), Stream: stream, Name: config["name"].(string),
		Standing: true, Config: config, Filters: []string{config["filter_subject"].(string)}, start: d.Start, latest: s.latest(d)})
	return nil
}

// StreamConfig is a resource's complete configuration in the scope of a space.
func StreamConfig(s *compile.Scope, r *contract.Resource, replicas int) (Config, error) {
	out := Config{}
	for k, v := range r.Config {
		out[k] = v
	}
	name, err := s.StreamName(r.ID)
	if err != nil {
		return nil, err
	}
	subjects := make([]string, 0, len(r.Subjects)+1)
	if r.Bucket {
		bucket, err := s.BucketName(r.ID)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, "$KV."+bucket+".>")
	}
	for _, t := range r.Subjects {
		text, err := s.Text(t)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, text)
	}
	out["name"], out["subjects"], out["num_replicas"] = name, subjects, max(1, replicas)
	return normalize(out)
}

// ConsumerConfig is the stream and the complete configuration of a declared consumer in a scope that binds its name and filter.
// frontier is the sequence after which one that starts there begins.
func ConsumerConfig(s *compile.Scope, d *contract.Consumer, frontier uint64) (stream string, config Config, err error) {
	if d.Filter == nil {
		return "", nil, fmt.Errorf("a durable needs a filter, which the broker pins to the request")
	}
	if stream, err = s.StreamName(d.Resource); err != nil {
		return "", nil, err
	}
	name, err := s.Text(d.Name)
	if err != nil {
		return "", nil, err
	}
	filter, err := s.Text(*d.Filter)
	if err != nil {
		return "", nil, err
	}
	out := settings(d, name)
	out["filter_subject"] = filter
	if d.Start == contract.StartAfterFrontier {
		// The start is inclusive and a lifecycle's interval half-open: begin strictly after the frontier.
		out["opt_start_seq"] = json.Number(fmt.Sprint(frontier + 1))
	}
	config, err = normalize(out)
	return stream, config, err
}

// settings are a consumer's but for its filter and the sequence at which it starts.
func settings(d *contract.Consumer, name string) Config {
	out := Config{}
	for k, v := range d.Config {
		out[k] = v
	}
	out["name"] = name
	if !d.Ephemeral {
		out["durable_name"] = name
	}
	switch d.Start {
	case contract.StartNew:
		out["deliver_policy"] = "new"
	case contract.StartAfterFrontier:
		out["deliver_policy"] = "by_start_sequence"
	default:
		out["deliver_policy"] = "all"
	}
	return out
}
