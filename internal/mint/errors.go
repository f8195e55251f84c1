package mint

import (
	"fmt"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// SealedError refuses a profile whose credentials may exist in process memory only.
type SealedError struct {
	Profile string
	Reason  string // the declaration that seals it, such as "trust sealed"
}

// Error is the one-line message.
func (e *SealedError) Error() string { return e.problem().Error() }

// Unwrap gives the message with its hint.
func (e *SealedError) Unwrap() error { return e.problem() }

func (e *SealedError) problem() *contract.Problem {
	return &contract.Problem{
		What: fmt.Sprintf("profile %s is not mintable", e.Profile), Got: e.Reason, Want: "a profile whose credentials expire",
		Hint: "its holder makes the credential in process memory; nothing may write it",
	}
}

// LifetimeError refuses a lifetime above the profile's bound or below one second.
type LifetimeError struct {
	Profile string
	Got     time.Duration
	Max     time.Duration // the profile's bound: its declared maximum, else its default
}

// Error is the one-line message.
func (e *LifetimeError) Error() string { return e.problem().Error() }

// Unwrap gives the message with its hint.
func (e *LifetimeError) Unwrap() error { return e.problem() }

func (e *LifetimeError) problem() *contract.Problem {
	return &contract.Problem{
		What: fmt.Sprintf("lifetime of profile %s", e.Profile), Got: e.Got.String(), Want: fmt.Sprintf("1s to %s", e.Max),
		Hint: "ask for a shorter lifetime, or declare lifetime.max in the profile",
	}
}

// RowCost is what one row contributes to an encoded JWT: the bytes of every permission entry that it stands behind. An entry of
// several rows counts for each of them.
type RowCost struct {
	Row   string
	Bytes int
}

// GateError refuses a credential whose encoded JWT would be larger than the gate. Nothing has been signed.
type GateError struct {
	Profile string
	Size    int       // bytes of the encoded JWT, signature included
	Gate    int       // bytes
	Widest  []RowCost // every row, by falling cost and then by id
	Ways    []string  // changes that would make it fit, the cheapest first; a caller that knows the parameters adds them
}

// widestShown bounds the rows named in a message; Widest holds them all.
const widestShown = 3

// Error is the one-line message: size, gate and the widest rows.
func (e *GateError) Error() string { return e.problem().Error() }

// Unwrap gives the message with its hint.
func (e *GateError) Unwrap() error { return e.problem() }

func (e *GateError) problem() *contract.Problem {
	var rows []string
	for _, c := range e.Widest[:min(len(e.Widest), widestShown)] {
		rows = append(rows, fmt.Sprintf("%s (%d bytes)", c.Row, c.Bytes))
	}
	what := fmt.Sprintf("user JWT of profile %s", e.Profile)
	if len(rows) > 0 {
		what += ", widest rows " + strings.Join(rows, ", ")
	}
	hint := "name fewer channels, endpoints or commands, or split the holder into two credentials"
	if len(e.Ways) > 0 {
		hint = "cheapest way down: " + strings.Join(e.Ways, "; or ")
	}
	return &contract.Problem{What: what, Got: fmt.Sprintf("%d bytes", e.Size), Want: fmt.Sprintf("at most %d", e.Gate), Hint: hint}
}

// refuse is a request that cannot be minted as it stands.
func refuse(what, got, want, hint string) error {
	return &contract.Problem{What: what, Got: got, Want: want, Hint: hint}
}

// rowProblem is an unusable entry of a permission set.
func rowProblem(row, what, got, want string) error {
	return &contract.Problem{Row: row, What: what, Got: got, Want: want, Hint: "the broker would read the entry differently; compile the set anew"}
}
