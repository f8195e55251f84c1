package wire

import (
	"errors"
	"fmt"
	"strings"
)

// EndpointRef names the sender inside a message (§5).
type EndpointRef struct {
	ID   string `json:"id"` // the principal's dot-form (§2)
	Name string `json:"name"`
	Role string `json:"role,omitempty"`
}

// CotalMessage is the envelope of a delivery message (§5). Exactly one of Channel, To and ToService is set by the sender; a
// receiver takes the delivery kind from the subject and treats these three as advice (§4).
type CotalMessage struct {
	ID        string      `json:"id"` // also the JetStream message id (§8)
	TS        float64     `json:"ts"` // epoch milliseconds
	Space     string      `json:"space"`
	From      EndpointRef `json:"from"`
	Channel   string      `json:"channel,omitempty"`
	To        string      `json:"to,omitempty"` // the recipient's dot-form
	ToService string      `json:"toService,omitempty"`
	Mentions  []string    `json:"mentions,omitempty"` // lower-case peer names
	Parts     []Part      `json:"parts"`
	ReplyTo   string      `json:"replyTo,omitempty"`
	ContextID string      `json:"contextId,omitempty"`
}

// Validate checks what a sender must meet (§5), and reports every fault: the required fields, exactly one routing field of a
// good shape, lower-case mentions, and well-formed parts.
func (m CotalMessage) Validate() error {
	var errs []error
	if m.ID == "" {
		errs = append(errs, errors.New("id, got none, want a unique one"))
	}
	if !(m.TS > 0) {
		errs = append(errs, fmt.Errorf("ts, got %v, want epoch milliseconds", m.TS))
	}
	if m.From.Name == "" {
		errs = append(errs, errors.New("from.name, got none, want a display name"))
	}
	for _, name := range m.Mentions {
		if name == "" || name != strings.ToLower(name) {
			errs = append(errs, fmt.Errorf("mention, got %q, want a lower-case name", name))
		}
	}
	if m.Parts == nil {
		errs = append(errs, errors.New("parts, got none, want a list"))
	}
	for i, p := range m.Parts {
		if err := p.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("parts[%d]: %w", i, err))
		}
	}
	if _, err := m.Subject(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Subject is where the message is published (§3): the sender tokens from From.ID, the rest from its one routing field. It
// refuses a message with none or several, and any token that would not survive sanitizing.
func (m CotalMessage) Subject() (Subject, error) {
	sender, err := ParsePrincipal(m.From.ID)
	if err != nil {
		return Subject{}, fmt.Errorf("from.id: %w", err)
	}
	s := Subject{Space: m.Space, Sender: sender}
	set := 0
	if m.Channel != "" {
		set, s.Kind, s.Channel = set+1, KindChat, m.Channel
	}
	if m.To != "" {
		set, s.Kind = set+1, KindInst
		if s.Recipient, err = ParsePrincipal(m.To); err != nil {
			return Subject{}, fmt.Errorf("to: %w", err)
		}
	}
	if m.ToService != "" {
		set, s.Kind, s.Role = set+1, KindSvc, m.ToService
	}
	if set != 1 {
		return Subject{}, fmt.Errorf("routing fields, got %d, want exactly one of channel, to, toService", set)
	}
	if err := s.Validate(); err != nil {
		return Subject{}, err
	}
	return s, nil
}
