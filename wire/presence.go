package wire

import (
	"errors"
	"fmt"
	"time"
)

// The presence timing of §6.
const (
	HeartbeatInterval = 2000 * time.Millisecond
	LivenessWindow    = 6000 * time.Millisecond
)

// PresenceStatus is what an instance says that it is doing (§6).
type PresenceStatus string

// The statuses.
const (
	StatusIdle    PresenceStatus = "idle"
	StatusWaiting PresenceStatus = "waiting"
	StatusWorking PresenceStatus = "working"
	StatusOffline PresenceStatus = "offline" // a live client never heartbeats it
)

// AttentionMode is an advisory receive-side preference of an instance (§6).
type AttentionMode string

// The attention modes; absent is open.
const (
	AttentionOpen  AttentionMode = "open"
	AttentionDND   AttentionMode = "dnd"
	AttentionFocus AttentionMode = "focus"
)

// ChannelMode is an advisory override for one channel (§6).
type ChannelMode string

// The channel modes.
const (
	ChannelQuiet ChannelMode = "quiet"
	ChannelMuted ChannelMode = "muted"
)

// CardKind is the participation class of an instance (§6).
type CardKind string

// The participation classes.
const (
	CardAgent    CardKind = "agent"
	CardEndpoint CardKind = "endpoint"
)

// AgentSkill is one advertised skill (§6).
type AgentSkill struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// AgentCard is the identity record of an instance (§6).
type AgentCard struct {
	ID              string         `json:"id"` // the principal's dot-form (§2)
	Name            string         `json:"name"`
	Kind            CardKind       `json:"kind"`
	Role            string         `json:"role,omitempty"`
	Description     string         `json:"description,omitempty"`
	Tags            []string       `json:"tags,omitempty"`
	Skills          []AgentSkill   `json:"skills,omitempty"`
	Meta            map[string]any `json:"meta,omitempty"`
	ProtocolVersion string         `json:"protocolVersion,omitempty"` // absent: older than 0.4
}

// Presence is one entry of the presence directory, under the key card.id (§6).
type Presence struct {
	Card         AgentCard              `json:"card"`
	Status       PresenceStatus         `json:"status"`
	Activity     string                 `json:"activity,omitempty"`
	Attention    AttentionMode          `json:"attention,omitempty"`
	LifecycleUID string                 `json:"lifecycleUid,omitempty"` // required in authenticated mode from v0.4; for display only
	ChannelModes map[string]ChannelMode `json:"channelModes,omitempty"` // by concrete channel
	TS           float64                `json:"ts"`                     // epoch milliseconds of the last heartbeat
}

// Validate checks the entry of one key as a v0.4 participant writes it (§6): the key is the card's id and a principal's
// dot-form, the required fields stand, and every enumerated value is known. All faults are reported.
func (p Presence) Validate(key string) error {
	var errs []error
	if p.Card.ID != key {
		errs = append(errs, fmt.Errorf("card.id, got %q, want the key %q", p.Card.ID, key))
	}
	errs = append(errs, p.Card.Validate(), oneOf("status", p.Status, StatusIdle, StatusWaiting, StatusWorking, StatusOffline))
	if p.Attention != "" {
		errs = append(errs, oneOf("attention", p.Attention, AttentionOpen, AttentionDND, AttentionFocus))
	}
	if !validUID(p.LifecycleUID) {
		errs = append(errs, fmt.Errorf("lifecycleUid, got %q, want 26 to 32 of a-z and 0-9", p.LifecycleUID))
	}
	for _, channel := range sortedKeys(p.ChannelModes) {
		errs = append(errs, ValidateChannel(channel), oneOf("channelModes."+channel, p.ChannelModes[channel], ChannelQuiet, ChannelMuted))
	}
	if !(p.TS > 0) {
		errs = append(errs, fmt.Errorf("ts, got %v, want epoch milliseconds", p.TS))
	}
	return errors.Join(errs...)
}

// Validate checks the required fields of §6; all faults are reported.
func (c AgentCard) Validate() error {
	var errs []error
	if _, err := ParsePrincipal(c.ID); err != nil {
		errs = append(errs, fmt.Errorf("card.id: %w", err))
	}
	if c.Name == "" {
		errs = append(errs, errors.New("card.name, got none, want a display name"))
	}
	errs = append(errs, oneOf("card.kind", c.Kind, CardAgent, CardEndpoint))
	if c.ProtocolVersion == "" {
		errs = append(errs, errors.New("card.protocolVersion, got none, want the wire version (required from v0.4)"))
	}
	return errors.Join(errs...)
}

// At is the status that an observer shows at now: offline when the last heartbeat is older than the window (§6).
func (p Presence) At(now time.Time, window time.Duration) PresenceStatus {
	if float64(now.UnixMilli())-p.TS > float64(window.Milliseconds()) {
		return StatusOffline
	}
	return p.Status
}

// validUID matches [a-z0-9]{26,32} (§13.1).
func validUID(s string) bool {
	if len(s) < 26 || len(s) > 32 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
