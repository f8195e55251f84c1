package provision

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/shape"
)

// lifecycle works on what one holder of a profile owns in the space.
type lifecycle struct {
	session *Session
	decl    *contract.Lifecycle
	scope   *compile.Scope
	profile string           // that does the work
	input   compile.Input    // of that profile
	conns   map[string]*Conn // by account; each credential is pinned to this one holder
}

// PlanLifecycle plans the records and durables of one holder: first the records, which fix the activation frontiers, then the
// durables that start after them, so that a run killed in between continues with the same frontiers.
func (s *Session) PlanLifecycle(ctx context.Context, name string, in compile.Input) (*Plan, error) {
	l, err := s.lifecycle(name, in)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Schema: PlanSchema, Space: s.space.Name, Actions: []Action{}}
	frontiers, err := l.frontiers(ctx)
	if err != nil {
		return nil, err
	}
	for i := range l.decl.Records {
		a, err := l.record(ctx, &l.decl.Records[i], frontiers)
		if err != nil {
			return nil, err
		}
		plan.Actions = append(plan.Actions, a)
	}
	err = l.durables(func(d *contract.LifecycleDurable, c *contract.Consumer, scope *compile.Scope) error {
		p := &planner{space: s.space, scope: scope, account: scope.Account(c.Resource)}
		if p.conn, err = l.conn(ctx, p.account); err != nil {
			return err
		}
		p.lazy = func(ctx context.Context) (*Conn, error) { return l.conn(ctx, p.account) }
		if err := p.durable(ctx, c, scope, frontiers[c.Resource]); err != nil {
			return err
		}
		plan.Actions = append(plan.Actions, p.actions...)
		return nil
	})
	return plan, err
}

// durables calls do for every durable of this holder, in the order of their declaration, each with the filter that it has here.
// Two of one name are refused: the second would take the first one over.
func (l *lifecycle) durables(do func(*contract.LifecycleDurable, *contract.Consumer, *compile.Scope) error) error {
	taken := map[string]bool{}
	for i := range l.decl.Durables {
		d := &l.decl.Durables[i]
		c := *l.session.space.Contract.Consumers[d.Consumer]
		if c.Filter == nil {
			c.Filter = d.Filter
		}
		err := l.scope.Each(d.Each, d.When, func(scope *compile.Scope) error {
			stream, name, err := durableName(scope, &c)
			if err != nil {
				return err
			}
			if taken[stream+"/"+name] {
				return fmt.Errorf("two durables of one name, got %s/%s, want a name for each", stream, name)
			}
			taken[stream+"/"+name] = true
			return do(d, &c, scope)
		})
		if err != nil {
			return err
		}
	}
	return l.scope.Unused()
}

// durableName is where a durable stands and its name there.
func durableName(s *compile.Scope, c *contract.Consumer) (stream, name string, err error) {
	if stream, err = s.StreamName(c.Resource); err != nil {
		return "", "", err
	}
	name, err = s.Text(c.Name)
	return stream, name, err
}

// lifecycle binds a declared lifecycle to a holder's parameters. The profile that does the work takes those of the holder's
// parameters that it declares itself.
func (s *Session) lifecycle(name string, in compile.Input) (*lifecycle, error) {
	decl, ok := s.space.Contract.Lifecycles[name]
	if !ok {
		return nil, fmt.Errorf("contract %s declares no lifecycle %q", s.space.Contract.Name, name)
	}
	scope, err := compile.NewScope(s.space.Contract, s.space.Topology, s.space.Contract.Profiles[decl.Profile], in)
	if err != nil {
		return nil, err
	}
	return &lifecycle{session: s, decl: decl, scope: scope, profile: decl.By, conns: map[string]*Conn{},
		input: s.space.narrow(decl.By, in)}, nil
}

// narrow keeps the parameters that a profile declares.
func (sp *Space) narrow(profile string, in compile.Input) compile.Input {
	out := compile.Input{Values: map[string]any{compile.SpaceParam: sp.Name}, Pos: in.Pos}
	for _, p := range sp.Contract.Profiles[profile].Params {
		if v, ok := in.Values[p.Name]; ok && p.Default != contract.DefaultUserKey {
			out.Values[p.Name] = v
		}
	}
	return out
}

func (l *lifecycle) conn(ctx context.Context, account string) (*Conn, error) {
	if c, ok := l.conns[account]; ok {
		return c, nil
	}
	c, err := l.session.space.Connect(ctx, account, l.profile, l.input)
	if err != nil {
		return nil, fmt.Errorf("connect to account %s as %s: %w", account, l.profile, err)
	}
	l.conns[account] = c
	l.session.pinned = append(l.session.pinned, c)
	return c, nil
}

func (l *lifecycle) locate(ctx context.Context, r *contract.LifecycleRecord) (bucket, key string, conn *Conn, err error) {
	if bucket, err = l.scope.BucketName(r.Bucket); err != nil {
		return
	}
	if key, err = l.scope.Text(r.Key); err != nil {
		return
	}
	conn, err = l.conn(ctx, l.scope.Account(r.Bucket))
	return
}

func (l *lifecycle) record(ctx context.Context, r *contract.LifecycleRecord, frontiers map[string]uint64) (Action, error) {
	bucket, key, conn, err := l.locate(ctx, r)
	if err != nil {
		return Action{}, err
	}
	v, err := l.scope.WithNumbers(frontierName, frontiers).Node(r.Value)
	if err != nil {
		return Action{}, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return Action{}, err
	}
	a := Action{Kind: KindRecord, Name: bucket + "/" + key, Account: l.scope.Account(r.Bucket), Action: Create, Diff: []string{}}
	existing, err := conn.get(ctx, bucket, key)
	if err != nil {
		return Action{}, err
	}
	if l.decl.Once && existing != nil && existing.deleted {
		// A lifecycle ends once: a successor takes an identity of its own, so that no credential or durable of the
		// retired one fits it.
		a.Action, a.Reason = Refuse, "this lifecycle was retired, and one is never reused: take a new identity"
		return a, nil
	}
	if existing.exists() {
		var old, want shape.Config
		if err := shape.Unmarshal(existing.value, &old); err != nil {
			return Action{}, err
		}
		if err := shape.Unmarshal(data, &want); err != nil {
			return Action{}, err
		}
		a.Action = None
		for _, c := range shape.Diff(old, want) {
			a.Action = Update
			a.Diff = append(a.Diff, c.String())
		}
	}
	a.apply = func(ctx context.Context) error { return conn.put(ctx, bucket, key, data, existing) }
	return a, nil
}
