package compile

import (
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Holds reports whether all conditions are met. Absence fails every test but "absent".
func (s *Scope) Holds(conds []contract.Cond) (bool, error) {
	for i := range conds {
		v, err := s.path(conds[i].Path)
		if err != nil {
			return false, err
		}
		ok, err := meets(&conds[i], v)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func meets(c *contract.Cond, v *value) (bool, error) {
	switch c.Kind {
	case contract.CondPresent:
		return v.present(), nil
	case contract.CondAbsent:
		return !v.present(), nil
	}
	if v == nil {
		return false, nil
	}
	switch c.Kind {
	case contract.CondEqual, contract.CondIn:
		return slices.Contains(c.Values, v.text), nil
	case contract.CondHas:
		return slices.ContainsFunc(v.list, func(e *value) bool { return e.text == c.Values[0] }), nil
	case contract.CondAny:
		for _, e := range v.list {
			ok, err := allFields(c.Sub, e)
			if err != nil || ok {
				return ok, err
			}
		}
		return false, nil
	}
	return false, fmt.Errorf("condition %q is not known", c.Kind)
}

func allFields(conds []contract.Cond, e *value) (bool, error) {
	for i := range conds {
		v := e
		for _, field := range conds[i].Path {
			if v != nil {
				v = v.fields[field]
			}
		}
		if ok, err := meets(&conds[i], v); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// Each calls do for every binding of the each items, innermost last, that meets the conditions. What it takes counts as used.
func (s *Scope) Each(items []contract.Each, when []contract.Cond, do func(*Scope) error) error {
	return s.bindings(items, func(s *Scope) error {
		ok, err := s.Holds(when)
		if err != nil || !ok {
			return err
		}
		for i := range s.frames {
			s.frames[i].v.used = true
		}
		return do(s)
	})
}

// bindings calls do for every binding of the each items, innermost last, whatever conditions there are.
func (s *Scope) bindings(items []contract.Each, do func(*Scope) error) error {
	if len(items) == 0 {
		return do(s)
	}
	elements, err := s.elements(items[0])
	if err != nil {
		return err
	}
	for _, v := range elements {
		v.iterated = true
		if err := s.with(items[0].As, v).bindings(items[1:], do); err != nil {
			return err
		}
	}
	return nil
}

// elements returns what an each item iterates over, in order.
func (s *Scope) elements(e contract.Each) ([]*value, error) {
	if e.Path != nil {
		v, err := s.path(e.Path)
		if err != nil || v == nil {
			return nil, err
		}
		if !v.isList {
			return nil, fmt.Errorf("each %v is not a list", e.Path)
		}
		return v.list, nil
	}
	out := make([]*value, len(e.Literals))
	for i, l := range e.Literals {
		if l.Resource != "" {
			v, err := s.resource(s.c.Resources[l.Resource])
			if err != nil {
				return nil, err
			}
			out[i] = v
			continue
		}
		text, err := s.Text(l.Text)
		if err != nil {
			return nil, err
		}
		out[i] = textValue(text)
	}
	return out, nil
}
