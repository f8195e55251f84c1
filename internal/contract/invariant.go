package contract

import (
	"slices"
	"strings"
	"time"
)

// ExclusiveWrite is the kind of an invariant that names who alone may publish in a family.
const ExclusiveWrite = "exclusive-write"

// The kinds of invariants whose families say what they look at, not what is anybody's.
const (
	Confined  = "confined"
	Placement = "placement"
)

// ExclusiveRead is the kind of an invariant that names who alone may subscribe in a family.
const ExclusiveRead = "exclusive-read"

// Invariant is one audit rule of the contract over a closed set of kinds; unused fields are empty.
type Invariant struct {
	Code       string
	Pos        Pos
	Overlay    bool
	Title      string // in a few words; "" where kind and families say it
	Kind       string
	Severity   string
	Cite       string
	Topologies []string // in which it holds; empty: all
	Families   []Template
	By         []string       // profiles that may
	Profiles   []string       // profiles it is about; empty: all
	Tokens     map[int]string // token index → parameter
	Token      int
	Pinned     []int  // token indexes that must be literal
	Direction  string // DirPublish, DirSubscribe or DirBoth; "" is what the kind says
	Verb       string // "stream.msg-get", "consumer.create", …, or a group such as "stream.manage"
	Verbs      []string
	Why        []string // what the rows of the holders must state
	On         []string // resource ids
	Queue      Template
	Queued     bool // a queue is asked for: Queue, else the one that token Token spells
	Class      string
	Max        time.Duration // of a lifetime; 0: not bounded
	Trust      string        // of profiles with the lifetime class
	Bytes      int           // of an encoded user JWT
	Within     []Bound
	Between    []Side
	Settings   map[string]any // resource setting by JSON name, or update, delete, closed
	Protect    []string       // settings that the resource must protect
	Account    string         // of deny-present, or the one of a placement
	Accounts   []string       // of a placement that admits several
	Exception  string         // rows with this exception may pass, as far as they give the entry
	Classes    []string       // of no-deputy: of [DeputyClasses]; empty: all
}

// In reports whether the invariant holds in a topology.
func (i *Invariant) In(topology string) bool {
	return len(i.Topologies) == 0 || slices.Contains(i.Topologies, topology)
}

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
