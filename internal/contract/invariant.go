package contract

import (
	"slices"
	"strings"
)

// The directions that an invariant may be about.
const (
	DirPublish   = "publish"
	DirSubscribe = "subscribe"
	DirBoth      = "both"
)

// Bound is a family within which something must lie, which may name parameters and derived names of the profiles, and the elements of
// their lists: then it is one family for each binding of Each that meets When. Or it is the subjects on which verbs act.
type Bound struct {
	Each   []Each
	When   []Cond
	Family Template
	Queue  Template // zero: with any queue, or none
	Verbs  []string // in place of Family: on the resources of On, or on any
	On     []string
}

// Side is one of two authorities that no credential may hold together.
type Side struct {
	Publish, Subscribe []Template
	Verbs              []string // beside Publish: on the resources of On, or on any
	On                 []string
}

// AllVerbs lists the verbs that the invariant names, however it names them.
func (i *Invariant) AllVerbs() []string {
	if i.Verb == "" {
		return i.Verbs
	}
	return append([]string{i.Verb}, i.Verbs...)
}

// Places lists the accounts that a placement names.
func (i *Invariant) Places() []string {
	if i.Account == "" {
		return i.Accounts
	}
	return []string{i.Account}
}

// AbsentKeys are the keys of a stream that no resource may set; a setting invariant states that they are none.
var AbsentKeys = []string{"mirror", "republish", "sources", "subject_transform"}

// Setting returns how a resource stands to a key of [Invariant].Settings: its configuration, or one of its flags, or its subjects as
// they are written; nil for a key that it does not set.
func (r *Resource) Setting(key string) any {
	switch key {
	case "update":
		return r.Update
	case "delete":
		return r.Delete
	case "closed":
		return r.Closed
	case "subjects":
		if len(r.Subjects) == 0 {
			return nil
		}
		return SubjectList(r.Subjects)
	}
	return r.Config[key]
}

// SubjectList is a list of subjects as [Invariant].Settings holds it.
func SubjectList(list []Template) string {
	var out []string
	for _, t := range list {
		out = append(out, t.Source)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
