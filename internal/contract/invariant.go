package contract

// The directions that an invariant may be about.
const (
	DirPublish   = "publish"
	DirSubscribe = "subscribe"
	DirBoth      = "both"
)

// Bound is a family within which something must lie. It may name parameters and derived names of the profiles, and the elements of their
// lists: then it is one family for each binding of Each that meets When.
type Bound struct {
	Each   []Each
	When   []Cond
	Family Template
	Queue  Template // zero: with any queue, or none
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

// Setting returns how a resource stands to a key of [Invariant].Settings: its configuration, or one of its flags.
func (r *Resource) Setting(key string) any {
	switch key {
	case "update":
		return r.Update
	case "delete":
		return r.Delete
	case "closed":
		return r.Closed
	}
	return r.Config[key]
}
