package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
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

// active is what --active tries: a connect with the largest of the contract's fixtures, signed for a minute by the keys of the space, and
// a schedule, by the profile of the contract that proves them; or both with the credential of --active-creds, as far as it may.
func (c *doctorCmd) active(s *doctorSpace) (*doctor.Active, error) {
	out := &doctor.Active{Timeout: max(c.Timeout.duration(), doctor.DefaultActiveTimeout)}
	given, line, err := c.activeCreds()
	if err != nil {
		return nil, err
	}
	user := given
	if user == nil {
		if user, line, err = s.largest(); err != nil {
			return nil, fmt.Errorf("the largest fixture: %w", err)
		}
	}
	if user != nil {
		out.Line, out.Connect = line+len(doctorName), s.connectTo(user)
	}
	scratch, err := s.scratch()
	if err != nil || scratch == nil {
		return out, err
	}
	out.Schedule = s.schedule(scratch, func() ([]nats.Option, error) {
		if given != nil {
			return given, nil
		}
		return s.mint(scratch.profile, scratch.account, activeTTL)
	})
	return out, nil
}

// activeCreds is the credential that was named, with its CONNECT line; nil: none was.
func (c *doctorCmd) activeCreds() ([]nats.Option, int, error) {
	if c.ActiveCreds == "" {
		return nil, 0, nil
	}
	return fileOptions(c.ActiveCreds)
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

// largest is the fixture with the longest CONNECT line, minted for this space, and that line. nil where the contract declares no fixture that
// connects in this topology.
func (s *doctorSpace) largest() ([]nats.Option, int, error) {
	if s.contract.Fixtures == nil {
		return nil, 0, nil
	}
	orders, err := fixtures.Orders(s.contract)
	if err != nil {
		return nil, 0, err
	}
	var best *mint.Credential
	for _, o := range orders {
		if o.Refused || o.Sealed() || o.Topology != s.topology.Name || !slices.Contains(s.topology.Accounts, o.Account) {
			continue
		}
		cred, err := s.again(o)
		if err != nil {
			return nil, 0, err
		}
		if best == nil || len(cred.JWT) > len(best.JWT) {
			best = cred
		}
	}
	if best == nil {
		return nil, 0, nil
	}
	user, err := userOptions(best)
	return user, best.ConnectBytes(""), err
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

// scratch is nil where the contract has no profile that proves schedules, or no space is named.
func (s *doctorSpace) scratch() (*scratch, error) {
	p := s.contract.Profiles[s.contract.Roles[contract.RoleSchedules]]
	if p == nil || s.name == "" {
		return nil, nil
	}
	scope, err := newScope(s.contract, s.topology, p, compile.Input{Values: map[string]any{compile.SpaceParam: s.name}, UserKey: compile.PlaceholderKey})
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
		return nil, fmt.Errorf("profile %s, got no grant to create a stream or none to publish, want one of each: it is the role %s",
			p.Name, contract.RoleSchedules)
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
