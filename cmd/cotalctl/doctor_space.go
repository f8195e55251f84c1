package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	shapes "github.com/cotalctl/cotalctl/internal/shape"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// inspectTTL is how long an inspector's credential lives: one gathering.
const inspectTTL = 5 * time.Minute

// doctorSpace is a space of the directory as the doctor looks at it. It connects with credentials that are minted for it and written
// nowhere.
type doctorSpace struct {
	app      *app
	dir      *trust.Dir
	contract *contract.Contract
	topology *contract.Topology
	name     string
	replicas int
	urls     string        // where the broker is reached
	opts     []nats.Option // of a connection, beside its credential

	minting sync.Mutex // accounts are inspected side by side
}

// lookAt has a gathering look into the accounts of a space, and its judgement expect there what the contract declares.
func (s *doctorSpace) lookAt(o *doctor.Options, e *doctor.Expect) error {
	var err error
	if e.Shape, err = shapes.Declare(s.contract, s.topology, s.name, s.replicas); err != nil {
		return fmt.Errorf("space %s: %w", s.name, err)
	}
	e.Keys, o.Streams = map[string]string{}, map[string][]string{}
	for _, name := range s.topology.Accounts {
		acc, err := s.dir.Account(s.name, trust.AccountID(s.topology.Accounts, name))
		if err != nil {
			return fmt.Errorf("account %s of space %s: %w", name, s.name, err)
		}
		e.Keys[name] = acc.Public
		for _, st := range e.Shape.Streams {
			if st.Account == name {
				o.Streams[acc.Public] = append(o.Streams[acc.Public], st.Name)
			}
		}
	}
	if p := s.contract.Profiles[s.contract.Roles[contract.RoleInspect]]; p != nil {
		o.Inspect = func(ctx context.Context, account doctor.Account) (*nats.Conn, error) {
			return s.inspect(ctx, p, account)
		}
	}
	return nil
}

// inspect connects as the inspector of an account.
func (s *doctorSpace) inspect(ctx context.Context, p *contract.Profile, account doctor.Account) (*nats.Conn, error) {
	if !slices.Contains(compile.Accounts(s.contract, s.topology, p), account.Name) {
		return nil, fmt.Errorf("profile %s has no row in account %s", p.Name, account.Name)
	}
	user, err := s.mint(p, account.Name, inspectTTL)
	if err != nil {
		return nil, err
	}
	return s.dial(ctx, s.urls, user)
}

// dial connects within ctx.
func (s *doctorSpace) dial(ctx context.Context, urls string, user []nats.Option) (*nats.Conn, error) {
	opts := slices.Concat(user, s.opts, []nats.Option{nats.NoReconnect(), nats.Name(doctorName), quiet()})
	if deadline, ok := ctx.Deadline(); ok {
		opts = append(opts, nats.Timeout(time.Until(deadline)), boundedFirstLine(time.Until(deadline)))
	}
	return interruptible(ctx, func() (*nats.Conn, error) { return nats.Connect(urls, opts...) })
}

func (s *doctorSpace) mint(p *contract.Profile, account string, ttl time.Duration) ([]nats.Option, error) {
	s.minting.Lock()
	defer s.minting.Unlock()
	in := compile.Input{Values: map[string]any{compile.SpaceParam: s.name}}
	cred, _, err := s.app.issueIn(s.dir, s.name, account, order{contract: s.contract, topology: s.topology, profile: p, input: in, ttl: ttl})
	if err != nil {
		return nil, err
	}
	return userOptions(cred)
}
