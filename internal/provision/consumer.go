package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// consumers plans the durables that stand with the space.
func (p *planner) consumers(ctx context.Context) error {
	for _, d := range contract.Sorted(p.space.Contract.Consumers) {
		if !d.Standing || !p.here(d.Resource) {
			continue
		}
		if err := p.durable(ctx, d, p.scope, 0); err != nil {
			return fmt.Errorf("%s: consumer %s: %w", d.Pos, d.ID, err)
		}
	}
	return nil
}

// mutable are the consumer settings that an update may repair; a difference in any other one means that it is another consumer.
var mutable = []string{"ack_wait", "max_deliver", "max_ack_pending", "max_waiting", "inactive_threshold", "num_replicas", "description", "backoff"}

// durable plans one durable; frontier is the sequence after which one that starts there begins.
func (p *planner) durable(ctx context.Context, d *contract.Consumer, s *compile.Scope, frontier uint64) error {
	stream, declared, err := consumerConfig(s, d, frontier)
	if err != nil {
		return err
	}
	name := declared["name"].(string)
	a := Action{Kind: KindConsumer, Name: stream + "/" + name, Account: p.account, Action: Create, Diff: []string{}}
	var actual config
	if p.conn != nil {
		if actual, err = p.conn.consumerConfig(ctx, stream, name); err != nil {
			return err
		}
	}
	verb := "create"
	if actual != nil {
		verb = "update"
		decideConsumer(&a, diffConsumer(actual, declared))
	}
	a.apply = func(ctx context.Context) error {
		c, err := p.lazy(ctx)
		if err != nil {
			return err
		}
		return writeConsumer(ctx, c, verb, stream, name, declared)
	}
	p.actions = append(p.actions, a)
	return nil
}

func decideConsumer(a *Action, changes []Change) {
	a.Action = None
	for _, c := range changes {
		a.Diff = append(a.Diff, c.String())
		if !slices.Contains(mutable, c.Field) {
			a.Action, a.Reason = Refuse, c.Field+" of a durable cannot be changed in place: its pending deliveries would be another consumer's"
		} else if a.Action != Refuse {
			a.Action = Update
		}
	}
}

// serverFilled are consumer settings that the broker fills in; a difference counts only where the contract declares a value.
var serverFilled = []string{"max_ack_pending", "max_waiting", "replay_policy", "num_replicas", "metadata"}

// diffConsumer compares a durable with its declaration. Where it starts counts too: one that starts earlier than it may reads
// what came before its holder.
func diffConsumer(actual, declared config) []Change {
	return slices.DeleteFunc(diff(actual, declared), func(c Change) bool {
		return c.New == nil && slices.Contains(serverFilled, c.Field)
	})
}

// writeConsumer creates or updates a durable and compares what the broker made of it. The answer to a create carries the
// configuration in force. The first answer after a restart of the broker does not: it is the one that a create would have had
// then (measured), so that an update is read back.
func writeConsumer(ctx context.Context, c *Conn, verb, stream, name string, declared config) error {
	body := map[string]any{"stream_name": stream, "config": declared, "action": verb}
	var made struct {
		Config config `json:"config"`
	}
	tail := "CONSUMER.CREATE." + stream + "." + name + "." + declared["filter_subject"].(string)
	if err := c.api(ctx, tail, body, &made); err != nil {
		return err
	}
	if verb == "update" {
		var err error
		if made.Config, err = c.consumerConfig(ctx, stream, name); err != nil {
			return err
		}
	}
	if left := diffConsumer(made.Config, declared); len(left) > 0 {
		return fmt.Errorf("the broker changed what it was given: %v", left)
	}
	return nil
}

// consumerConfig reads a consumer's configuration; a missing consumer or stream is (nil, nil).
func (c *Conn) consumerConfig(ctx context.Context, stream, name string) (config, error) {
	var info struct {
		Config config `json:"config"`
	}
	err := c.api(ctx, "CONSUMER.INFO."+stream+"."+name, nil, &info)
	if isCode(err, codeConsumerNotFound) || isCode(err, codeStreamNotFound) {
		return nil, nil
	}
	return info.Config, err
}

// consumerConfig returns the stream and the complete configuration of a durable in a scope.
func consumerConfig(s *compile.Scope, d *contract.Consumer, frontier uint64) (string, config, error) {
	if d.Filter == nil {
		return "", nil, fmt.Errorf("a durable needs a filter, which the broker pins to the request")
	}
	out := config{}
	for k, v := range d.Config {
		out[k] = v
	}
	stream, err := s.StreamName(d.Resource)
	if err != nil {
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
	out["name"], out["durable_name"], out["filter_subject"] = name, name, filter
	switch d.Start {
	case contract.StartNew:
		out["deliver_policy"] = "new"
	case contract.StartAfterFrontier:
		// The start is inclusive and a lifecycle's interval half-open: begin strictly after the frontier.
		out["deliver_policy"], out["opt_start_seq"] = "by_start_sequence", json.Number(fmt.Sprint(frontier+1))
	default:
		out["deliver_policy"] = "all"
	}
	c, err := normalize(out)
	return stream, c, err
}
