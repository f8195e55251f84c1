package wire

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Reason is a rejection token of §5. It is advisory, for logs; the action is always the same: terminate, never redeliver (§4).
type Reason string

// The rejection reasons of §5.
const (
	MalformedSubject Reason = "malformed-subject" // the subject does not parse, or its owner is no principal owner (§3, §12)
	SenderMismatch   Reason = "sender-mismatch"   // from is missing, or from.id is not the subject sender
	MalformedJSON    Reason = "malformed-json"    // the payload is not a UTF-8 JSON message
)

// Rejection is a permanent anomaly: the message must be terminated, not retried (§4).
type Rejection struct {
	Reason Reason
	Err    error
}

// Error is "<reason>: <detail>".
func (r *Rejection) Error() string { return string(r.Reason) + ": " + r.Err.Error() }

// Unwrap gives the detail.
func (r *Rejection) Unwrap() error { return r.Err }

// Boundary is the surfacing boundary of a reader (§3, §9, §12). The zero value is that of an authenticated deployment.
type Boundary struct {
	Open bool // open development mode: also admit the owner [OpenOwner]
}

// Delivery is a message that may be surfaced.
type Delivery struct {
	Subject Subject
	Kind    DeliveryKind
	Message CotalMessage
}

// Surfaceable is [Boundary.Surfaceable] of an authenticated deployment.
func Surfaceable(subject, fromID string) (Subject, error) {
	return Boundary{}.Surfaceable(subject, fromID)
}

// Receive is [Boundary.Receive] of an authenticated deployment.
func Receive(subject string, payload []byte) (Delivery, error) {
	return Boundary{}.Receive(subject, payload)
}

// Surfaceable decides whether a message on subject whose payload claims fromID may be shown, and returns the subject, split.
// Refusals are [*Rejection]: a subject without a sender or with an unsanitized token, an owner that is no principal owner,
// a fromID that is missing or differs from the subject sender (§5, §12).
func (b Boundary) Surfaceable(subject, fromID string) (Subject, error) {
	s, err := b.parse(subject)
	if err != nil {
		return Subject{}, &Rejection{MalformedSubject, err}
	}
	if err := matchSender(s, fromID); err != nil {
		return Subject{}, err
	}
	return s, nil
}

// Receive decides the same from the payload's bytes and returns the message with its delivery kind, which comes from the
// subject alone (§4). Checks run subject first, then JSON, then sender. It does not call [CotalMessage.Validate]: routing
// fields are advice to a receiver, and extension parts that it does not know are ignored.
func (b Boundary) Receive(subject string, payload []byte) (Delivery, error) {
	s, err := b.parse(subject)
	if err != nil {
		return Delivery{}, &Rejection{MalformedSubject, err}
	}
	if !utf8.Valid(payload) {
		return Delivery{}, &Rejection{MalformedJSON, errUTF8}
	}
	var m CotalMessage
	if err := json.Unmarshal(payload, &m); err != nil {
		return Delivery{}, &Rejection{MalformedJSON, err}
	}
	if err := matchSender(s, m.From.ID); err != nil {
		return Delivery{}, err
	}
	return Delivery{Subject: s, Kind: s.Kind.Delivery(), Message: m}, nil
}

// parse splits and then applies what ParseSubject must not: sanitized tokens, and principal owners on both ends.
func (b Boundary) parse(subject string) (Subject, error) {
	s, err := ParseSubject(subject)
	if err != nil {
		return Subject{}, err
	}
	if err := s.Validate(); err != nil {
		return Subject{}, err
	}
	if err := b.owner("sender", s.Sender.Owner); err != nil {
		return Subject{}, err
	}
	if s.Kind == KindInst {
		return s, b.owner("recipient", s.Recipient.Owner)
	}
	return s, nil
}

func (b Boundary) owner(whose, token string) error {
	if ValidOwner(token) || b.Open && ValidOpenOwner(token) {
		return nil
	}
	return fmt.Errorf("%s owner, got %q, want u_ and 26 lower-case base32 digits", whose, token)
}

func matchSender(s Subject, fromID string) error {
	if fromID == s.Sender.Dot() {
		return nil
	}
	if fromID == "" {
		return &Rejection{SenderMismatch, fmt.Errorf("from.id, got none, want %s", s.Sender)}
	}
	return &Rejection{SenderMismatch, fmt.Errorf("from.id, got %q, want %s", fromID, s.Sender)}
}
