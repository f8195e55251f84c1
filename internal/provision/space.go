package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/shape"
)

// Space is what provisioning works on: a contract bound to one space, and a way to reach its accounts.
type Space struct {
	Contract *contract.Contract
	Topology *contract.Topology
	Name     string
	Settings map[string]string // names that the contract's settings bind, such as a default of a first record
	Replicas int               // of every stream; 0 is 1
	// Connect opens a connection to an account with a credential of a profile, compiled and minted for this one use.
	// The caller of Connect closes it.
	Connect func(ctx context.Context, account, profile string, in compile.Input) (*Conn, error)
}

// scope binds the space's own names: its resources, its settings.
func (sp *Space) scope() (*compile.Scope, error) {
	s, err := compile.NewScope(sp.Contract, sp.Topology, nil, compile.Input{Values: map[string]any{compile.SpaceParam: sp.Name}})
	if err != nil {
		return nil, err
	}
	for _, k := range contract.SortedKeys(sp.Settings) {
		s = s.WithText(k, sp.Settings[k])
	}
	return s, nil
}

// planner gathers the actions of one account over one connection; conn is nil where the account does not exist yet, so that
// everything is to be created.
type planner struct {
	space   *Space
	scope   *compile.Scope
	account string
	conn    *Conn
	lazy    func(context.Context) (*Conn, error) // for applying
	actions []Action
}

// Session holds the connections of its plans, opened when first needed.
type Session struct {
	space  *Space
	conns  map[string]*Conn // of the space itself, by account
	pinned []*Conn          // of single lifecycles
}

// Open returns a session; Close it after the plan is applied.
func (sp *Space) Open() *Session { return &Session{space: sp, conns: map[string]*Conn{}} }

// Close closes what the session opened.
func (s *Session) Close() {
	for _, c := range s.conns {
		c.Close()
	}
	for _, c := range s.pinned {
		c.Close()
	}
}

func (s *Session) conn(ctx context.Context, account string) (*Conn, error) {
	if c, ok := s.conns[account]; ok {
		return c, nil
	}
	profile := s.space.Contract.Roles[contract.RoleProvision]
	c, err := s.space.Connect(ctx, account, profile, compile.Input{Values: map[string]any{compile.SpaceParam: s.space.Name}})
	if err != nil {
		return nil, fmt.Errorf("connect to account %s as %s: %w", account, profile, err)
	}
	s.conns[account] = c
	return c, nil
}

// Plan compares every declared stream, bucket, standing durable and first record with the broker. fresh names the accounts that
// do not exist yet: they are not asked, everything in them is to be created.
func (s *Session) Plan(ctx context.Context, fresh []string) (*Plan, error) {
	scope, err := s.space.scope()
	if err != nil {
		return nil, err
	}
	plan := &Plan{Schema: PlanSchema, Space: s.space.Name, Actions: []Action{}}
	for _, account := range s.space.Topology.Accounts {
		p := &planner{space: s.space, scope: scope, account: account}
		if p.nothing() {
			continue // nobody needs a credential there
		}
		p.lazy = func(ctx context.Context) (*Conn, error) { return s.conn(ctx, account) }
		if !slices.Contains(fresh, account) {
			if p.conn, err = s.conn(ctx, account); err != nil {
				return nil, err
			}
		}
		if err := p.resources(ctx); err != nil {
			return nil, err
		}
		if err := p.consumers(ctx); err != nil {
			return nil, err
		}
		if err := p.records(ctx); err != nil {
			return nil, err
		}
		plan.Actions = append(plan.Actions, p.actions...)
	}
	return plan, nil
}

// nothing reports whether no stream or bucket stands in the account: durables and first records stand where these do.
func (p *planner) nothing() bool {
	for id := range p.space.Contract.Resources {
		if p.here(id) {
			return false
		}
	}
	return true
}

func (p *planner) here(id string) bool { return p.scope.Account(id) == p.account }

func (p *planner) resources(ctx context.Context) error {
	for _, r := range contract.Sorted(p.space.Contract.Resources) {
		if !p.here(r.ID) {
			continue
		}
		if err := p.resource(ctx, r); err != nil {
			return fmt.Errorf("%s: resource %s: %w", r.Pos, r.ID, err)
		}
	}
	return nil
}

