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

// roleInspect is the role of a contract whose profile reads the metadata of a space's streams and consumers.
const roleInspect = "inspect"

// inspectTTL is how long an inspector's credential lives: one gathering.
const inspectTTL = 5 * time.Minute

// doctorSpace is a space of the directory as the doctor looks at it.
type doctorSpace struct {
	app      *app
	dir      *trust.Dir
	contract *contract.Contract
	topology *contract.Topology
	name     string
	urls     string
	opts     []nats.Option // of a connection, beside its credential

	minting sync.Mutex // accounts are inspected side by side
}

// lookAt has a gathering look into the accounts of a space, and its judgement expect there what the contract declares. urls are where
// the broker is reached; inspectors connect there with credentials that are minted for it and written nowhere.
func (a *app) lookAt(rec record, d *trust.Dir, ct *contract.Contract, t *contract.Topology, urls string, opts []nats.Option,
	o *doctor.Options, e *doctor.Expect) error {
	s := &doctorSpace{app: a, dir: d, contract: ct, topology: t, name: rec.space, urls: urls, opts: opts}
	var err error
	if e.Shape, err = shapes.Declare(ct, t, rec.space, rec.Replicas); err != nil {
		return fmt.Errorf("space %s: %w", rec.space, err)
	}
	e.Keys, o.Streams = map[string]string{}, map[string][]string{}
	for _, name := range t.Accounts {
		acc, err := d.Account(rec.space, trust.AccountID(t.Accounts, name))
		if err != nil {
			return fmt.Errorf("account %s of space %s: %w", name, rec.space, err)
		}
		e.Keys[name] = acc.Public
		o.Accounts = append(o.Accounts, doctor.Account{Name: name, Key: acc.Public})
		for _, st := range e.Shape.Streams {
			if st.Account == name {
				o.Streams[acc.Public] = append(o.Streams[acc.Public], st.Name)
			}
		}
	}
	if p := ct.Profiles[ct.Roles[roleInspect]]; p != nil && urls != "" {
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
	creds, err := s.mint(p, account.Name)
	if err != nil {
		return nil, err
	}
	opts := append(creds, nats.NoReconnect(), nats.Name(doctorName), quiet())
	if deadline, ok := ctx.Deadline(); ok {
		opts = append(opts, nats.Timeout(time.Until(deadline)))
	}
	return interruptible(ctx, func() (*nats.Conn, error) { return nats.Connect(s.urls, append(opts, s.opts...)...) })
}

func (s *doctorSpace) mint(p *contract.Profile, account string) ([]nats.Option, error) {
	s.minting.Lock()
	defer s.minting.Unlock()
	in := compile.Input{Values: map[string]any{compile.SpaceParam: s.name}}
	cred, _, err := s.app.issueIn(s.dir, s.name, account, order{contract: s.contract, topology: s.topology, profile: p, input: in, ttl: inspectTTL})
	if err != nil {
		return nil, err
	}
	return userOptions(cred)
}
