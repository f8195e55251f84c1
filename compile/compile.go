package compile

import (
	"fmt"
	"slices"
)

// Compile resolves, closes and minimizes the rows of the scope's profile in one account of its topology ("" is the profile's
// own) and returns the permission set, a large one in its [Smallest] form. What is wrong with rows gives [contract.Problems].
func Compile(s *Scope, account string) (*PermissionSet, error) {
	if s.profile == nil {
		return nil, fmt.Errorf("compile needs a profile")
	}
	account, err := accountFor(s.topology, s.profile, account)
	if err != nil {
		return nil, err
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
	return s.smallest(set)
}

// Tags returns the claims for humans and audits that a user JWT of this scope carries, "name:value", sorted. Authority is the
// permission set alone.
func (s *Scope) Tags() ([]string, error) {
	if s.profile == nil {
		return nil, fmt.Errorf("tags need a profile")
	}
	space, _ := s.Param(SpaceParam)
	tags := []string{"profile:" + s.profile.Name, "space:" + space}
	for _, name := range s.profile.Tags {
		v, err := s.lookup(name)
		if err != nil {
			return nil, err
		}
		if v != nil && (v.isList || v.fields != nil) {
			return nil, fmt.Errorf("tag %q is not a scalar", name)
		}
		if v.present() {
			tags = append(tags, name+":"+v.text)
		}
	}
	slices.Sort(tags)
	return tags, nil
}
