package provision

import (
	"context"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// PlanRemoval plans the exact removal of one holder: the durables that do not outlive it, then its records. What exists is read
// as the creating profile; what is removed is removed as the removing one.
func (s *Session) PlanRemoval(ctx context.Context, name string, in compile.Input) (*Plan, error) {
	l, err := s.lifecycle(name, in)
	if err != nil {
		return nil, err
	}
	remover := &lifecycle{session: s, decl: l.decl, scope: l.scope, profile: l.decl.RemovedBy, conns: map[string]*Conn{},
		input: s.space.narrow(l.decl.RemovedBy, in)}
	plan := &Plan{Schema: PlanSchema, Space: s.space.Name, Actions: []Action{}}
	err = l.durables(func(d *contract.LifecycleDurable, c *contract.Consumer, scope *compile.Scope) error {
		if d.Keep {
			return nil
		}
		a, err := l.removeDurable(ctx, remover, c, scope)
		if err != nil {
			return err
		}
		plan.Actions = append(plan.Actions, a)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range l.decl.Records {
		a, err := l.removeRecord(ctx, remover, &l.decl.Records[i])
		if err != nil {
			return nil, err
		}
		plan.Actions = append(plan.Actions, a)
	}
	return plan, nil
}

func (l *lifecycle) removeDurable(ctx context.Context, remover *lifecycle, c *contract.Consumer, scope *compile.Scope) (Action, error) {
	stream, name, err := durableName(scope, c)
	if err != nil {
		return Action{}, err
	}
	account := scope.Account(c.Resource)
	conn, err := l.conn(ctx, account)
	if err != nil {
		return Action{}, err
	}
	actual, err := conn.consumerConfig(ctx, stream, name)
	if err != nil {
		return Action{}, err
	}
	a := Action{Kind: KindConsumer, Name: stream + "/" + name, Account: account, Action: Delete, Diff: []string{}}
	if actual == nil {
		a.Action = None
	}
	a.apply = func(ctx context.Context) error {
		c, err := remover.conn(ctx, account)
		if err != nil {
			return err
		}
		if err := c.api(ctx, "CONSUMER.DELETE."+stream+"."+name, nil, nil); !isCode(err, codeConsumerNotFound) {
			return err
		}
		return nil
	}
	return a, nil
}

func (l *lifecycle) removeRecord(ctx context.Context, remover *lifecycle, r *contract.LifecycleRecord) (Action, error) {
	bucket, key, conn, err := l.locate(ctx, r)
	if err != nil {
		return Action{}, err
	}
	existing, err := conn.get(ctx, bucket, key)
	if err != nil {
		return Action{}, err
	}
	a := Action{Kind: KindRecord, Name: bucket + "/" + key, Account: l.scope.Account(r.Bucket), Action: Delete, Diff: []string{}}
	if !existing.exists() {
		a.Action = None
	}
	a.apply = func(ctx context.Context) error {
		c, err := remover.conn(ctx, a.Account)
		if err != nil {
			return err
		}
		return c.del(ctx, bucket, key, existing)
	}
	return a, nil
}
