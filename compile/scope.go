package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Scope binds the names of a contract's templates for one holder of a profile, or for a space alone. It is not safe for
// concurrent use.
type Scope struct {
	c        *contract.Contract
	topology *contract.Topology
	profile  *contract.Profile // nil: a space without a holder
	params   map[string]*value
	in       Input   // what params were bound from
	frames   []frame // each bindings and extra names, innermost last
	unbound  string  // what an absent optional, or an unbound placeholder of a kind's key, becomes
	given    bool    // the parameters are somebody's, whom a message helps; else they are a sample of the contract
	inKey    bool    // within the key of a kind, whose placeholders need not be declared here
	memo     *memo
}

type frame struct {
	name string
	v    *value
}

// memo holds what a scope and its children have evaluated; none of it depends on their frames.
type memo struct {
	derived   map[string]*value    // derived names and symbols
	names     map[string]*value    // resources
	resources []*contract.Resource // in the order of their ids; nil: not yet sorted
	text      []byte               // templates under evaluation, as a stack
}

// NewScope binds the parameters of a profile (nil: only the space) in a topology. Input that does not fit the declared types
// gives [contract.Problems].
func NewScope(c *contract.Contract, topology *contract.Topology, profile *contract.Profile, in Input) (*Scope, error) {
	bound := profile
	if profile == nil {
		bound = &contract.Profile{}
	}
	params, probs := bind(c, bound, in)
	if len(probs) > 0 {
		return nil, probs.Err()
	}
	s := &Scope{c: c, topology: topology, profile: profile, params: params, in: in, given: in.Pos != nil,
		memo: &memo{derived: map[string]*value{}, names: map[string]*value{}, text: make([]byte, 0, 512)}}
	if err := s.ownNames().Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Fork binds the same parameters anew, for somebody who uses them at the same time.
func (s *Scope) Fork() (*Scope, error) { return NewScope(s.c, s.topology, s.profile, s.in) }

// WithText adds a name to the scope, such as a value that provisioning has measured.
func (s *Scope) WithText(name, text string) *Scope { return s.with(name, textValue(text)) }

// WithNumbers adds a name whose fields are numbers: "{frontier.S}".
func (s *Scope) WithNumbers(name string, fields map[string]uint64) *Scope {
	v := &value{fields: map[string]*value{}}
	for k, n := range fields {
		v.fields[k] = &value{text: fmt.Sprint(n), number: true}
	}
	return s.with(name, v)
}

func (s *Scope) with(name string, v *value) *Scope {
	child := *s
	child.frames = append(slices.Clip(s.frames), frame{name, v})
	return &child
}

// outer is the scope without the names that iteration and splices have added: derived names, symbols and resource names mean
// the same wherever they stand.
func (s *Scope) outer() *Scope {
	if len(s.frames) == 0 && !s.inKey {
		return s
	}
	child := *s
	child.frames, child.inKey = nil, false
	return &child
}

// Param returns the text of a scalar parameter, and whether it was given.
func (s *Scope) Param(name string) (string, bool) {
	v := s.params[name]
	if v == nil || v.isList || v.fields != nil {
		return "", false
	}
	return v.text, true
}

// lookup resolves the first name of a path: each names, derived names, parameters, symbols, resources.
func (s *Scope) lookup(name string) (*value, error) {
	for i := len(s.frames) - 1; i >= 0; i-- {
		if s.frames[i].name == name {
			return s.frames[i].v, nil
		}
	}
	if v, ok := s.params[name]; ok {
		return v, nil
	}
	if v, ok := s.memo.derived[name]; ok {
		return v, nil
	}
	if t, ok := s.definition(name); ok {
		text, err := s.outer().Text(t)
		if err != nil {
			return nil, err
		}
		v := textValue(text)
		if s.unbound == "" { // else the text may hold what stands for an absent value, which other rows must not see
			s.memo.derived[name] = v
		}
		return v, nil
	}
	if r, ok := s.c.Resources[name]; ok {
		return s.resource(r)
	}
	if s.declared(name) {
		return nil, nil // an optional parameter that was not given
	}
	if s.inKey && s.unbound != "" {
		return s.openKey(name)
	}
	return nil, fmt.Errorf("placeholder {%s} is not declared", name)
}

func (s *Scope) definition(name string) (contract.Template, bool) {
	if s.profile != nil {
		for i := range s.profile.Derive {
			if s.profile.Derive[i].Name == name {
				return s.profile.Derive[i].Text, true
			}
		}
	}
	t, ok := s.c.Symbols[name]
	return t, ok
}

func (s *Scope) declared(name string) bool {
	return s.profile != nil && slices.ContainsFunc(s.profile.Params, func(p *contract.Param) bool { return p.Name == name })
}

func (s *Scope) resource(r *contract.Resource) (*value, error) {
	if v, ok := s.memo.names[r.ID]; ok {
		return v, nil
	}
	prefix := ""
	if r.Bucket {
		prefix = "KV_"
	}
	stream, err := s.outer().textBelow(prefix, r.Name)
	if err != nil {
		return nil, err
	}
	v := &value{text: stream, resource: r}
	s.memo.names[r.ID] = v
	return v, nil
}

// bucketOf is the name of the bucket that a stream name backs.
func bucketOf(stream string) string { return strings.TrimPrefix(stream, "KV_") }

// StreamName returns the name of the stream that backs a declared stream or bucket.
func (s *Scope) StreamName(resource string) (string, error) {
	r, ok := s.c.Resources[resource]
	if !ok {
		return "", fmt.Errorf("resource %q is not declared", resource)
	}
	v, err := s.resource(r)
	if err != nil {
		return "", err
	}
	return v.text, nil
}

// BucketName returns the name of a declared bucket.
func (s *Scope) BucketName(resource string) (string, error) {
	stream, err := s.StreamName(resource)
	if err != nil {
		return "", err
	}
	if !s.c.Resources[resource].Bucket {
		return "", fmt.Errorf("resource %q is a stream, want a bucket", resource)
	}
	return bucketOf(stream), nil
}

// Account returns the account in which a declared resource stands in the scope's topology, "" for an undeclared one.
func (s *Scope) Account(resource string) string {
	r, ok := s.c.Resources[resource]
	if !ok {
		return ""
	}
	return s.topology.Account(r.ID, r.Home)
}
