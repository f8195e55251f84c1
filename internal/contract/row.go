package contract

import "slices"

// Row is one line of the ownership matrix: who may do what on which subjects.
type Row struct {
	ID         string
	Pos        Pos
	Overlay    bool
	Profiles   []string // names, or "*" for every profile
	Except     []string // beside "*": profiles that do not have the row
	Deny       bool     // effect: deny
	Account    string   // "" : the account of the row's resource, else of the profile
	Topologies []string // empty: all
	Each       []Each
	When       []Cond
	Op         Op
	Class      string // ClassMediated or ClassDirect
	Cite       string
	Residuals  []string
	Waivers    []*Waiver
	Exception  string // names the general rule that the row breaks on purpose, such as "endpoint-wildcard"
	Unbound    string // what an absent optional, or an unbound placeholder of a kind's key, becomes: "*", or "" (an error)
}

// In reports whether the row stands in a topology.
func (r *Row) In(topology string) bool {
	return len(r.Topologies) == 0 || slices.Contains(r.Topologies, topology)
}

// Holds reports whether a profile has the row.
func (r *Row) Holds(profile string) bool {
	if slices.Contains(r.Profiles, "*") {
		return !slices.Contains(r.Except, profile)
	}
	return slices.Contains(r.Profiles, profile)
}

// Classes of a row.
const (
	ClassMediated = "mediated"
	ClassDirect   = "direct"
)

// OpKind is the operation of a row.
type OpKind string

// The closed set of operations.
const (
	OpPublish   OpKind = "publish"
	OpSubscribe OpKind = "subscribe"
	OpServe     OpKind = "serve"   // queue-qualified subscribe
	OpConsume   OpKind = "consume" // verbs on one consumer: create, info, next, ack, delete
	OpRead      OpKind = "read"    // msg-get or direct-get of a resource
	OpKV        OpKind = "kv"      // put, get or watch of a key grammar
	OpStream    OpKind = "stream"  // create, info, update, purge, delete of a resource
	OpSystem    OpKind = "system"  // request or subscribe below $SYS
	OpAPI       OpKind = "api"     // a raw API tail
	OpShare     OpKind = "share"   // an export of one account and its import in others
)

// Op is the operation of a row with its arguments; fields that its kind does not use are zero.
type Op struct {
	Kind     OpKind
	Subject  Template  // publish, subscribe, serve, system (below $SYS.), api (below $JS.API.), share
	Queue    Template  // serve
	Resource string    // consume without a declared consumer, read, kv, stream: stream or bucket id
	Consumer string    // consume: id of a declared consumer
	Name     Template  // consume without a declared consumer: the literal consumer name
	Filter   *Template // consume: filter of a create; overrides the consumer's own
	Verbs    []string  // consume, stream; kv: put, get, watch; system: request, subscribe
	How      string    // read: "msg-get", "direct-get"
	Why      string    // read: "fencing", "cas-pinning", "data", …
	Key      *Template // kv, and direct-get by subject
	From     string    // share: exporting account
	To       []string  // share: importing accounts
	Type     string    // share: "stream" or "service"
}

// Each iterates a row over a list: a list-valued path, or literals.
type Each struct {
	As       string
	Path     []string
	Literals []Literal
}

// Literal is an element of a literal list: a resource, or text.
type Literal struct {
	Resource string // resource id, else ""
	Text     Template
}

// CondKind is how a condition compares.
type CondKind string

// The closed set of conditions: presence, equality, membership, and a nested test over list elements.
const (
	CondPresent CondKind = "present"
	CondAbsent  CondKind = "absent"
	CondEqual   CondKind = "equal" // to Values[0]
	CondIn      CondKind = "in"    // one of Values
	CondHas     CondKind = "has"   // the list holds Values[0]
	CondAny     CondKind = "any"   // some element meets all of Sub
)

// Cond is one condition; all conditions of a row must hold.
type Cond struct {
	Path   []string
	Kind   CondKind
	Values []string
	Sub    []Cond
}
