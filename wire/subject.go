package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// root is the first token of every wire subject (§3).
const root = "cotal"

// Kind is the routing kind of a delivery subject: its third token (§3).
type Kind string

// The kinds that carry deliveries. Every other third token has no sender here.
const (
	KindChat Kind = "chat" // cotal.<space>.chat.<owner>.<actor>.<channel…>
	KindInst Kind = "inst" // cotal.<space>.inst.<recipOwner>.<recipActor>.<sndOwner>.<sndActor>
	KindSvc  Kind = "svc"  // cotal.<space>.svc.<role>.<owner>.<actor>
)

// DeliveryKind says how a message was addressed to its receiver. It is derived from the subject, never from the payload (§4).
type DeliveryKind string

// The delivery kinds of §4.
const (
	DeliveryChannel DeliveryKind = "channel"
	DeliveryDM      DeliveryKind = "dm"
	DeliveryAnycast DeliveryKind = "anycast"
)

// Delivery maps the subject kind to the delivery kind of §4; it is "" for an unknown kind.
func (k Kind) Delivery() DeliveryKind {
	switch k {
	case KindChat:
		return DeliveryChannel
	case KindInst:
		return DeliveryDM
	case KindSvc:
		return DeliveryAnycast
	}
	return ""
}

// ErrNoSender is wrapped by every error of [ParseSubject]: the subject has no sender and must not be read as a delivery (§3).
var ErrNoSender = errors.New("subject has no sender")

// Subject is a delivery subject, split. Exactly one of Channel, Recipient and Role is set, by Kind.
type Subject struct {
	Space     string
	Kind      Kind
	Sender    Principal
	Channel   string    // KindChat: tokens 5 and on, dotted
	Recipient Principal // KindInst: tokens 3 and 4
	Role      string    // KindSvc: token 3
}

// Rest is what the §12 vectors call rest: the channel, the recipient's dot-form, or the role.
func (s Subject) Rest() string {
	switch s.Kind {
	case KindChat:
		return s.Channel
	case KindInst:
		return s.Recipient.Dot()
	case KindSvc:
		return s.Role
	}
	return ""
}

// String is the subject as it goes on the wire. It is the inverse of [ParseSubject].
func (s Subject) String() string {
	head := root + "." + s.Space + "." + string(s.Kind) + "."
	switch s.Kind {
	case KindChat:
		return head + s.Sender.Dot() + "." + s.Channel
	case KindInst, KindSvc:
		return head + s.Rest() + "." + s.Sender.Dot()
	}
	return ""
}

// ParseSubject splits a delivery subject by prefix, kind and per-kind arity (§3). It splits only: the tokens are whatever
// stood between the dots, and trust comes from the broker's grant and the surfacing boundary ([Surfaceable]). Every other
// subject, the retired control rail "ctl" (§13.11) and the endpoint rails among them, is an error that wraps [ErrNoSender].
func ParseSubject(subject string) (Subject, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 3 || tokens[0] != root {
		return Subject{}, noSender(subject, "want cotal.<space>.<kind>.…")
	}
	if slices.Contains(tokens, "") {
		return Subject{}, noSender(subject, "want no empty token")
	}
	s := Subject{Space: tokens[1], Kind: Kind(tokens[2])}
	switch n := len(tokens); {
	case s.Kind == KindChat && n >= 6:
		s.Sender = Principal{tokens[3], tokens[4]}
		s.Channel = strings.Join(tokens[5:], ".")
	case s.Kind == KindInst && n == 7:
		s.Recipient = Principal{tokens[3], tokens[4]}
		s.Sender = Principal{tokens[5], tokens[6]}
	case s.Kind == KindSvc && n == 6:
		s.Role = tokens[3]
		s.Sender = Principal{tokens[4], tokens[5]}
	default:
		return Subject{}, noSender(subject, wantShape(s.Kind))
	}
	return s, nil
}

func noSender(subject, want string) error {
	return fmt.Errorf("%w, got %q, %s", ErrNoSender, subject, want)
}

func wantShape(k Kind) string {
	switch k {
	case KindChat:
		return "want cotal.<space>.chat.<owner>.<actor>.<channel…>"
	case KindInst:
		return "want cotal.<space>.inst.<owner>.<actor>.<sender owner>.<sender actor>"
	case KindSvc:
		return "want cotal.<space>.svc.<role>.<owner>.<actor>"
	case "ctl":
		return "the control rail is retired (§13.11)"
	}
	return "want kind chat, inst or svc"
}

// Validate checks what ParseSubject leaves open: every token is sanitized, both principals are well formed, and a channel is
// concrete (§2, §3). It does not ask whether an owner is a principal owner.
func (s Subject) Validate() error {
	if err := ValidateSpace(s.Space); err != nil {
		return err
	}
	if err := s.Sender.Validate(); err != nil {
		return fmt.Errorf("sender: %w", err)
	}
	switch s.Kind {
	case KindChat:
		return ValidateChannel(s.Channel)
	case KindInst:
		if err := s.Recipient.Validate(); err != nil {
			return fmt.Errorf("recipient: %w", err)
		}
		return nil
	case KindSvc:
		return ValidateRole(s.Role)
	}
	return fmt.Errorf("kind, got %q, want chat, inst or svc", s.Kind)
}

// Reserved reports whether an application message must not use the subject: it begins with a prefix that belongs to the
// broker or to reply inboxes (§3).
func Reserved(subject string) bool {
	for _, prefix := range []string{"$JS.", "$KV.", "$SYS.", "$O.", "_INBOX."} {
		if strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}
