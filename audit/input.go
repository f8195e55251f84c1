package audit

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// apiNames are the verbs of the JetStream API.
func apiNames() []string {
	table := contract.APIVerbs()
	out := make([]string, len(table))
	for i, v := range table {
		out[i] = v.API
	}
	return out
}

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

func (a *auditor) newInput() *Input {
	if a.inputContract == nil {
		a.inputContract = a.describeContract()
	}
	in := &Input{Schema: InputSchema, APIVerbs: apiNames(), Contract: a.inputContract, Spaces: []*InputSpace{}, Principals: []InputPrincipal{}}
	if !a.cfg.Now.IsZero() {
		in.Now = a.cfg.Now.Unix()
	}
	return in
}

func (a *auditor) describeContract() *InputContract {
	out := &InputContract{Accounts: []string{}, Profiles: []InputProfile{}, Rows: []InputRow{}, Residuals: []InputResidual{}}
	c := a.cfg.Contract
	if c == nil {
		return out
	}
	out.Name, out.Topology, out.Accounts = c.Name, a.topology.Name, present(a.topology.Accounts)
	for _, p := range contract.Sorted(c.Profiles) {
		out.Profiles = append(out.Profiles, InputProfile{Name: p.Name, Account: a.topology.Account(p.Name, p.Home), Trust: p.Trust,
			Lifetime: p.Lifetime.Class, Default: int64(p.Lifetime.Default.Seconds()), Max: int64(p.Lifetime.Max.Seconds()), Cite: p.Cite})
	}
	for _, r := range c.Rows {
		if !r.In(a.topology.Name) {
			continue
		}
		row := InputRow{ID: r.ID, Profiles: []string{}, Op: string(r.Op.Kind), Verbs: present(r.Op.Verbs), Resource: r.Op.Resource, Class: r.Class,
			Deny: r.Deny, Cite: r.Cite, Residuals: present(r.Residuals), File: r.Pos.File, Line: r.Pos.Line}
		for _, name := range contract.SortedKeys(c.Profiles) {
			if r.Holds(name) {
				row.Profiles = append(row.Profiles, name)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	for _, r := range contract.Sorted(c.Residuals) {
		out.Residuals = append(out.Residuals, InputResidual{ID: r.ID, Who: r.Who, Can: r.Can, Bound: r.Bound})
	}
	return out
}

// describeSpace resolves what the contract gives a space, once.
func (a *auditor) describeSpace(space string) *InputSpace {
	if s, ok := a.inputSpaces[space]; ok {
		return s
	}
	out := &InputSpace{Name: space, Resources: []InputResource{}, Invariants: []InputInvariant{}}
	a.inputSpaces[space] = out
	rules := a.rulesOf(space).rules
	for n := range rules {
		r := &rules[n]
		inv := InputInvariant{Code: r.Code, Title: r.Title, Kind: r.Kind, Severity: severityOf(r), Cite: r.Cite, Families: []string{}, By: present(r.By),
			Profiles: present(r.Profiles), Tokens: []InputToken{}, Token: r.Token, Pinned: append([]int{}, r.Pinned...),
			Verbs: present(r.AllVerbs()), Restated: restated(r.Invariant), Queue: r.queue, Class: r.Class, Trust: r.Trust}
		families := r.families[publishing]
		if len(families) == 0 {
			families = r.families[subscribing]
		}
		for _, f := range families {
			inv.Families = append(inv.Families, string(f))
		}
		for _, at := range slices.Sorted(maps.Keys(r.Tokens)) {
			inv.Tokens = append(inv.Tokens, InputToken{at, r.Tokens[at]})
		}
		out.Invariants = append(out.Invariants, inv)
	}
	scope, err := a.spaceScope(space)
	if err != nil {
		return out // rulesOf has reported it
	}
	for _, r := range contract.Sorted(a.cfg.Contract.Resources) {
		res := InputResource{ID: r.ID, Bucket: r.Bucket, Account: a.topology.Account(r.ID, r.Home), Subjects: []string{}, Config: r.Config,
			Protect: present(r.Protect)}
		if res.Config == nil {
			res.Config = map[string]any{}
		}
		if res.Stream, err = scope.StreamName(r.ID); err != nil {
			a.problem(&contract.Problem{Pos: r.Pos, What: "resource " + r.ID + ": " + err.Error()})
			continue
		}
		for _, t := range r.Subjects {
			text, err := scope.Text(t)
			if err != nil {
				a.problem(&contract.Problem{Pos: r.Pos, What: "resource " + r.ID + ": " + err.Error()})
				continue
			}
			res.Subjects = append(res.Subjects, text)
		}
		out.Resources = append(out.Resources, res)
	}
	return out
}

// restated reports whether a shipped rule in Rego can say all of an invariant: its kind has one, and no key asks for what an input
// document does not hold.
func restated(inv *contract.Invariant) bool {
	if inv.Exception != "" || len(inv.Why) > 0 {
		return false
	}
	switch inv.Kind {
	case KindIdentityToken, KindPinnedToken:
		return inv.Direction == "" || inv.Direction == contract.DirPublish
	case KindNever:
		return inv.Direction == "" || inv.Direction == contract.DirBoth
	case KindLifetime:
		return inv.Max == 0
	}
	return true
}

// describe adds a principal, and the spaces that it is judged in.
func (a *auditor) describe(in *Input, p *Principal) {
	out := InputPrincipal{ID: len(in.Principals), Name: p.Name, File: p.File, Profile: p.Profile, Trust: p.Trust, Account: p.Account,
		Spaces: []InputMember{}, Inbox: p.inboxPrefix(), Unnamed: p.fresh(), Pub: describeDirection(&p.Pub), Sub: describeDirection(&p.Sub)}
	if t := p.Token; t != nil {
		out.Token = &InputClaims{Issued: t.Issued, Expires: t.Expires, ConnTypes: present(t.ConnTypes), Responses: t.Responses, Scoped: t.Scoped}
	}
	if a.cfg.Contract != nil && (p.Token == nil || !p.Token.Scoped) {
		for _, space := range a.spaces(p) {
			identity := a.rulesOf(space).identity(p)
			if identity == nil {
				identity = map[string]string{}
			}
			out.Spaces = append(out.Spaces, InputMember{space, identity})
			in.addSpace(a.describeSpace(space))
		}
	}
	out.shown = p.shown
	in.Principals = append(in.Principals, out)
}

// addSpace keeps the spaces distinct and sorted.
func (in *Input) addSpace(s *InputSpace) {
	at, known := slices.BinarySearchFunc(in.Spaces, s.Name, func(s *InputSpace, name string) int { return strings.Compare(s.Name, name) })
	if !known {
		in.Spaces = slices.Insert(in.Spaces, at, s)
	}
}

func describeDirection(d *Direction) InputDirection {
	list := func(from []Entry) []InputEntry {
		out := make([]InputEntry, len(from))
		for i, e := range from {
			out[i] = InputEntry{string(e.Pattern), e.Queue, e.String(), present(e.Rows)}
		}
		return out
	}
	return InputDirection{d.Open, list(d.Allow), list(d.Deny)}
}

// present is the list, present even when empty.
func present(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
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
