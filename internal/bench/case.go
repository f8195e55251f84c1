package main

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/matrix"
)

// caseFile says what is measured: which profile of which contract, with which parameters.
//
//go:embed case.json
var caseFile []byte

// subject is what is measured: the baseline holder of one profile in one space.
type subject struct {
	contract *contract.Contract
	topology *contract.Topology
	profile  *contract.Profile
	space    string
	settings map[string]string // names that the contract's settings bind
	params   map[string]any
	whole    wholeCase
	audit    auditCase
}

func loadCase(data []byte) (*subject, error) {
	var file struct {
		Contract, Profile, Space string
		Settings                 map[string]string // choice → value
		Params                   map[string]any
		Whole                    wholeCase
		Audit                    auditCase
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("case: %w", err)
	}
	c, err := matrix.Embedded(file.Contract)
	if err != nil {
		return nil, err
	}
	topology, _ := c.Topology("")
	s := &subject{contract: c, topology: topology, profile: c.Profiles[file.Profile], space: file.Space, settings: map[string]string{}, params: file.Params, whole: file.Whole, audit: file.Audit}
	if s.profile == nil {
		return nil, fmt.Errorf("case: profile %q is not declared by %s", file.Profile, c.Name)
	}
	for choice, value := range file.Settings {
		if c.Settings[choice] == nil || c.Settings[choice].Values[value] == nil {
			return nil, fmt.Errorf("case: setting %s=%s is not declared by %s", choice, value, c.Name)
		}
		for k, v := range c.Settings[choice].Values[value] {
			s.settings[k] = v
		}
	}
	if s.params == nil {
		s.params = map[string]any{}
	}
	s.params[compile.SpaceParam] = s.space
	return s, nil
}

func (s *subject) name() string {
	return fmt.Sprintf("profile %s of %s, topology %s", s.profile.Name, s.contract.Name, s.topology.Name)
}

// compiled is a permission set with the tags that belong to it.
type compiled struct {
	set  *compile.PermissionSet
	tags []string
}

// compile compiles the profile for a user key ("" is a placeholder of the same length).
func (s *subject) compile(userKey string) (compiled, error) {
	scope, err := s.scope(userKey)
	if err != nil {
		return compiled{}, err
	}
	set, err := compile.Compile(scope, "")
	if err != nil {
		return compiled{}, err
	}
	tags, err := scope.Tags()
	return compiled{set, tags}, err
}

// template is the profile as the scope of a signing key, with the tags of the holder. It fixes what cannot be a tag.
func (s *subject) template() (compiled, error) {
	fixed := compile.Input{Values: map[string]any{compile.SpaceParam: s.space}}
	for _, p := range s.profile.Params {
		if v, ok := s.params[p.Name]; ok && p.Type.Kind != contract.TypeScalar && p.Type.Kind != contract.TypeList {
			fixed.Values[p.Name] = v
		}
	}
	t, err := compile.NewTemplate(s.contract, s.topology, s.profile, fixed, "")
	if err != nil {
		return compiled{}, err
	}
	scope, err := s.scope("")
	if err != nil {
		return compiled{}, err
	}
	tags, err := t.UserTags(scope)
	if err == nil {
		err = t.Same(scope, tags, compile.PlaceholderKey)
	}
	return compiled{t.Set, tags}, err
}

func (s *subject) scope(userKey string) (*compile.Scope, error) {
	return compile.NewScope(s.contract, s.topology, s.profile, compile.Input{Values: s.params, UserKey: userKey})
}

// request asks for a credential of the subject with a new user key.
func (s *subject) request(c compiled, seed []byte) mint.Request {
	return mint.Request{Set: c.set, Profile: s.profile, Name: s.profile.Name, UserSeed: seed, Tags: c.tags, Now: time.Now()}
}

func newSeed() ([]byte, error) {
	seed := make([]byte, 32)
	_, err := rand.Read(seed)
	return seed, err
}

// publicUser is the public key of a user's raw seed.
func publicUser(seed []byte) (string, error) {
	kp, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, seed)
	if err != nil {
		return "", err
	}
	defer kp.Wipe()
	return kp.PublicKey()
}