func (p *planner) resource(ctx context.Context, r *contract.Resource) error {
	declared, err := shape.StreamConfig(p.scope, r, p.space.Replicas)
	if err != nil {
		return err
	}
	name := declared["name"].(string)
	a := Action{Kind: KindStream, Name: name, Account: p.account, Action: Create, Diff: []string{}}
	if r.Bucket {
		a.Kind = KindKV
	}
	actual, err := p.streamInfo(ctx, name)
	if err != nil {
		return err
	}
	verb := "CREATE"
	if actual != nil {
		verb = "UPDATE"
		decide(&a, shape.Diff(actual, declared), r.Update, r.Protect)
	}
	a.apply = func(ctx context.Context) error {
		c, err := p.lazy(ctx)
		if err != nil {
			return err
		}
		return writeStream(ctx, c, verb, name, declared)
	}
	p.actions = append(p.actions, a)
	return nil
}

// decide turns a difference into an action: none, an update, or a refusal where the resource is create-or-verify (D13) or the
// update would weaken what it protects.
func decide(a *Action, changes []shape.Change, updatable bool, protect []string) {
	a.Action = None
	for _, c := range changes {
		a.Action = Update
		a.Diff = append(a.Diff, c.String())
	}
	if len(changes) == 0 {
		return
	}
	for _, c := range changes {
		if slices.Contains(protect, c.Field) && shape.Weakens(c) {
			a.Action, a.Reason = Refuse, "the update could weaken the protected setting "+c.Field+": where the contract is wrong, restore it there; where the broker is, restore it by hand"
			return
		}
		if shape.Irreversible(c) {
			a.Action, a.Reason = Refuse, "the broker cannot take back "+c.Field+" of an existing stream: change the contract, or make the stream anew"
			return
		}
	}
	if !updatable {
		a.Action, a.Reason = Refuse, "it is create-or-verify, so that no run changes it: bring it by hand to what the contract and the space's settings say, or change those"
	}
}

func (p *planner) streamInfo(ctx context.Context, name string) (shape.Config, error) {
	if p.conn == nil {
		return nil, nil
	}
	return p.conn.streamConfig(ctx, name)
}

// streamConfig reads a stream's configuration; a missing stream is (nil, nil).
func (c *Conn) streamConfig(ctx context.Context, name string) (shape.Config, error) {
	var info struct {
		Config shape.Config `json:"config"`
	}
	err := c.api(ctx, "STREAM.INFO."+name, nil, &info)
	if isCode(err, codeStreamNotFound) {
		return nil, nil
	}
	return info.Config, err
}

// writeStream creates or updates a stream and compares what the broker made of it, because some settings silently turn others
// (broker-facts "Header powers"). The answer carries the configuration in force, not the one that was sent.
func writeStream(ctx context.Context, c *Conn, verb, name string, declared shape.Config) error {
	var made struct {
		Config shape.Config `json:"config"`
	}
	if err := c.api(ctx, "STREAM."+verb+"."+name, declared, &made); err != nil {
		return err
	}
	if left := shape.Diff(made.Config, declared); len(left) > 0 {
		return fmt.Errorf("the broker changed what it was given: %v", left)
	}
	return nil
}

// records plans the first rows of buckets. A row that exists is left alone: from then on it belongs to its writers.
func (p *planner) records(ctx context.Context) error {
	for _, r := range contract.Sorted(p.space.Contract.Resources) {
		if !p.here(r.ID) {
			continue
		}
		for i := range r.Initial {
			if err := p.record(ctx, r, &r.Initial[i]); err != nil {
				return fmt.Errorf("%s: resource %s: %w", r.Initial[i].Pos, r.ID, err)
			}
		}
	}
	return nil
}

func (p *planner) record(ctx context.Context, r *contract.Resource, initial *contract.Initial) error {
	bucket, err := p.scope.BucketName(r.ID)
	if err != nil {
		return err
	}
	key, err := p.scope.Text(initial.Key)
	if err != nil {
		return err
	}
	v, err := p.scope.Node(initial.Value)
	if err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	a := Action{Kind: KindRecord, Name: bucket + "/" + key, Account: p.account, Action: Create, Diff: []string{}}
	var existing *row
	if p.conn != nil {
		if existing, err = p.conn.get(ctx, bucket, key); err != nil && !isCode(err, codeStreamNotFound) {
			return err
		}
		if existing.exists() {
			a.Action = None
		}
	}
	a.apply = func(ctx context.Context) error {
		c, err := p.lazy(ctx)
		if err != nil {
			return err
		}
		return c.put(ctx, bucket, key, data, existing)
	}
	p.actions = append(p.actions, a)
	return nil
}
