package contract

import "time"

// Trust classes of a profile, from least to most trusted with the space.
const (
	TrustUntrusted     = "untrusted"
	TrustSinglePurpose = "single-purpose"
	TrustProvisioning  = "provisioning"
	TrustSystem        = "system"
	TrustSealed        = "sealed" // lives in process memory; minting refuses to write it
)

// Lifetime classes.
const (
	LifetimeOneShot  = "one-shot"
	LifetimeStanding = "standing"
	LifetimeNone     = "none" // never expires
)

// Lifetime bounds a profile's credentials.
type Lifetime struct {
	Class   string
	Default time.Duration // 0 for LifetimeNone
	Max     time.Duration // 0: no more than Default
}

// Profile declares who holds a set of rows.
type Profile struct {
	Name     string
	Pos      Pos
	Home     string // account
	Trust    string
	Lifetime Lifetime
	Gate     int // bound of the encoded user JWT in bytes; 0: the default of minting
	Params   []*Param
	Derive   []Derive // evaluated in order, each sees the ones before
	Tags     []string // parameters and derived names that a user JWT carries as "name:value" for humans and audits
	Family   *Family
	Subs     int64 // user JWT "subs" limit; 0: none stated
	Overlay  bool
	Cite     string
}

// Family makes one profile of every member of a collection; its parameter is bound to the member.
type Family struct {
	Param string
	Of    string // "kinds"
	Where map[string]bool
}

// Derive names a template so that rows can refer to it.
type Derive struct {
	Name string
	Text Template
}

// Lifecycle is what provisioning creates and removes for one holder of a profile.
type Lifecycle struct {
	Name      string
	Pos       Pos
	Profile   string // whose parameters it takes
	By        string // profile that creates
	RemovedBy string // profile that removes
	Once      bool   // a retired one is never begun again: a successor has an identity of its own
	Durables  []LifecycleDurable
	Records   []LifecycleRecord
	Cite      string
}

// LifecycleDurable is a durable of a lifecycle, or one per element of what it iterates. A kept one (role-shared) survives the
// lifecycle.
type LifecycleDurable struct {
	Consumer string
	Each     []Each
	When     []Cond
	Filter   *Template // of a consumer that has none of its own
	Keep     bool
}

// LifecycleRecord is a KV row of a lifecycle. The name "frontier.<stream id>" is bound in its templates to the stream's last
// sequence at activation.
type LifecycleRecord struct {
	Bucket string
	Key    Template
	Value  Node
}
