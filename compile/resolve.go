package compile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// Bounds of any subject that a row may name (design §3).
const (
	MaxSubjectBytes  = 1024
	MaxSubjectTokens = 16 // of an application subject or KV subject, and of a filter behind an API prefix
)

// apiTokens is the longest prefix in front of a filter: $JS.API.CONSUMER.CREATE.<stream>.<consumer>.
const apiTokens = 6

// MaxGrants bounds what one credential may resolve to. The size gate of a credential is a hundred times lower: this only ends
// work on hostile input early.
const MaxGrants = 20000

// errTooMany ends a resolution that grew beyond any credential.
var errTooMany = errors.New("too many grants")

// Dir is the direction of a grant.
type Dir string

// The two directions of a permission set.
const (
	Pub Dir = "pub"
	Sub Dir = "sub"
)

// Grant is one permission that a row resolves to, before the broker's gaps are closed.
type Grant struct {
	Row   *contract.Row // of a closing deny: the row of the allow that it closes
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
	r := &resolver{account: account, grants: make([]Grant, 0, 64)}
	for _, row := range s.c.Rows {
		if !appliesTo(row, s.profile.Name, s.topology.Name) || row.Op.Kind == contract.OpShare {
			continue
		}
		r.row, r.rows, r.from = row, []string{row.ID}, nil
		if err := s.bindings(row.Each, r.binding); err != nil {
			if errors.Is(err, errTooMany) {
				return nil, &contract.Problem{Pos: row.Pos, Row: row.ID, What: "the credential grew too large", Got: fmt.Sprintf("more than %d grants", MaxGrants), Want: "less",
					Hint: "shorten the lists that the row iterates"}
			}
			r.fail(err)
		}
	}
	r.probs = append(r.probs, s.guarded(r.grants, account)...)
	return r.grants, r.probs.Err()
}

func appliesTo(row *contract.Row, profile, topology string) bool {
	return row.In(topology) && row.Holds(profile)
}

type resolver struct {
	account  string
	row      *contract.Row
	rows     []string // the row's id, shared by its grants
	grants   []Grant
	probs    contract.Problems
	bindings int    // of each items, whether they met their conditions or not
	from     *value // the innermost element that a file gave, of the binding that is emitted
}

// fail reports a row that cannot be granted as it is bound: where the input that it iterates stands, else where the row does.
// What its input lacks is the input's problem alone.
func (r *resolver) fail(err error) {
	var absent *absentError
	if errors.As(err, &absent) && absent.missing != nil {
		p := *absent.missing
		p.Hint = "row " + r.row.ID + " needs it"
		r.probs = append(r.probs, &p)
		return
	}
	p, ok := err.(*contract.Problem)
	if !ok {
		p = &contract.Problem{What: err.Error()}
	}
	p.Pos, p.Row = r.row.Pos, r.row.ID
	if r.from != nil {
		p.Pos = r.from.pos
		if p.Hint == "" {
			p.Hint = "it comes from parameter " + r.from.path
		}
	}
	r.probs = append(r.probs, p)
}

// binding emits the row's grants for one binding of its each items, if it meets the row's conditions.
func (r *resolver) binding(s *Scope) error {
	if r.bindings++; r.bindings > 10*MaxGrants {
		return errTooMany
	}
	return s.Each(nil, r.row.When, r.bound)
}

// bound emits the row's grants for a binding that meets its conditions.
func (r *resolver) bound(s *Scope) error {
	for i := range s.frames {
		if v := s.frames[i].v; v.pos != (contract.Pos{}) {
			r.from = v
		}
	}
	if r.row.Unbound != "" {
		child := *s
		child.unbound = r.row.Unbound
		s = &child
	}
	if r.rowAccount(s) == r.account {
		if err := r.emit(s); err != nil {
			return err
		}
	}
	r.from = nil
	return nil
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
	if len(r.grants) >= MaxGrants {
		return errTooMany
	}
	r.grants = append(r.grants, Grant{Row: r.row, Rows: r.rows, Deny: r.row.Deny, Dir: dir,
		Entry: subject.Entry{Pattern: p, Queue: queue}, Stored: stored})
	return nil
}

func checkBounds(text string) error {
	if len(text) > MaxSubjectBytes {
		return &contract.Problem{What: "subject is too long", Got: fmt.Sprintf("%d bytes", len(text)), Want: fmt.Sprintf("at most %d", MaxSubjectBytes)}
	}
	most := MaxSubjectTokens
	if strings.HasPrefix(text, "$JS.") {
		most += apiTokens
	}
	if n := strings.Count(text, ".") + 1; n > most {
		return &contract.Problem{What: "subject has too many tokens", Got: fmt.Sprint(n), Want: fmt.Sprintf("at most %d", most)}
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
