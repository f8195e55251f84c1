// Package contract holds a wire contract as plain Go values: what the YAML of matrix/ and profiles/ says after loading and
// before anything is compiled from it. It owns the vocabulary (row, profile, resource, grammar, residual) and the template
// syntax; it knows NATS names but no protocol on NATS, reads no files and decides nothing.
package contract

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Pos is where something was declared. The zero value means "not from a file".
type Pos struct {
	File string
	Line int
	Col  int
}

// String renders file:line:col, or "" for the zero value.
func (p Pos) String() string {
	if p == (Pos{}) {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Compare orders positions by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// SystemAccount is the account name that every topology has beside its own: the broker's system account.
const SystemAccount = "system"

// Contract is one wire contract, complete and cross-checked. Maps are keyed by declared id; emit them through [Sorted].
type Contract struct {
	Name       string
	Base       *Base       // the contract that this one extends; nil: none
	ThirdParty *ThirdParty // what an overlay may add to the collections of this contract; nil: nothing
	Document   Document
	Broker     Broker
	Symbols    map[string]Template // subject prefixes such as P
	Space      string              // the parameter that names the space, always "space"
	Topologies []*Topology         // as declared; the first one marked default, else the first, is the default
	Grammars   map[string]*Grammar
	Records    map[string]*Record
	Variants   map[string]*Variant
	Kinds      map[string]*Kind
	Residuals  map[string]*Residual
	Resources  map[string]*Resource
	Consumers  map[string]*Consumer
	Profiles   map[string]*Profile
	Lifecycles map[string]*Lifecycle
	Settings   map[string]*Choice // space-level choices made at provisioning, such as a deployment kind
	Roles      map[string]string  // what the tool itself does for a space → the profile that it does it as; see Role…
	Rows       []*Row             // in declaration order
	Invariants []*Invariant
	Waivers    []*Waiver // of findings that are about no row
	Fixtures   *Fixtures // nil: the contract declares none
}

// Base is what an overlay must know of the contract that it extends. What the overlay added is marked where it stands.
type Base struct {
	Name    string
	Symbols []string // the base's own, sorted
}

// ThirdParty says which record kinds an overlay may register.
type ThirdParty struct {
	Kinds *Grammar        // of their names: dotted, with the token that a name becomes
	Where map[string]bool // flags that such a kind must have, or not have
}

// Roles of a contract: the tool's own duties, each done with a credential of the named profile.
const (
	RoleProvision  = "provision"       // creates the resources of a space
	RoleTeardown   = "teardown"        // deletes what may be deleted
	RolePushClaims = "push-claims"     // pushes account JWTs into a running resolver (system account)
	RoleDoctor     = "doctor"          // reads the servers' state (system account)
	RoleInspect    = "inspect"         // reads the metadata of a space's streams and consumers
	RoleConnect    = "probe-connect"   // connects, and that is all
	RoleSchedules  = "probe-schedules" // makes a scratch stream, arms a schedule in it and hears it fire
)

// Document names the specification that a contract implements.
type Document struct {
	Title, Version, Date string
}

// Broker is the version floor of a contract.
type Broker struct {
	Floor, Hardened string // "2.12", "2.15.3"
	MaxControlLine  int    // bytes that a provisioned broker is configured with
	MaxPayload      int    // bytes of the largest message; 0 where the contract states none
	Margin          int    // bytes that a control line must have over the largest CONNECT
}

// The settings of sizes where a contract or profile states none.
const (
	DefaultGate   = 16384 // bytes of an encoded user JWT
	DefaultMargin = 1024
)

// ConnectOverhead is what a CONNECT line of nats.go holds beside the user JWT, for a client without a name. A test of internal/mint
// holds it to the library.
const ConnectOverhead = 261

// MostGate is the largest policy gate that is tighter than the transport: a credential at the gate still connects, with the margin.
func (b Broker) MostGate() int { return b.MaxControlLine - b.Margin - ConnectOverhead }

// GateOf is the policy gate of a profile: its own, else the default one, which never exceeds what the transport carries.
func (c *Contract) GateOf(p *Profile) int {
	if p.Gate > 0 {
		return p.Gate
	}
	return min(DefaultGate, c.Broker.MostGate())
}

// Topology says in which account of a space each resource and profile stands.
type Topology struct {
	Name     string
	Pos      Pos
	Default  bool
	Accounts []string
	Closed   []string          // accounts in which nothing of an overlay stands
	Place    map[string]string // resource or profile id → account; "*" is the rest
}

// Account returns the account in which the named resource or profile stands: its own place, else the declared home where
// this topology has that account, else the place of "*".
func (t *Topology) Account(id, home string) string {
	if a, ok := t.Place[id]; ok {
		return a
	}
	if home == SystemAccount || slices.Contains(t.Accounts, home) {
		return home
	}
	return t.Place["*"]
}

// Topology returns the named topology, or the default one for "".
func (c *Contract) Topology(name string) (*Topology, bool) {
	if name == "" {
		for _, t := range c.Topologies {
			if t.Default {
				return t, true
			}
		}
		if len(c.Topologies) == 0 {
			return nil, false
		}
		return c.Topologies[0], true
	}
	for _, t := range c.Topologies {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// Kind is a record kind of the contract: a key grammar and its rules.
type Kind struct {
	Name         string
	Grammar      *Grammar // of a third party's name, which becomes one token; nil: the name is one
	ThirdParty   bool     // registered by an overlay
	Pos          Pos
	Key          Template
	Split        bool // spec and status halves
	NeverDeleted bool
	Readable     bool // by callers, through the read mediator
	Cite         string
}

// Residual says in words what a compromised holder of a row can still do, and what bounds it.
type Residual struct {
	ID              string
	Pos             Pos
	Who, Can, Bound string
	Covers          []string   // codes of the generic checks whose finding on a row with this residual is declared by it
	Warn            []string   // topologies in which the residual deserves a warning, and not only a note
	Reaches         []Template // families: the residual is one of the entries that reach one of them; empty: of all that its rows give
	Deputy          []string   // of [DeputyClasses]: what a holder can have the server store elsewhere, declared by the residual
	Cite            string
}

// Waiver accepts the findings of one code for a while: those of the row that it stands beside, or those about a profile or resource.
type Waiver struct {
	Pos    Pos
	Code   string
	About  string // a profile or resource; "" beside a row
	Reason string
	Until  time.Time // the last day, at its beginning in UTC
}

// Expired reports whether the last day is over.
func (w *Waiver) Expired(now time.Time) bool { return !now.Before(w.Until.AddDate(0, 0, 1)) }

// Choice is an enumerated decision that the operator makes when a space is provisioned; each value binds names for templates.
type Choice struct {
	Name    string
	Pos     Pos
	Default string
	Values  map[string]map[string]string // choice → name → value, every choice binding the same names
	Cite    string
}

// Sorted returns the values of m in key order, so that no map order reaches an output.
func Sorted[V any](m map[string]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// SortedKeys returns the keys of m in order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
