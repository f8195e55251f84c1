package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// order asks for one credential.
type order struct {
	contract *contract.Contract
	topology *contract.Topology
	profile  *contract.Profile
	account  string // "" is the profile's own
	input    compile.Input
	ttl      time.Duration
}

// issue compiles and mints a credential with a new user key. The issuer is made by the caller, who holds the account's keys.
func (a *app) issue(o order, issuer *mint.Issuer) (*mint.Credential, error) {
	seed := make([]byte, 32)
	if _, err := io.ReadFull(a.rand, seed); err != nil {
		return nil, fmt.Errorf("user key: %w", err)
	}
	public, err := userKey(seed)
	if err != nil {
		return nil, err
	}
	o.input.UserKey = public
	scope, err := newScope(o.contract, o.topology, o.profile, o.input)
	if err != nil {
		return nil, err
	}
	sets, err := granted(o.contract, o.topology, scope, o.profile, []string{o.account})
	if err != nil {
		return nil, err
	}
	tags, err := scope.Tags()
	if err != nil {
		return nil, err
	}
	return issuer.Mint(mint.Request{Set: sets[0], Profile: o.profile, Name: o.profile.Name, UserSeed: seed, Tags: tags, Now: a.now(), TTL: o.ttl})
}

// gate refuses a set that the contract's own invariants call an error: parameters may name what belongs to another profile, such as
// a command of a core endpoint that one service alone may ask for.
func gate(c *contract.Contract, t *contract.Topology, profile *contract.Profile, scope *compile.Scope, set *compile.PermissionSet) error {
	findings, err := audit.Compiled(audit.Config{Contract: c, Topology: t.Name, Space: set.Space}, scope, profile, set)
	if err != nil || len(findings) == 0 {
		return err
	}
	var probs contract.Problems
	for _, f := range findings {
		probs = append(probs, &contract.Problem{What: fmt.Sprintf("%s %s: %s", profile.Name, f.Code, f.Message), Got: f.Entry,
			Want: "what the invariant leaves to the profile (" + f.Cite + ")",
			Hint: "it comes of row " + strings.Join(f.Rows, ", ") + ": take it out of the parameters"})
	}
	return refused(probs.Err(), "")
}

func userKey(raw []byte) (string, error) {
	kp, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, raw)
	if err != nil {
		return "", err
	}
	defer kp.Wipe()
	return kp.PublicKey()
}

// issuerOf opens the signing key of a space's account.
func issuerOf(d *trust.Dir, t *contract.Topology, space, account string) (*mint.Issuer, error) {
	kp, acc, err := d.SigningKey(space, trust.AccountID(t.Accounts, account))
	if err != nil {
		return nil, err
	}
	defer kp.Wipe()
	return issuerFrom(kp, acc.Public)
}

func issuerFrom(kp nkeys.KeyPair, account string) (*mint.Issuer, error) {
	seed, err := kp.Seed()
	if err != nil {
		return nil, err
	}
	return mint.NewIssuer(seed, account)
}

// mintSystem mints every profile of the contract that stands in the system account. It is called once, when a directory is
// made: afterwards nobody holds a key that could.
func (a *app) mintSystem(c *contract.Contract, t *contract.Topology, space string) func(trust.SystemIssuer) (map[string][]byte, error) {
	return func(sys trust.SystemIssuer) (map[string][]byte, error) {
		issuer, err := issuerFrom(sys.Key, sys.Account)
		if err != nil {
			return nil, err
		}
		out := map[string][]byte{}
		for _, p := range contract.Sorted(c.Profiles) {
			if t.Account(p.Name, p.Home) != contract.SystemAccount {
				continue
			}
			in := compile.Input{Values: map[string]any{compile.SpaceParam: space}}
			cred, err := a.issue(order{contract: c, topology: t, profile: p, input: in}, issuer)
			if err != nil {
				return nil, fmt.Errorf("profile %s: %w", p.Name, err)
			}
			text, err := cred.Creds()
			if err != nil {
				return nil, err
			}
			out[p.Name] = text
		}
		return out, nil
	}
}

// sampleIssuer signs for sizes only: its keys are fixed, and no broker knows them.
func sampleIssuer() (*mint.Issuer, error) {
	account, err := nkeys.FromRawSeed(nkeys.PrefixByteAccount, make([]byte, 32))
	if err != nil {
		return nil, err
	}
	signing, err := nkeys.FromRawSeed(nkeys.PrefixByteAccount, append(make([]byte, 31), 1))
	if err != nil {
		return nil, err
	}
	public, err := account.PublicKey()
	if err != nil {
		return nil, err
	}
	return issuerFrom(signing, public)
}
