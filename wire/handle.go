package wire

// Bounds of a handle. The text has none; a redeemed credential must stay below 16 KiB, so that nothing larger can be of use.
const (
	MaxHandleBytes = 64 << 10
	MaxChain       = 16 // links of an attenuation chain
)

// liveTTL is the longest validity of a live handle, in milliseconds (§13.6: exp ≤ 24h).
const liveTTL = 24 * 60 * 60 * 1000

// Mode is the authorization mode that a command of a handle compiles to (§13.2, §13.6).
type Mode string

// The modes of the three legal target shapes. A handle has no case for "any" (§13.6).
const (
	ModeNone   Mode = "none"   // no target: the untargeted form, or self, as the command's contract says
	ModeOwner  Mode = "owner"  // targetOwner alone
	ModeChild  Mode = "child"  // targetOwner alone, authz child
	ModeLedger Mode = "ledger" // targetOwner alone, authz ledger
	ModeHandle Mode = "handle" // the full triple
)

// Handle is a capability handle (§13.6), parsed closed. It is a claim: nothing here has verified its signature, its issuer, its
// revocation or its time, so that it confers nothing yet.
type Handle struct {
	ID           string
	Space        string
	Issuer       string // issuer.keyId
	Holder       Holder
	Grants       []HandleGrant
	IssuedAt     int64 // iat, epoch milliseconds
	NotBefore    int64 // nbf; 0 where absent
	Expires      int64 // exp
	ParentDigest string
	Sturdy       bool
	Epoch        int64  // of a live handle: the process epoch that it binds
	Digest       string // content digest of the artifact as it was read, sig included: what a child names as its parent

	places map[string]place
}

type place struct{ line, col int }

// Holder is the one principal and lifecycle that may present or redeem a handle.
type Holder struct {
	Principal
	LifecycleUID string
}

// HandleGrant is one grant entry: commands of one endpoint, or of one instance of it, and read subtrees.
type HandleGrant struct {
	Endpoint string
	Instance string // "" grants the class
	Commands []HandleCommand
	Reads    []string // literal record keys or event topics, each with all below it; a final ">" is all below alone
}

// HandleCommand is one command of a grant entry with its target.
type HandleCommand struct {
	Name                            string
	Authz                           string // "" is owner where TargetOwner stands alone
	TargetOwner                     string
	TargetActor, TargetLifecycleUID string
}

// Mode is what the target shape compiles to.
func (c HandleCommand) Mode() Mode {
	switch {
	case c.TargetOwner == "":
		return ModeNone
	case c.TargetActor != "":
		return ModeHandle
	case c.Authz == "":
		return ModeOwner
	}
	return Mode(c.Authz)
}

// Start is when the handle begins to be valid.
func (h *Handle) Start() int64 { return max(h.IssuedAt, h.NotBefore) }

// Place is where the value of a path stands in the artifact, from 1; 0 where there is none.
func (h *Handle) Place(path string) (line, col int) {
	p := h.places[path]
	return p.line, p.col
}

// ParseHandle reads a handle closed: every key known and given once, every value of its type and grammar, every target of one of
// the three legal shapes. Everything else is contract-invalid (§13.6) and reported at once, as [Faults].
func ParseHandle(data []byte) (*Handle, error) {
	if len(data) > MaxHandleBytes {
		return nil, Faults{{Line: 1, Col: 1, What: "too large", Got: decimal(len(data)) + " bytes", Want: "at most " + decimal(MaxHandleBytes)}}
	}
	root, fault := parseJSON(data)
	if fault != nil {
		return nil, Faults{*fault}
	}
	r := &handleReader{places: map[string]place{}}
	h := r.handle(root)
	if err := r.faults.err(); err != nil {
		return nil, err
	}
	h.Digest, h.places = contentDigest(root), r.places
	return h, nil
}
