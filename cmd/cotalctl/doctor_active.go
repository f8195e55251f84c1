package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/fixtures"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// activeTTL is how long what --active mints lives.
const activeTTL = time.Minute

// activeWith is what --active tries with a credential file: a connect, and a schedule where the credential may.
func (c *doctorCmd) activeWith(s doctorSpace) (*doctor.Active, error) {
	user, line, err := fileOptions(c.ActiveCreds)
	if err != nil {
		return nil, err
	}
	scratch, err := s.scratch()
	if err != nil {
		return nil, err
	}
	active := &doctor.Active{Timeout: c.activeTimeout(), Line: line, Connect: s.connectTo(user)}
	if scratch != nil {
		active.Schedule = s.schedule(scratch, func() ([]nats.Option, error) { return user, nil })
	}
	return active, nil
}

// active is what --active tries with credentials that the directory's keys sign for a minute: the largest of the contract's fixtures,
// and one of the profile that proves schedules.
func (c *doctorCmd) active(s doctorSpace) (*doctor.Active, error) {
	active := &doctor.Active{Timeout: c.activeTimeout()}
	cred, err := s.largest()
	if err != nil {
		return nil, fmt.Errorf("the largest fixture: %w", err)
	}
	if cred != nil {
		user, err := userOptions(cred)
		if err != nil {
			return nil, err
		}
		active.Line, active.Connect = cred.ConnectBytes(doctorName), s.connectTo(user)
	}
	scratch, err := s.scratch()
	if err != nil || scratch == nil {
		return active, err
	}
	active.Schedule = s.schedule(scratch, func() ([]nats.Option, error) {
		cred, err := s.mint(scratch.profile, scratch.account, activeTTL)
		if err != nil {
			return nil, err
		}
		return userOptions(cred)
	})
	return active, nil
}

// activeTimeout leaves time for another proof to end, whatever the gathering may take.
func (c *doctorCmd) activeTimeout() time.Duration {
	return max(c.Timeout.duration(), doctor.DefaultActiveTimeout)
}

// connectTo connects to one address and to no other server that it tells of.
func (s *doctorSpace) connectTo(user []nats.Option) func(context.Context, string) (string, error) {
	return func(ctx context.Context, address string) (string, error) {
		nc, err := s.dial(ctx, "nats://"+address, append(user, nats.IgnoreDiscoveredServers()))
		if err != nil {
			return "", err
		}
		defer nc.Close()
		return nc.ConnectedServerId(), nil
	}
}

// largest mints the fixture with the longest CONNECT line for this space: its profile and parameters, the space's keys. nil where the
// contract declares no fixture that connects in this topology.
func (s *doctorSpace) largest() (*mint.Credential, error) {
	orders, err := fixtures.Orders(s.contract)
	if err != nil {
		return nil, err
	}
	var best *mint.Credential
	for _, o := range orders {
		if o.Refused || o.Sealed() || o.Topology != s.topology.Name {
			continue
		}
		cred, err := s.again(o)
		if err != nil {
			return nil, err
		}
		if best == nil || len(cred.JWT) > len(best.JWT) {
			best = cred
		}
	}
	return best, nil
}

// again mints a fixture's permissions, which name the subjects of no space that there is, with the keys of this one.
func (s *doctorSpace) again(o *fixtures.Order) (*mint.Credential, error) {
	kp, acc, err := s.dir.SigningKey(s.name, trust.AccountID(s.topology.Accounts, o.Account))
	if err != nil {
		return nil, err
	}
	defer kp.Wipe()
	issuer, err := issuerFrom(kp, acc.Public)
	if err != nil {
		return nil, err
	}
	r := o.Request
	r.UserSeed = make([]byte, 32)
	if _, err := io.ReadFull(s.app.rand, r.UserSeed); err != nil {
		return nil, fmt.Errorf("user key: %w", err)
	}
	if r.Now, err = s.app.issueTime(acc.Claims.Revocations[jwt.All]); err != nil {
		return nil, err
	}
	r.TTL, r.Gate = activeTTL, 0
	return issuer.Mint(r)
}

// scratch is what schedules are proved with: the stream and the subjects that the rows of the contract's profile for it name.
type scratch struct {
	doctor.Scratch
	profile *contract.Profile
	account string
}

// scratch is nil where the contract has no profile that proves schedules.
func (s *doctorSpace) scratch() (*scratch, error) {
	p := s.contract.Profiles[s.contract.Roles[contract.RoleSchedules]]
	if p == nil {
		return nil, nil
	}
	scope, err := newScope(s.contract, s.topology, p, compile.Input{Values: map[string]any{compile.SpaceParam: s.name}, UserKey: sampleKey})
	if err != nil {
		return nil, err
	}
	out := &scratch{profile: p, account: s.topology.Account(p.Name, p.Home)}
	set, err := compile.Compile(scope, out.account)
	if err != nil {
		return nil, err
	}
	const create, api = "$JS.API.STREAM.CREATE.", "$JS.API."
	for _, e := range set.Pub.Allow {
		if name, ok := strings.CutPrefix(e.Pattern, create); ok {
			out.Stream = name
		} else if !strings.HasPrefix(e.Pattern, api) {
			out.Armed = e.Pattern
		}
	}
	if out.Stream == "" || out.Armed == "" {
		return nil, fmt.Errorf("profile %s, got no grant to create a stream or none to publish, want one of each: it is the role %s", p.Name, contract.RoleSchedules)
	}
	out.Fire = out.Armed[:strings.LastIndexByte(out.Armed, '.')+1] + "fire"
	out.Replicas = s.replicas
	return out, nil
}

// schedule proves a schedule over a connection of its own.
func (s *doctorSpace) schedule(scratch *scratch, user func() ([]nats.Option, error)) func(context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		opts, err := user()
		if err != nil {
			return 0, err
		}
		nc, err := s.dial(ctx, s.urls, opts)
		if err != nil {
			return 0, err
		}
		defer nc.Close()
		return scratch.Prove(ctx, nc)
	}
}
