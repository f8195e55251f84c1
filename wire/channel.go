package wire

import (
	"fmt"
	"strings"
)

// maxSpace bounds a space name in bytes; resource names and every subject repeat it.
const maxSpace = 32

// ValidateSpace checks a space name: one sanitized token of 1 to 32 bytes (§3).
func ValidateSpace(space string) error {
	if len(space) > maxSpace || !isRouting(space) {
		return fmt.Errorf("space, got %q, want 1 to %d of letters, digits, _ and -", space, maxSpace)
	}
	return nil
}

// ValidateRole checks a role, the route of an anycast: one sanitized token of 1 to 64 bytes (§3).
func ValidateRole(role string) error {
	if len(role) > maxToken || !isRouting(role) {
		return fmt.Errorf("role, got %q, want 1 to %d of letters, digits, _ and -", role, maxToken)
	}
	return nil
}

// ValidateChannel checks the name of one concrete channel: dotted, every segment sanitized, no wildcard. It is what a publish
// target must be (§3).
func ValidateChannel(channel string) error {
	for seg := range strings.SplitSeq(channel, ".") {
		if !isRouting(seg) {
			return fmt.Errorf("channel %q: segment, got %q, want letters, digits, _ and - (a publish target is concrete)", channel, seg)
		}
	}
	return nil
}

// ValidateChannelPattern checks a subscription or allow-list pattern: a channel whose whole segments may be "*", and whose
// last may be ">" (§3).
func ValidateChannelPattern(pattern string) error {
	segs := strings.Split(pattern, ".")
	for i, seg := range segs {
		switch {
		case seg == "*" || isRouting(seg):
		case seg == ">" && i == len(segs)-1:
		case seg == ">":
			return fmt.Errorf("channel pattern %q: got > in segment %d of %d, want it last", pattern, i+1, len(segs))
		default:
			return fmt.Errorf("channel pattern %q: segment, got %q, want letters, digits, _ and -, or a whole * or >", pattern, seg)
		}
	}
	return nil
}

// DeliveryClass is the delivery guarantee of a channel (§4): at most once, or at least once for current members.
type DeliveryClass string

// The delivery classes.
const (
	ClassLive    DeliveryClass = "live"
	ClassDurable DeliveryClass = "durable"
)

// Valid reports whether c is one of the two classes.
func (c DeliveryClass) Valid() bool { return c == ClassLive || c == ClassDurable }

// DefaultsKey is the reserved key of the space-wide [ChannelDefaults] in the channel registry (§7).
const DefaultsKey = "=defaults"

// Limits of the texts in a channel's configuration, in characters (§7).
const (
	maxDescription  = 200
	maxInstructions = 2000
)

// ChannelConfig is a channel's entry in the registry (§7). An absent field takes the space's default.
type ChannelConfig struct {
	Replay        *bool         `json:"replay,omitempty"`
	ReplayWindow  string        `json:"replayWindow,omitempty"` // digits and one of s, m, h, d
	DeliveryClass DeliveryClass `json:"deliveryClass,omitempty"`
	Description   string        `json:"description,omitempty"`
	Instructions  string        `json:"instructions,omitempty"`
}

// ChannelDefaults is the space-wide record under [DefaultsKey] (§7).
type ChannelDefaults struct {
	Replay        *bool         `json:"replay,omitempty"`
	ReplayWindow  string        `json:"replayWindow,omitempty"`
	DeliveryClass DeliveryClass `json:"deliveryClass,omitempty"`
}

// Effective is the one resolution of a channel's configuration that every path must share: live join, durable fan-out,
// history read and membership (§7).
type Effective struct {
	Replay        bool
	ReplayWindow  string // "": unbounded
	DeliveryClass DeliveryClass
}

// Resolve gives the effective configuration: the channel's own value, else the space's, else replay and durable (§7). Either
// argument may be nil. A value that is no class or no window is an error, never a default.
func Resolve(c *ChannelConfig, d *ChannelDefaults) (Effective, error) {
	if c == nil {
		c = &ChannelConfig{}
	}
	if d == nil {
		d = &ChannelDefaults{}
	}
	if err := c.Validate(); err != nil {
		return Effective{}, err
	}
	if err := d.Validate(); err != nil {
		return Effective{}, fmt.Errorf("%s: %w", DefaultsKey, err)
	}
	e := Effective{Replay: true, DeliveryClass: ClassDurable, ReplayWindow: d.ReplayWindow}
	for _, replay := range []*bool{d.Replay, c.Replay} {
		if replay != nil {
			e.Replay = *replay
		}
	}
	for _, class := range []DeliveryClass{d.DeliveryClass, c.DeliveryClass} {
		if class != "" {
			e.DeliveryClass = class
		}
	}
	if c.ReplayWindow != "" {
		e.ReplayWindow = c.ReplayWindow
	}
	return e, nil
}

// Validate checks the closed values and the text limits of §7.
func (c ChannelConfig) Validate() error {
	if n := len([]rune(c.Description)); n > maxDescription {
		return fmt.Errorf("description of %d characters, want at most %d", n, maxDescription)
	}
	if n := len([]rune(c.Instructions)); n > maxInstructions {
		return fmt.Errorf("instructions of %d characters, want at most %d", n, maxInstructions)
	}
	return ChannelDefaults{ReplayWindow: c.ReplayWindow, DeliveryClass: c.DeliveryClass}.Validate()
}

// Validate checks the closed values of §7.
func (d ChannelDefaults) Validate() error {
	if d.DeliveryClass != "" && !d.DeliveryClass.Valid() {
		return fmt.Errorf("deliveryClass, got %q, want live or durable", d.DeliveryClass)
	}
	if d.ReplayWindow != "" && !isWindow(d.ReplayWindow) {
		return fmt.Errorf("replayWindow, got %q, want digits and one of s, m, h, d", d.ReplayWindow)
	}
	return nil
}

// isWindow matches ^\d+(s|m|h|d)$ (§7).
func isWindow(s string) bool {
	digits, unit := s[:len(s)-1], s[len(s)-1]
	return digits != "" && strings.Trim(digits, "0123456789") == "" && strings.IndexByte("smhd", unit) >= 0
}
