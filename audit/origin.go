package audit

import (
	"slices"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// hole stands in an origin for what a parameter that the credential does not state would give: one or more tokens.
const hole = ""

// origin is an entry that a row of a profile can compile to for the holder of a credential.
type origin struct {
	dir    compile.Dir
	deny   bool
	tokens []string // hole where the value is not known
	queue  string
	row    string
}

// origins compiles a profile's rows twice, for two samples of everything that the credential does not state. Where the two
// differ, a hole stands; what they share is the holder's own, or literal text of a row. unreached lists the rows that no sample
// makes an entry of: an entry may come from one of them.
func (a *auditor) origins(profile *contract.Profile, stated map[string]string, space string) (list []origin, unreached []string, err error) {
	first, err := a.grants(profile, stated, space, 0)
	if err != nil {
		return nil, nil, err
	}
	second, err := a.grants(profile, stated, space, 1)
	if err != nil {
		return nil, nil, err
	}
	reached := map[string]bool{}
	for i := range first {
		g := &first[i]
		reached[g.Row.ID] = true
		o := origin{dir: g.Dir, deny: g.Deny, tokens: g.Entry.Pattern.Tokens(), queue: g.Entry.Queue, row: g.Row.ID}
		if len(first) == len(second) && second[i].Row == g.Row {
			o.differ(&second[i])
		}
		list = append(list, o)
		if closing, open := subject.Closing(g.Entry); open && g.Dir == compile.Sub && !g.Deny {
			o.deny, o.tokens = true, append(slices.Clone(o.tokens[:len(o.tokens)-1]), closing.Pattern.Tokens()[len(o.tokens)-1:]...)
			list = append(list, o)
		}
	}
	return list, a.unreached(profile, reached), nil
}

// differ puts holes where the second sample gives another token.
func (o *origin) differ(second *compile.Grant) {
	other := second.Entry.Pattern.Tokens()
	if len(other) != len(o.tokens) {
		return
	}
	for i, t := range other {
		if t != o.tokens[i] {
			o.tokens[i] = hole
		}
	}
	if o.queue != second.Entry.Queue {
		o.queue = hole
	}
}

// grants resolves every sample of a profile with the stated values put in.
func (a *auditor) grants(profile *contract.Profile, stated map[string]string, space string, n int) ([]compile.Grant, error) {
	var out []compile.Grant
	for _, in := range a.samples(profile, space, n) {
		for _, param := range profile.Params {
			if value, ok := stated[param.Name]; ok && isScalar(param.Type) {
				in.Values[param.Name] = value
			}
		}
		scope, err := compile.NewScope(a.cfg.Contract, a.topology, profile, in)
		if err != nil {
			return nil, err
		}
		for _, account := range compile.Accounts(a.cfg.Contract, a.topology, profile) {
			grants, err := compile.Resolve(scope, account)
			if err != nil {
				return nil, err
			}
			out = append(out, grants...)
		}
	}
	return out, nil
}

func isScalar(t *contract.Type) bool {
	switch t.Kind {
	case contract.TypeScalar, contract.TypeEnum, contract.TypeMember:
		return true
	}
	return false
}

func (a *auditor) unreached(profile *contract.Profile, reached map[string]bool) []string {
	var out []string
	for _, row := range a.cfg.Contract.Rows {
		here := len(row.Topologies) == 0 || slices.Contains(row.Topologies, a.topology.Name)
		if here && !reached[row.ID] && row.Op.Kind != contract.OpShare && row.Holds(profile.Name) {
			out = append(out, row.ID)
		}
	}
	return out
}

// maxTokens bounds the entries that are compared with rows: no row compiles to a longer one.
const maxTokens = 2 * compile.MaxSubjectTokens

// gives reports whether the origin gives the entry: as exactly that text, or as one that covers it.
func (o *origin) gives(e subject.Entry) (exact, covers bool) {
	tokens := e.Pattern.Tokens()
	if o.queue != hole && o.queue != e.Queue || len(tokens) > maxTokens {
		return false, false
	}
	exact = align(o.tokens, tokens, false)
	return exact, exact || align(o.tokens, tokens, true)
}

// align matches own against tokens, where a hole takes one or more of them. Covering, "*" also takes any one token and a final
// ">" all that are left.
func align(own, tokens []string, covering bool) bool {
	at := make([]bool, len(tokens)+1) // at[n]: what was matched so far may end before token n
	at[0] = true
	for _, o := range own {
		next := make([]bool, len(tokens)+1)
		for n, t := range tokens {
			many := o == hole || covering && o == ">"
			one := o == t || covering && o == "*" && t != ">"
			next[n+1] = at[n] && (many || one) || many && next[n]
		}
		at = next
	}
	return at[len(tokens)]
}
