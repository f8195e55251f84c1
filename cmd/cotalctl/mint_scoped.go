package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// mintUse is what minting works with.
type mintUse struct {
	dir      *trust.Dir
	record   record
	contract *contract.Contract
	topology *contract.Topology
	profile  *contract.Profile
}

// scoped mints with a scoped key.
func (c *mintCmd) scoped(a *app, u mintUse) error {
	k, ok := u.record.ScopedKey(c.Scoped)
	switch {
	case !ok:
		return noScoped(u.record.SpaceInfo, u.record.space, c.Scoped)
	case k.Profile != u.profile.Name:
		return usage(fmt.Errorf("scoped key %s is of profile %s, got %s", k.Name, k.Profile, u.profile.Name), "")
	case c.Account != "" && c.Account != k.Account:
		return usage(fmt.Errorf("scoped key %s is of account %s, got --account %s", k.Name, k.Account, c.Account), "leave --account out")
	}
	shape := fixed(k, u.record.space, nil)
	template, err := compile.NewTemplate(u.contract, u.topology, u.profile, shape, k.Account)
	if err != nil {
		return err
	}
	in, err := c.input(u.profile, u.record.space)
	if err != nil {
		return err
	}
	if err := c.shape(in, shape, template, k.Name); err != nil {
		return err
	}
	fitness, err := c.fit(a, u)
	if err != nil {
		return err
	}
	kp, acc, scope, err := u.dir.ScopedSigner(u.record.space, trust.AccountID(u.topology.Accounts, k.Account), k.Key)
	if err != nil {
		return failed(err, "make it anew: cotalctl provision scoped "+k.Name+" --space "+u.record.space)
	}
	defer kp.Wipe()
	if want := template.Scope(k.Key, scope.Role, scope.Description, u.profile); !reflect.DeepEqual(want.Template, scope.Template) {
		return refused(fmt.Errorf("scoped key %s: the account holds another template than contract %s gives", k.Name, u.contract.Name),
			"bring it up to date, which disconnects its users: cotalctl provision space "+u.record.space)
	}
	issuer, err := issuerFrom(kp, acc.Public)
	if err != nil {
		return err
	}
	cred, err := a.issue(order{contract: u.contract, topology: u.topology, profile: u.profile, account: k.Account, input: in,
		ttl: time.Duration(c.TTL), gate: c.Gate, template: template, after: acc.Claims.Revocations[jwt.All]}, issuer)
	if err != nil {
		return err
	}
	return c.write(a, freshCredential{u.dir, u.record.space, u.profile, cred, issuer, cred.PublicKey, fitness})
}

// shape joins what the holder was given with what the template fixes, which it may repeat and not change.
func (c *mintCmd) shape(in, shape compile.Input, t *compile.Template, name string) error {
	for _, key := range t.Keys {
		if _, given := in.Values[key]; given {
			return usage(fmt.Errorf("parameter %s is given, and a scoped credential has its own public key there", key),
				"leave it out, or mint without --scoped")
		}
	}
	for _, p := range contract.SortedKeys(shape.Values) {
		if v, given := in.Values[p]; given && !reflect.DeepEqual(v, shape.Values[p]) {
			return usage(fmt.Errorf("parameter %s, got %s, want %s, which the scoped key %s fixes", p, brief(v), brief(shape.Values[p]), name),
				"leave it out, mint with another key, or without --scoped")
		}
	}
	maps.Copy(in.Values, shape.Values)
	maps.DeleteFunc(in.Values, func(_ string, v any) bool { return v == (contract.Null{}) })
	return nil
}

// brief is the value of a parameter in an error: as JSON, and of a long one its beginning.
func brief(v any) string {
	const most = 60
	if v == (contract.Null{}) {
		return "null"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "another value"
	}
	if r := []rune(string(text)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(text)
}
