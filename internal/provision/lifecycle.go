package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// frontierName is bound in the records of a lifecycle: {frontier.S} is the last sequence of stream S at activation.
const frontierName = "frontier"

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
	for _, d := range l.decl.Durables {
		held, err := l.scope.Holds(d.When)
		if err != nil {
			return nil, err
		}
		if !held {
			continue
		}
		c := s.space.Contract.Consumers[d.Consumer]
		p := &planner{space: s.space, scope: l.scope, account: l.scope.Account(c.Resource)}
		if p.conn, err = l.conn(ctx, p.account); err != nil {
			return nil, err
		}
		p.lazy = func(ctx context.Context) (*Conn, error) { return l.conn(ctx, p.account) }
		if err := p.durable(ctx, c, l.scope, frontiers[c.Resource]); err != nil {
			return nil, err
		}
		plan.Actions = append(plan.Actions, p.actions...)
	}
	return plan, nil
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
	out := compile.Input{Values: map[string]any{compile.SpaceParam: sp.Name}}
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

// frontiers returns, per stream in which the lifecycle owns a durable, the sequence recorded at activation, or where there is
// no record yet the stream's last sequence now.
func (l *lifecycle) frontiers(ctx context.Context) (map[string]uint64, error) {
	out := map[string]uint64{}
	for _, d := range l.decl.Durables {
		c := l.session.space.Contract.Consumers[d.Consumer]
		if d.Keep {
			continue // not the lifecycle's own
		}
		stream, err := l.scope.StreamName(c.Resource)
		if err != nil {
			return nil, err
		}
		conn, err := l.conn(ctx, l.scope.Account(c.Resource))
		if err != nil {
			return nil, err
		}
		var info struct {
			State struct {
				Last uint64 `json:"last_seq"`
			} `json:"state"`
		}
		if err := conn.api(ctx, "STREAM.INFO."+stream, nil, &info); err != nil {
			return nil, err
		}
		out[c.Resource] = info.State.Last
	}
	for i := range l.decl.Records {
		if err := l.recorded(ctx, &l.decl.Records[i], out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// recorded replaces frontiers by those that an existing record holds. The row may have been written by anyone who can place
// bytes on its subject, so it is parsed closed (D16): a frontier must be a number that the stream has reached.
func (l *lifecycle) recorded(ctx context.Context, r *contract.LifecycleRecord, frontiers map[string]uint64) error {
	bucket, key, conn, err := l.locate(ctx, r)
	if err != nil {
		return err
	}
	existing, err := conn.get(ctx, bucket, key)
	if err != nil || !existing.exists() {
		return err
	}
	var v any
	if err := decodeNumbers(existing.value, &v); err != nil {
		return fmt.Errorf("row %s/%s is not JSON: %w; deprovision it, or restore it", bucket, key, err)
	}
	found := map[string]uint64{}
	if err := readFrontiers(r.Value, v, found); err != nil {
		return fmt.Errorf("row %s/%s: %w; deprovision it, or restore it", bucket, key, err)
	}
	for stream, seq := range found {
		if now, ok := frontiers[stream]; ok && seq > now {
			return fmt.Errorf("row %s/%s: frontier %d of %s is beyond the stream's last sequence %d", bucket, key, seq, stream, now)
		}
		frontiers[stream] = seq
	}
	return nil
}

// readFrontiers walks a declared value beside a stored one and collects what stands where the declaration says {frontier.X}.
func readFrontiers(n contract.Node, v any, out map[string]uint64) error {
	if n.Map != nil {
		m, ok := v.(map[string]any)
		if !ok {
			return errors.New("is not the record that the contract declares")
		}
		for _, k := range contract.SortedKeys(n.Map) {
			if err := readFrontiers(n.Map[k], m[k], out); err != nil {
				return err
			}
		}
		return nil
	}
	if stream, ok := frontierOf(n); ok {
		seq, err := sequence(v)
		if err != nil {
			return fmt.Errorf("%w at {%s}", err, n.Text.Source)
		}
		out[stream] = seq
		return nil
	}
	if namesFrontier(n) {
		return errors.New("cannot be read back: a frontier must be a map entry of its own")
	}
	return nil
}

// frontierOf returns the stream id of a node that is one frontier and nothing else.
func frontierOf(n contract.Node) (string, bool) {
	if n.Text == nil || len(n.Text.Parts) != 1 {
		return "", false
	}
	path := n.Text.Parts[0].Path
	if len(path) != 2 || path[0] != frontierName {
		return "", false
	}
	return path[1], true
}

// namesFrontier reports whether a frontier stands anywhere in the node.
func namesFrontier(n contract.Node) bool {
	if n.Text != nil && slices.ContainsFunc(n.Text.Paths(), func(path []string) bool { return path[0] == frontierName }) {
		return true
	}
	return slices.ContainsFunc(n.List, namesFrontier) || slices.ContainsFunc(slices.Collect(maps.Values(n.Map)), namesFrontier)
}

// sequence reads a stored stream sequence.
func sequence(v any) (uint64, error) {
	num, ok := v.(json.Number)
	if !ok {
		return 0, errors.New("holds no number")
	}
	seq, err := strconv.ParseUint(num.String(), 10, 63)
	if err != nil {
		return 0, errors.New("holds no sequence")
	}
	return seq, nil
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
		var old, want config
		if err := decodeNumbers(existing.value, &old); err != nil {
			return Action{}, err
		}
		if err := decodeNumbers(data, &want); err != nil {
			return Action{}, err
		}
		a.Action = None
		for _, c := range diff(old, want) {
			a.Action = Update
			a.Diff = append(a.Diff, c.String())
		}
	}
	a.apply = func(ctx context.Context) error { return conn.put(ctx, bucket, key, data, existing) }
	return a, nil
}
