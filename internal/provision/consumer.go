package provision

import (
	"context"
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/shape"
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
	stream, declared, err := shape.ConsumerConfig(s, d, frontier)
	if err != nil {
		return err
	}
	name := declared["name"].(string)
	a := Action{Kind: KindConsumer, Name: stream + "/" + name, Account: p.account, Action: Create, Diff: []string{}}
	var actual shape.Config
	if p.conn != nil {
		if actual, err = p.conn.consumerConfig(ctx, stream, name); err != nil {
			return err
		}
	}
	verb := "create"
	if actual != nil {
		verb = "update"
		decideConsumer(&a, shape.DiffConsumer(actual, declared))
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

func decideConsumer(a *Action, changes []shape.Change) {
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

// writeConsumer creates or updates a durable and compares what the broker made of it. The answer to a create carries the
// configuration in force. The first answer after a restart of the broker does not: it is the one that a create would have had
// then (measured), so that an update is read back.
func writeConsumer(ctx context.Context, c *Conn, verb, stream, name string, declared shape.Config) error {
	body := map[string]any{"stream_name": stream, "config": declared, "action": verb}
	var made struct {
		Config shape.Config `json:"config"`
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
	if left := shape.DiffConsumer(made.Config, declared); len(left) > 0 {
		return fmt.Errorf("the broker changed what it was given: %v", left)
	}
	return nil
}

// consumerConfig reads a consumer's configuration; a missing consumer or stream is (nil, nil).
func (c *Conn) consumerConfig(ctx context.Context, stream, name string) (shape.Config, error) {
	var info struct {
		Config shape.Config `json:"config"`
	}
	err := c.api(ctx, "CONSUMER.INFO."+stream+"."+name, nil, &info)
	if isCode(err, codeConsumerNotFound) || isCode(err, codeStreamNotFound) {
		return nil, nil
	}
	return info.Config, err
}
