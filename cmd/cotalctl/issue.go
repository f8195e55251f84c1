package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
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
	gate     int               // bytes; 0 is the profile's own
	template *compile.Template // the scope of the issuer's key; nil: the permissions stand in the credential
	after    int64             // Unix seconds: everything that was issued until then is revoked
}

// issue compiles and mints a credential with a new user key. The issuer is made by the caller, who holds the account's keys.
func (a *app) issue(o order, issuer *mint.Issuer) (*mint.Credential, error) {
	seed := make([]byte, 32)
	if _, err := io.ReadFull(a.rand, seed); err != nil {
		return nil, fmt.Errorf("user key: %w", err)
	}
	public, err := mint.UserPublic(seed)
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
	now, err := a.issueTime(o.after)
	if err != nil {
		return nil, err
	}
	r := mint.Request{Set: sets[0], Profile: o.profile, UserSeed: seed, Now: now, TTL: o.ttl,
		Gate: cmp.Or(o.gate, o.contract.GateOf(o.profile)), Scoped: o.template != nil}
	if !r.Scoped {
		r.Name = o.profile.Name
	}
	if r.Tags, err = o.tags(scope); err != nil {
		return nil, err
	}
	cred, err := issuer.Mint(r)
	if err != nil {
		return nil, o.cheaper(err, issuer, r)
	}
	return cred, nil
}

// tags are those of the credential; with a template, which gives its user by them what the parameters compile to, neither more nor less.
func (o order) tags(scope *compile.Scope) ([]string, error) {
	if o.template == nil {
		return scope.Tags()
	}
	tags, err := o.template.UserTags(scope)
	if err == nil {
		err = o.template.Same(scope, tags, o.input.UserKey)
	}
	if err != nil {
		return nil, refused(err, "")
	}
	return tags, nil
}

// longestWait is how far in the future a revocation may lie for minting to wait until it is past.
const longestWait = 3 * time.Second

// issueTime is now, once that is after a revocation of every user: the broker refuses what was issued in its second. A credential
// of the future would be let in, and survive the next revocation, so minting waits instead.
func (a *app) issueTime(after int64) (time.Time, error) {
	now := a.now()
	if now.Unix() > after {
		return now, nil
	}
	wait := time.Unix(after+1, 0).Sub(now)
	if wait <= longestWait {
		select {
		case <-a.ctx.Done():
			return now, a.ctx.Err()
		case <-time.After(wait):
		}
		if now = a.now(); now.Unix() > after {
			return now, nil
		}
	}
	until, it := time.Unix(after, 0).UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)
	return now, refused(fmt.Errorf("every user who is issued until %s is revoked, and it is %s", until, it),
		"mint after that time; where it is wrong, see to the clock that the revocation was made with")
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

// issueIn is issue with the signing key of a space's account.
func (a *app) issueIn(d *trust.Dir, space, account string, o order) (*mint.Credential, *mint.Issuer, error) {
	kp, acc, err := d.SigningKey(space, trust.AccountID(o.topology.Accounts, account))
	if err != nil {
		return nil, nil, err
	}
	defer kp.Wipe()
	issuer, err := issuerFrom(kp, acc.Public)
	if err != nil {
		return nil, nil, err
	}
	o.account, o.after = account, acc.Claims.Revocations[jwt.All]
	cred, err := a.issue(o, issuer)
	return cred, issuer, err
}

func issuerFrom(kp nkeys.KeyPair, account string) (*mint.Issuer, error) {
	seed, err := kp.Seed()
	if err != nil {
		return nil, err
	}
	return mint.NewIssuer(seed, account)
}

// mintSystem mints every profile of the contract that stands in the system account. It is called when a directory is made, and
// when its system account is rotated: afterwards nobody holds a key that could.
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
