package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

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
		next, ok, err := s.field(v, field)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("{%s} has no field %q", strings.Join(path[:i+1], "."), field)
		}
		v = next
	}
	return v, nil
}

// field returns a field of a value; nil and true is an optional one that was not given.
func (s *Scope) field(v *value, field string) (*value, bool, error) {
	switch {
	case v.kind != nil && field == "key":
		key := *s
		key.inKey = true
		text, err := key.Text(v.kind.Key)
		return textValue(text), true, err
	case v.resource != nil && field == "name":
		return v, true, nil
	case v.resource != nil && field == "bucket" && v.resource.Bucket:
		return textValue(bucketOf(v.text)), true, nil
	}
	next, ok := v.fields[field]
	return next, ok || hasField(v.record, field), nil
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
func (s *Scope) Text(t contract.Template) (string, error) { return s.textBelow("", t) }

// textBelow is Text with a prefix in front.
func (s *Scope) textBelow(prefix string, t contract.Template) (string, error) {
	if prefix == "" && len(t.Parts) == 1 && t.Parts[0].Path == nil {
		return t.Parts[0].Lit, nil
	}
	at := len(s.memo.text)
	s.memo.text = append(s.memo.text, prefix...)
	err := s.write(t, at+len(prefix))
	out := s.memo.text[at:]
	s.memo.text = s.memo.text[:at]
	if err != nil {
		return "", err
	}
	return string(out), nil
}

// write appends a template that starts at byte start of the memo's text.
func (s *Scope) write(t contract.Template, start int) error {
	m := s.memo
	dropDot := false // the token before a following "." was an empty splice at the start
	for i := range t.Parts {
		part := &t.Parts[i]
		n := len(m.text)
		var err error
		switch {
		case part.Path == nil && dropDot:
			m.text, dropDot = append(m.text, strings.TrimPrefix(part.Lit, ".")...), false
		case part.Path == nil:
			m.text = append(m.text, part.Lit...)
		case !part.Splice:
			err = s.placeholder(part)
		default:
			err = s.splice(part)
		}
		if err != nil {
			return err
		}
		if !part.Splice || len(m.text) > n {
			continue
		}
		if dropDot = n == start; !dropDot {
			m.text = m.text[:n-1] // the "." before an empty splice
		}
	}
	return nil
}

func (s *Scope) placeholder(part *contract.Part) error {
	v, err := s.path(part.Path)
	if err != nil {
		return err
	}
	text, err := s.scalar(part, v)
	s.memo.text = append(s.memo.text, text...)
	return err
}

func (s *Scope) scalar(part *contract.Part, v *value) (string, error) {
	switch {
	case v == nil && s.unbound != "":
		return s.unbound, nil
	case v == nil:
		return "", s.absent(part.Path)
	case v.isList:
		return "", fmt.Errorf("placeholder {%s} is a list: iterate it with each", strings.Join(part.Path, "."))
	case v.record != nil && v.branch == "", v.record == nil && v.fields != nil:
		return "", fmt.Errorf("placeholder {%s} is a record: name one of its fields", strings.Join(part.Path, "."))
	}
	return v.asToken(), nil
}

// asToken applies the grammar's transform, such as the dots of an endpoint name to "_": all replacements at once.
func (v *value) asToken() string { return v.grammar.OneToken(v.text) }

// splice writes the tokens of a one-of value's variant; its fields are visible to them, and so is the scope around it.
func (s *Scope) splice(part *contract.Part) error {
	v, err := s.path(part.Path)
	if err != nil {
		return err
	}
	if v == nil || v.branch == "" {
		return fmt.Errorf("splice {%s...} is not a one-of record with a value", strings.Join(part.Path, "."))
	}
	variant := s.c.Variants[v.record.Name]
	if variant == nil {
		return fmt.Errorf("splice {%s...}: record %s has no variant", strings.Join(part.Path, "."), v.record.Name)
	}
	inner := s
	for _, name := range contract.SortedKeys(v.fields) {
		inner = inner.with(name, v.fields[name])
	}
	for i, t := range variant.Cases[v.branch] {
		if i > 0 {
			s.memo.text = append(s.memo.text, '.')
		}
		if err := inner.write(t, len(s.memo.text)); err != nil {
			return err
		}
	}
	return nil
}
