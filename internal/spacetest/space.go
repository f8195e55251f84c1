// Package spacetest stands up a provisioned space on test servers and opens connections with the credentials of its profiles, as the
// tool mints them. What a profile may do is asked of the broker, with those credentials and nothing else.
package spacetest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/provision"
)

// Patience bounds one answer of a broker; a loaded machine needs a fraction of it.
const Patience = 30 * time.Second

// Space is a provisioned space. Servers form one cluster, or there is one.
type Space struct {
	Contract *contract.Contract
	Topology *contract.Topology
	Name     string
	Servers  []*natstest.Server

	replicas int
	settings map[string]string
	accounts map[string]*natstest.Account
}

// New provisions a space "main" of the contract in a topology on n servers, with as many replicas. The settings are the defaults
// of the contract.
func New(t testing.TB, c *contract.Contract, topology string, n int) *Space {
	t.Helper()
	s := signed(t, c, topology, n, false)
	if err := s.Plan(t).Apply(bounded(t), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// signed starts n servers and signs the accounts of a topology; nothing is provisioned. With resolvers of their own, which take pushes,
// the servers know the system account alone.
func signed(t testing.TB, c *contract.Contract, topology string, n int, own bool) *Space {
	t.Helper()
	s := &Space{Contract: c, Name: "main", replicas: n, settings: map[string]string{}, accounts: map[string]*natstest.Account{}}
	var ok bool
	if s.Topology, ok = c.Topology(topology); !ok {
		t.Fatalf("contract %s has no topology %q", c.Name, topology)
	}
	switch {
	case n == 1 && own:
		s.Servers = []*natstest.Server{natstest.Start(t, natstest.FullResolver(t))}
	case n == 1:
		s.Servers = []*natstest.Server{natstest.Start(t)}
	case own:
		s.Servers = natstest.StartCluster(t, n, natstest.FullResolver(t))
	default:
		s.Servers = natstest.StartCluster(t, n)
	}
	s.accounts[contract.SystemAccount] = s.Servers[0].System
	for _, name := range s.Topology.Accounts {
		s.accounts[name] = s.Servers[0].NewAccount(t, name)
	}
	for _, name := range contract.SortedKeys(c.Settings) {
		maps.Copy(s.settings, c.Settings[name].Values[c.Settings[name].Default])
	}
	return s
}

// Plan compares the space with its contract.
func (s *Space) Plan(t testing.TB) *provision.Plan {
	t.Helper()
	plan, err := s.Session(t).Plan(bounded(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// Session is provisioning of the space, with credentials of the profiles that the contract names for it.
func (s *Space) Session(t testing.TB) *provision.Session {
	t.Helper()
	sp := &provision.Space{Contract: s.Contract, Topology: s.Topology, Name: s.Name, Settings: s.settings, Replicas: s.replicas}
	sp.Connect = func(_ context.Context, account, profile string, in compile.Input) (*provision.Conn, error) {
		cred, err := s.mint(account, profile, in)
		if err != nil {
			return nil, err
		}
		text, err := cred.Creds()
		if err != nil {
			return nil, err
		}
		return provision.Dial(s.Servers[0].URL(), nats.UserCredentialBytes(text), nats.CustomInboxPrefix("_INBOX_"+cred.PublicKey),
			nats.Timeout(Patience), nats.MaxReconnects(0))
	}
	session := sp.Open()
	t.Cleanup(session.Close)
	return session
}

// Provision creates what one holder of a lifecycle owns, as "provision principal" does.
func (s *Space) Provision(t testing.TB, lifecycle string, values map[string]any) {
	t.Helper()
	plan, err := s.Session(t).PlanLifecycle(bounded(t), lifecycle, s.input(values))
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(bounded(t), nil); err != nil {
		t.Fatal(err)
	}
}

// Account is an account of the space's topology, or the system account.
func (s *Space) Account(t testing.TB, name string) *natstest.Account {
	t.Helper()
	a, ok := s.accounts[name]
	if !ok {
		t.Fatalf("topology %s has no account %q", s.Topology.Name, name)
	}
	return a
}

// Home is the account in which a resource or profile stands in the space's topology.
func (s *Space) Home(t testing.TB, id string) string {
	t.Helper()
	if r := s.Contract.Resources[id]; r != nil {
		return s.Topology.Account(id, r.Home)
	}
	p := s.Contract.Profiles[id]
	if p == nil {
		t.Fatalf("contract %s has neither resource nor profile %q", s.Contract.Name, id)
	}
	return s.Topology.Account(id, p.Home)
}

// Admin is an allow-all user of the account in which a resource stands: the hand that prepares a test and looks at the result.
func (s *Space) Admin(t testing.TB, resource string) nats.JetStreamContext {
	t.Helper()
	nc := s.Servers[0].Connect(t, s.Account(t, s.Home(t, resource)).User(t, jwt.Permissions{}))
	js, err := nc.JetStream(nats.MaxWait(Patience))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func (s *Space) input(values map[string]any) compile.Input {
	in := compile.Input{Values: map[string]any{compile.SpaceParam: s.Name}}
	for k, v := range values {
		in.Values[k] = v
	}
	return in
}

// set compiles the rows of a profile in one account.
func (s *Space) set(account, profile string, in compile.Input) (*compile.PermissionSet, error) {
	scope, err := compile.NewScope(s.Contract, s.Topology, s.Contract.Profiles[profile], in)
	if err != nil {
		return nil, err
	}
	return compile.Compile(scope, account)
}

func (s *Space) mint(account, profile string, in compile.Input) (*mint.Credential, error) {
	seed := make([]byte, 32)
	if _, err := rand.Read(seed); err != nil {
		return nil, err
	}
	user, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, seed)
	if err != nil {
		return nil, err
	}
	if in.UserKey, err = user.PublicKey(); err != nil {
		return nil, err
	}
	set, err := s.set(account, profile, in)
	if err != nil {
		return nil, err
	}
	signer, err := s.accounts[account].Key.Seed()
	if err != nil {
		return nil, err
	}
	issuer, err := mint.NewIssuer(signer, s.accounts[account].PublicKey())
	if err != nil {
		return nil, err
	}
	return issuer.Mint(mint.Request{Set: set, Profile: s.Contract.Profiles[profile], Name: profile, UserSeed: seed, Now: time.Now()})
}

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// decode reads the JSON of a broker's answer; an API error in it fails the test.
func decode(t testing.TB, what string, data []byte, out any) {
	t.Helper()
	if text := apiError(data); text != "" {
		t.Fatalf("%s: %s", what, text)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatalf("%s: %v in %q", what, err, data)
	}
}

// apiError is the description of an API answer's error, or "".
func apiError(data []byte) string {
	var reply struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &reply); err != nil || reply.Error == nil {
		return ""
	}
	return strings.TrimSpace("API error: " + reply.Error.Description)
}
