package compile

import (
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Compile resolves, closes and minimizes the rows of the scope's profile in one account of its topology ("" is the profile's
// own) and returns the permission set.
func Compile(s *Scope, account string) (*PermissionSet, error) {
	if s.profile == nil {
		return nil, fmt.Errorf("compile needs a profile")
	}
	if account == "" {
		account = s.topology.Account(s.profile.Name, s.profile.Home)
	}
	grants, err := Resolve(s, account)
	if err != nil {
		return nil, err
	}
	if grants, err = Close(grants); err != nil {
		return nil, err
	}
	space, _ := s.Param(SpaceParam)
	set := &PermissionSet{Contract: s.c.Name, Profile: s.profile.Name, Space: space, Topology: s.topology.Name, Account: account}
	set.Pub, set.Sub = Minimize(grants)
	return set, nil
}

// Accounts returns the accounts in which a profile has rows of its own in a topology, its home first, the rest sorted.
func Accounts(c *contract.Contract, t *contract.Topology, p *contract.Profile) []string {
	home := t.Account(p.Name, p.Home)
	var rest []string
	for _, row := range c.Rows {
		if !slices.Contains(row.Profiles, p.Name) || !appliesTo(row, p.Name, t.Name) {
			continue
		}
		if a := staticAccount(c, t, p, row); a != home && !slices.Contains(rest, a) {
			rest = append(rest, a)
		}
	}
	slices.Sort(rest)
	return append([]string{home}, rest...)
}

func staticAccount(c *contract.Contract, t *contract.Topology, p *contract.Profile, row *contract.Row) string {
	res := row.Op.Resource
	if row.Op.Consumer != "" {
		res = c.Consumers[row.Op.Consumer].Resource
	}
	switch r := c.Resources[res]; {
	case row.Account != "":
		return t.Account(row.ID, row.Account)
	case r != nil:
		return t.Account(r.ID, r.Home)
	}
	return t.Account(p.Name, p.Home)
}

// Tags returns the claims for humans and audits that a user JWT of this scope carries, "name:value", sorted. Authority is the
// permission set alone.
func (s *Scope) Tags() ([]string, error) {
	space, _ := s.Param(SpaceParam)
	tags := []string{"profile:" + s.profile.Name, "space:" + space}
	for _, name := range s.profile.Tags {
		v, err := s.lookup(name)
		if err != nil {
			return nil, err
		}
		if v.present() {
			tags = append(tags, name+":"+v.text)
		}
	}
	slices.Sort(tags)
	return tags, nil
}
