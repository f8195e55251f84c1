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
	frames   []frame           // each bindings and extra names, innermost last
	derived  map[string]string // derived names and symbols, once evaluated
	names    map[string]*value // resources, once evaluated
	unbound  string            // what an unbound placeholder of a kind's key becomes
	stored   *[]family         // what the streams capture, once evaluated
}

type frame struct {
	name string
	v    *value
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
	return &Scope{c: c, topology: topology, profile: profile, params: params,
		derived: map[string]string{}, names: map[string]*value{}, stored: new([]family)}, nil
}

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

// Param returns the text of a scalar parameter, and whether it was given.
func (s *Scope) Param(name string) (string, bool) {
	v := s.params[name]
	if v == nil || v.isList || v.fields != nil {
		return "", false
	}
	return v.text, true
}

// Named reports whether a name is bound in this scope: a parameter with a value, a derived name, an extra name.
func (s *Scope) Named(name string) bool {
	v, err := s.lookup(name)
	return err == nil && v.present()
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
	if text, ok := s.derived[name]; ok {
		return textValue(text), nil
	}
	if t, ok := s.definition(name); ok {
		text, err := s.Text(t)
		if err != nil {
			return nil, err
		}
		s.derived[name] = text
		return textValue(text), nil
	}
	if r, ok := s.c.Resources[name]; ok {
		return s.resource(r)
	}
	if s.declared(name) || s.unbound != "" {
		return nil, nil // an optional parameter that was not given; in a kind's key, a name of other profiles
	}
	return nil, fmt.Errorf("placeholder {%s} is not declared", name)
}

func (s *Scope) definition(name string) (contract.Template, bool) {
	if s.profile != nil {
		for _, d := range s.profile.Derive {
			if d.Name == name {
				return d.Text, true
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
	if v, ok := s.names[r.ID]; ok {
		return v, nil
	}
	name, err := s.Text(r.Name)
	if err != nil {
		return nil, err
	}
	stream := name
	if r.Bucket {
		stream = "KV_" + name
	}
	v := &value{text: stream, resource: r, fields: map[string]*value{"name": textValue(stream), "bucket": textValue(name)}}
	s.names[r.ID] = v
	return v, nil
}

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
	if _, err := s.StreamName(resource); err != nil {
		return "", err
	}
	return s.names[resource].fields["bucket"].text, nil
}

// Account returns the account in which a declared resource stands in the scope's topology.
func (s *Scope) Account(resource string) string {
	r := s.c.Resources[resource]
	return s.topology.Account(r.ID, r.Home)
}

// path resolves {a.b.c}. A nil value is an absent optional.
func (s *Scope) path(path []string) (*value, error) {
	v, err := s.lookup(path[0])
	if err != nil {
		return nil, err
	}
	for i, field := range path[1:] {
		if v == nil {
			return nil, nil
		}
		if v.kind != nil && field == "key" {
			text, err := s.Text(v.kind.Key)
			if err != nil {
				return nil, err
			}
			v = textValue(text)
			continue
		}
		next, ok := v.fields[field]
		if !ok && !hasField(v.record, field) {
			return nil, fmt.Errorf("{%s} has no field %q", strings.Join(path[:i+1], "."), field)
		}
		v = next
	}
	return v, nil
}

func hasField(r *contract.Record, name string) bool {
	if r == nil {
		return false
	}
	is := func(p *contract.Param) bool { return p.Name == name }
	if slices.ContainsFunc(r.Fields, is) {
		return true
	}
	for _, fields := range r.Cases {
		if slices.ContainsFunc(fields, is) {
			return true
		}
	}
	return false
}

// Text evaluates a template to text.
func (s *Scope) Text(t contract.Template) (string, error) {
	if len(t.Parts) == 1 && t.Parts[0].Path == nil {
		return t.Parts[0].Lit, nil
	}
	buf, err := s.appendText(make([]byte, 0, 128), t)
	return string(buf), err
}

func (s *Scope) appendText(buf []byte, t contract.Template) ([]byte, error) {
	dropDot := false // the token before a following "." was an empty splice at the start
	for _, part := range t.Parts {
		lit := part.Lit
		if part.Path == nil {
			if dropDot {
				lit = strings.TrimPrefix(lit, ".")
			}
			buf, dropDot = append(buf, lit...), false
			continue
		}
		v, err := s.path(part.Path)
		if err != nil {
			return nil, err
		}
		if part.Splice {
			n := len(buf)
			if buf, err = s.appendSplice(buf, part, v); err != nil {
				return nil, err
			}
			if dropDot = len(buf) == n && n == 0; len(buf) == n && n > 0 {
				buf = buf[:n-1] // the "." before the splice
			}
			continue
		}
		text, err := s.scalar(part, v)
		if err != nil {
			return nil, err
		}
		buf = append(buf, text...)
	}
	return buf, nil
}

func (s *Scope) scalar(part contract.Part, v *value) (string, error) {
	name := strings.Join(part.Path, ".")
	switch {
	case v == nil && s.unbound != "":
		return s.unbound, nil
	case v == nil:
		return "", fmt.Errorf("placeholder {%s} has no value: give the parameter, or guard the row with when: {%s: present}", name, name)
	case v.isList:
		return "", fmt.Errorf("placeholder {%s} is a list: iterate it with each", name)
	case v.record != nil && v.branch == "":
		return "", fmt.Errorf("placeholder {%s} is a record: name one of its fields", name)
	}
	return v.asToken(), nil
}

// asToken applies the grammar's transform, such as the dots of an endpoint name to "_" (§13.2 uses one token).
func (v *value) asToken() string {
	if v.grammar == nil || len(v.grammar.AsToken) == 0 {
		return v.text
	}
	text := v.text
	for _, from := range contract.SortedKeys(v.grammar.AsToken) {
		text = strings.ReplaceAll(text, from, v.grammar.AsToken[from])
	}
	return text
}

// appendSplice writes the tokens of a one-of value's variant; its fields are visible to them, and so is the outer scope.
func (s *Scope) appendSplice(buf []byte, part contract.Part, v *value) ([]byte, error) {
	if v == nil || v.branch == "" {
		return nil, fmt.Errorf("splice {%s...} is not a one-of record with a value", strings.Join(part.Path, "."))
	}
	inner := *s
	for _, name := range contract.SortedKeys(v.fields) {
		inner.frames = append(slices.Clip(inner.frames), frame{name, v.fields[name]})
	}
	tokens := s.c.Variants[v.record.Name].Cases[v.branch]
	for i, t := range tokens {
		if i > 0 {
			buf = append(buf, '.')
		}
		var err error
		if buf, err = inner.appendText(buf, t); err != nil {
			return nil, err
		}
	}
	return buf, nil
}
