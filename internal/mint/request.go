package mint

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// DefaultGate bounds an encoded user JWT in bytes where neither the request nor the profile states another gate.
const DefaultGate = contract.DefaultGate

// Request says what to mint. Every credential is confined to the STANDARD and WEBSOCKET connection types: on a leaf node
// connection the broker does not hold publish permissions.
type Request struct {
	Set        *compile.PermissionSet
	Prepared   *Prepared // instead of Set: a set that is minted from many times
	Scoped     bool      // the set is the scope of the issuer's key: the JWT carries tags and no permissions or limits of its own
	Profile    *contract.Profile
	Name       string        // claim "name"; "" leaves it out
	UserSeed   []byte        // 32 bytes of raw key material
	UserPublic string        // instead of UserSeed: a user key ("U…") that the caller does not hold
	Tags       []string      // written as given, in this order
	Now        time.Time     // issue time; the fraction of a second is dropped
	TTL        time.Duration // 0: the profile's default; the fraction of a second is dropped
	Gate       int           // bytes; 0: the profile's gate, else DefaultGate
}

// String names the request without its key material.
func (r Request) String() string {
	if r.Profile == nil {
		return "mint request"
	}
	return "mint request for profile " + r.Profile.Name
}

// GoString is String: no verb prints the seed.
func (r Request) GoString() string { return r.String() }

// terms are the numbers that a checked request comes down to: Unix seconds and bytes.
type terms struct {
	issued, expires int64
	gate            int
	subs            int64
}

func (r *Request) check() (terms, error) {
	if r.Profile == nil {
		return terms{}, refuse("profile", "none", "the profile of the permission set", "")
	}
	if err := mintable(r.Profile); err != nil {
		return terms{}, err
	}
	if err := r.checkSet(); err != nil {
		return terms{}, err
	}
	if err := checkTexts(r.Name, r.Tags); err != nil {
		return terms{}, err
	}
	ttl, err := lifetime(r.Profile, r.TTL)
	if err != nil {
		return terms{}, err
	}
	issued := r.Now.Unix()
	if issued <= 0 {
		return terms{}, refuse("issue time", r.Now.UTC().Format(time.RFC3339), "a time after 1970", "pass the clock's reading")
	}
	t := terms{issued: issued, expires: issued + int64(ttl/time.Second), gate: r.Gate, subs: r.Profile.Subs}
	if t.gate == 0 {
		t.gate = r.Profile.Gate
	}
	if t.gate == 0 {
		t.gate = DefaultGate
	}
	if t.gate < 0 || t.subs < 0 {
		return terms{}, refuse("limits", fmt.Sprintf("gate %d, subs %d", t.gate, t.subs), "no negative number", "")
	}
	if t.subs == 0 {
		t.subs = noLimit
	}
	return t, nil
}

// mintable refuses sealed profiles, and trust and lifetime classes that it does not know.
func mintable(p *contract.Profile) error {
	switch p.Trust {
	case contract.TrustUntrusted, contract.TrustSinglePurpose, contract.TrustProvisioning, contract.TrustSystem:
	case contract.TrustSealed:
		return &SealedError{Profile: p.Name, Reason: "trust sealed"}
	default:
		return refuse("trust of profile "+p.Name, quoted(p.Trust), "a trust class", "")
	}
	switch p.Lifetime.Class {
	case contract.LifetimeOneShot, contract.LifetimeStanding:
		return nil
	case contract.LifetimeNone:
		return &SealedError{Profile: p.Name, Reason: "lifetime none"}
	}
	return refuse("lifetime of profile "+p.Name, quoted(p.Lifetime.Class), "a lifetime class", "")
}

// checkSet holds the set to the profile it is minted for, so that no profile lends its lifetime or gate to another's authority.
func (r *Request) checkSet() error {
	if r.Set != nil && r.Prepared != nil {
		return refuse("permissions", "a set and a prepared set", "one of them", "")
	}
	set := r.set()
	if set == nil {
		return refuse("permissions", "none", "a compiled permission set", "")
	}
	if set.Profile != r.Profile.Name {
		return refuse("permission set", "one of profile "+quoted(set.Profile), quoted(r.Profile.Name), "compile the profile that is minted")
	}
	return nil
}

// set is the permission set in whichever form it was given.
func (r *Request) set() *compile.PermissionSet {
	if r.Prepared != nil {
		return r.Prepared.set
	}
	return r.Set
}

func checkTexts(name string, tags []string) error {
	if !utf8.ValidString(name) {
		return refuse("name", "bytes that are not UTF-8", "UTF-8", "")
	}
	for n, tag := range tags {
		if tag == "" || !utf8.ValidString(tag) {
			return refuse(fmt.Sprintf("tag %d", n+1), "an empty or non-UTF-8 text", "UTF-8", "")
		}
		if slices.Contains(tags[:n], tag) {
			return refuse("tags", quoted(tag)+" twice", "each once", "")
		}
	}
	return nil
}

// lifetime bounds what is asked for. A profile without a maximum admits no more than its default: fail closed, for one-shot and
// standing profiles alike.
func lifetime(p *contract.Profile, asked time.Duration) (time.Duration, error) {
	bound := p.Lifetime.Max
	if bound == 0 {
		bound = p.Lifetime.Default
	}
	if asked == 0 {
		asked = p.Lifetime.Default
	}
	if asked < time.Second || asked > bound {
		return 0, &LifetimeError{Profile: p.Name, Got: asked, Max: bound}
	}
	return asked.Truncate(time.Second), nil
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }
