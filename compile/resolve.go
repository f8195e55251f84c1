package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// Bounds of any subject that a row may name (design §3).
const (
	MaxSubjectBytes  = 1024
	MaxSubjectTokens = 16 // of an application subject, or of the tail behind an API prefix
)

// Dir is the direction of a grant.
type Dir string

// The two directions of a permission set.
const (
	Pub Dir = "pub"
	Sub Dir = "sub"
)

// Grant is one permission that a row resolves to, before the broker's gaps are closed.
type Grant struct {
	Row   *contract.Row // nil for a closing deny
	Rows  []string      // row ids that the grant stands for
	Deny  bool
	Dir   Dir
	Entry subject.Entry
	// Stored are the subjects of messages that the grant pulls out of a stream onto the holder's inbox: a deny that
	// matches one withholds the message silently (broker-facts "Closing denies").
	Stored []subject.Pattern
}

// Resolve binds the rows of the scope's profile that stand in the given account and returns their grants in row order.
// Problems carry the position and id of the row.
func Resolve(s *Scope, account string) ([]Grant, error) {
	r := &resolver{scope: s, account: account}
	for _, row := range s.c.Rows {
		if !appliesTo(row, s.profile.Name, s.topology.Name) || row.Op.Kind == contract.OpShare {
			continue
		}
		r.row = row
		if err := r.each(s, row.Each); err != nil {
			r.fail(err)
		}
	}
	return r.grants, r.probs.Err()
}

func appliesTo(row *contract.Row, profile, topology string) bool {
	if len(row.Topologies) > 0 && !slices.Contains(row.Topologies, topology) {
		return false
	}
	return row.Holds(profile)
}

type resolver struct {
	scope   *Scope
	account string
	row     *contract.Row
	grants  []Grant
	probs   contract.Problems
}

func (r *resolver) fail(err error) {
	if p, ok := err.(*contract.Problem); ok {
		p.Pos, p.Row = r.row.Pos, r.row.ID
		r.probs = append(r.probs, p)
		return
	}
	r.probs = append(r.probs, &contract.Problem{Pos: r.row.Pos, Row: r.row.ID, What: err.Error()})
}

// each iterates the remaining each items, innermost last, and emits the row's grants for every binding that meets its
// conditions. Conditions are tested once all names are bound.
func (r *resolver) each(s *Scope, rest []contract.Each) error {
	if len(rest) > 0 {
		elements, err := s.elements(rest[0])
		if err != nil {
			return err
		}
		for _, v := range elements {
			if err := r.each(s.with(rest[0].As, v), rest[1:]); err != nil {
				return err
			}
		}
		return nil
	}
	ok, err := s.Holds(r.row.When)
	if err != nil || !ok {
		return err
	}
	if r.row.Unbound != "" {
		child := *s
		child.unbound = r.row.Unbound
		s = &child
	}
	if r.rowAccount(s) != r.account {
		return nil
	}
	return r.emit(s)
}

// rowAccount is where a row stands: as it says, else with the resource that it names, else with its profile.
func (r *resolver) rowAccount(s *Scope) string {
	op := &r.row.Op
	res := op.Resource
	if res == "" && op.Consumer != "" {
		res = s.c.Consumers[op.Consumer].Resource
	}
	if res == "" && op.Kind == contract.OpAPI {
		res = s.firstResource(op.Subject)
	}
	switch {
	case r.row.Account != "":
		return s.topology.Account(r.row.ID, r.row.Account)
	case res != "":
		return s.Account(res)
	case slices.Contains(r.row.Profiles, "*"):
		return r.account // a row of every profile stands wherever the profile has a credential
	}
	return s.topology.Account(s.profile.Name, s.profile.Home)
}

func (s *Scope) firstResource(t contract.Template) string {
	for _, path := range t.Paths() {
		if v, err := s.lookup(path[0]); err == nil && v != nil && v.resource != nil {
			return v.resource.ID
		}
	}
	return ""
}

// add checks one pattern and appends its grant.
func (r *resolver) add(dir Dir, text, queue string, stored ...subject.Pattern) error {
	p, err := subject.ParseStrict(text)
	if err != nil {
		return &contract.Problem{What: "subject is not valid: " + err.Error(), Got: quote(text), Want: "tokens, * and a final >"}
	}
	if err := checkBounds(text); err != nil {
		return err
	}
	if dir == Pub && !r.row.Deny {
		if err := checkTail(text); err != nil {
			return err
		}
	}
	r.grants = append(r.grants, Grant{Row: r.row, Rows: []string{r.row.ID}, Deny: r.row.Deny, Dir: dir,
		Entry: subject.Entry{Pattern: p, Queue: queue}, Stored: stored})
	return nil
}

func checkBounds(text string) error {
	if len(text) > MaxSubjectBytes {
		return &contract.Problem{What: "subject is too long", Got: fmt.Sprintf("%d bytes", len(text)), Want: fmt.Sprintf("at most %d", MaxSubjectBytes)}
	}
	if !strings.HasPrefix(text, "$") && strings.Count(text, ".") >= MaxSubjectTokens {
		return &contract.Problem{What: "subject has too many tokens", Got: fmt.Sprint(strings.Count(text, ".") + 1), Want: fmt.Sprintf("at most %d", MaxSubjectTokens)}
	}
	return nil
}

// checkTail refuses an API tail that ends in "*": it also admits ">" and no deny can remove only that (broker-facts J1, J4b).
func checkTail(text string) error {
	if strings.HasPrefix(text, apiPrefix) && strings.HasSuffix(text, ".*") {
		return &contract.Problem{What: "API tail ends in *, which also admits every deeper subject and cannot be closed",
			Got: quote(text), Want: "a literal last token, or >", Hint: "list the names, or use > where the whole subtree is meant"}
	}
	return nil
}
