package audit

import (
	"encoding/json"
	"io"
)

// InputSchema names the document that rules judge.
const InputSchema = "cotalctl/audit-input/v1"

// Input is what rules judge: the contract, and principals as the broker reads them. Arrays are present even when empty. Fields are
// only added.
type Input struct {
	Schema     string           `json:"schema"`
	Now        int64            `json:"now"` // Unix seconds; 0: nothing is judged by the clock
	APIVerbs   []string         `json:"api_verbs"`
	Contract   *InputContract   `json:"contract"`
	Spaces     []*InputSpace    `json:"spaces"` // those that a principal is judged in, by name
	Principals []InputPrincipal `json:"principals"`
}

// InputContract is the contract as declared, in one topology; without a contract its name is "".
type InputContract struct {
	Name      string          `json:"name"`
	Topology  string          `json:"topology"`
	Accounts  []string        `json:"accounts"`
	Profiles  []InputProfile  `json:"profiles"`
	Rows      []InputRow      `json:"rows"`
	Residuals []InputResidual `json:"residuals"`
}

// InputProfile is a declared profile.
type InputProfile struct {
	Name     string `json:"name"`
	Account  string `json:"account"`
	Trust    string `json:"trust"`
	Lifetime string `json:"lifetime"` // class
	Default  int64  `json:"default"`  // seconds
	Max      int64  `json:"max"`      // seconds
	Cite     string `json:"cite"`
}

// InputRow is a declared row of the topology.
type InputRow struct {
	ID        string   `json:"id"`
	Profiles  []string `json:"profiles"` // names; "*" written out, without those that it excepts
	Op        string   `json:"op"`
	Verbs     []string `json:"verbs"`
	Resource  string   `json:"resource"`
	Class     string   `json:"class"`
	Deny      bool     `json:"deny"`
	Cite      string   `json:"cite"`
	Residuals []string `json:"residuals"`
	File      string   `json:"file"`
	Line      int      `json:"line"`
}

// InputResidual is a declared residual.
type InputResidual struct {
	ID    string `json:"id"`
	Who   string `json:"who"`
	Can   string `json:"can"`
	Bound string `json:"bound"`
}

// InputSpace is what the contract resolves to for one space.
type InputSpace struct {
	Name       string           `json:"name"`
	Resources  []InputResource  `json:"resources"`
	Invariants []InputInvariant `json:"invariants"`
}

// InputResource is a stream or bucket of a space; Stream is the name of its stream.
type InputResource struct {
	ID       string         `json:"id"`
	Stream   string         `json:"stream"`
	Bucket   bool           `json:"bucket"`
	Account  string         `json:"account"`
	Subjects []string       `json:"subjects"`
	Config   map[string]any `json:"config"`
	Protect  []string       `json:"protect"`
}

// InputInvariant is an invariant with its families resolved; those of verb-holders are the subjects on which the verb acts.
type InputInvariant struct {
	Code     string `json:"code"`
	Title    string `json:"title"`
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Cite     string `json:"cite"`
	// Restated: the shipped rule of the kind says all of this invariant. Kinds without one, and what its keys cannot say, is false.
	Restated bool         `json:"restated"`
	Families []string     `json:"families"` // in the directions of the kind
	By       []string     `json:"by"`
	Profiles []string     `json:"profiles"`
	Tokens   []InputToken `json:"tokens"`
	Token    int          `json:"token"`
	Pinned   []int        `json:"pinned"` // token indexes that must be literal
	Verbs    []string     `json:"verbs"`
	Queue    string       `json:"queue"`
	Class    string       `json:"class"`
	Trust    string       `json:"trust"` // that profiles of the class must have, or ""
}

// InputToken says that the token at an index carries a parameter of the holder.
type InputToken struct {
	At    int    `json:"at"`
	Param string `json:"param"`
}

// InputPrincipal is one credential or compiled set.
type InputPrincipal struct {
	shown func(string) string // without the secrets of its configuration

	ID      int            `json:"id"` // by which a finding names it
	Name    string         `json:"name"`
	File    string         `json:"file"`
	Profile string         `json:"profile"` // "": of no known profile, untrusted
	Trust   string         `json:"trust"`
	Account string         `json:"account"` // "" where it is not known
	Spaces  []InputMember  `json:"spaces"`
	Inbox   string         `json:"inbox"`   // first token of its own inbox, "" where it is not known
	Unnamed string         `json:"unnamed"` // a token that none of its entries names
	Token   *InputClaims   `json:"token"`   // null for a compiled set
	Pub     InputDirection `json:"pub"`
	Sub     InputDirection `json:"sub"`
}

// InputMember is a space in which a principal is judged, and its parameters there.
type InputMember struct {
	Space    string            `json:"space"`
	Identity map[string]string `json:"identity"`
}

// InputClaims is what a JWT states beside its permissions.
type InputClaims struct {
	Issued    int64    `json:"issued"`
	Expires   int64    `json:"expires"`
	ConnTypes []string `json:"conn_types"`
	Responses bool     `json:"responses"`
	Scoped    bool     `json:"scoped"`
}

// InputDirection is one direction. Where it is open, no allow list restricts it.
type InputDirection struct {
	Open  bool         `json:"open"`
	Allow []InputEntry `json:"allow"`
	Deny  []InputEntry `json:"deny"`
}

// InputEntry is a permission entry; Text is how a finding names it.
type InputEntry struct {
	Pattern string   `json:"pattern"`
	Queue   string   `json:"queue"`
	Text    string   `json:"text"`
	Rows    []string `json:"rows"`
}

// Collector gathers what rules would judge, for whoever writes them.
type Collector struct{ in *Input }

// Rules returns none: a collector judges nothing.
func (c *Collector) Rules() []PolicyRule { return nil }

// Judge adds a batch.
func (c *Collector) Judge(in *Input) ([]RuleFinding, error) {
	in, err := in.withoutSecrets()
	if err != nil {
		return nil, err
	}
	if c.in == nil {
		all := *in
		all.Spaces, all.Principals = []*InputSpace{}, []InputPrincipal{}
		c.in = &all
	}
	for _, s := range in.Spaces {
		c.in.addSpace(s)
	}
	for _, p := range in.Principals {
		p.ID = len(c.in.Principals)
		c.in.Principals = append(c.in.Principals, p)
	}
	return nil, nil
}

// WriteJSON writes the one document of everything that was gathered; nothing where nothing was.
func (c *Collector) WriteJSON(w io.Writer) error {
	if c.in == nil {
		return nil
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(c.in)
}
