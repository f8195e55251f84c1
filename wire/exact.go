package wire

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"
)

// errUTF8 is why a payload that is not UTF-8 is no JSON: encoding/json would replace the bytes silently.
var errUTF8 = errors.New("payload is not valid UTF-8")

// decodeExact unmarshals a JSON object into a struct by exact key. encoding/json also accepts "From" for "from"; another reader
// of the same bytes does not, and two readers must not disagree about who sent a message. Unknown keys are ignored (§5, §11).
func decodeExact(data []byte, dst any) error {
	if !utf8.Valid(data) {
		return errUTF8
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	known := make(map[string]json.RawMessage, len(all))
	for t := range reflect.TypeOf(dst).Elem().Fields() {
		name, _, _ := strings.Cut(t.Tag.Get("json"), ",")
		if v, ok := all[name]; ok {
			known[name] = v
		}
	}
	exact, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return json.Unmarshal(exact, dst)
}

// UnmarshalJSON reads the object by exact key.
func (m *CotalMessage) UnmarshalJSON(data []byte) error {
	type plain CotalMessage
	return decodeExact(data, (*plain)(m))
}

// UnmarshalJSON reads the object by exact key.
func (r *EndpointRef) UnmarshalJSON(data []byte) error {
	type plain EndpointRef
	return decodeExact(data, (*plain)(r))
}

// UnmarshalJSON reads the object by exact key.
func (a *Artifact) UnmarshalJSON(data []byte) error {
	type plain Artifact
	return decodeExact(data, (*plain)(a))
}

// UnmarshalJSON reads the object by exact key.
func (p *Presence) UnmarshalJSON(data []byte) error {
	type plain Presence
	return decodeExact(data, (*plain)(p))
}

// UnmarshalJSON reads the object by exact key.
func (c *AgentCard) UnmarshalJSON(data []byte) error {
	type plain AgentCard
	return decodeExact(data, (*plain)(c))
}

// UnmarshalJSON reads the object by exact key.
func (s *AgentSkill) UnmarshalJSON(data []byte) error {
	type plain AgentSkill
	return decodeExact(data, (*plain)(s))
}

// UnmarshalJSON reads the object by exact key.
func (c *ChannelConfig) UnmarshalJSON(data []byte) error {
	type plain ChannelConfig
	return decodeExact(data, (*plain)(c))
}

// UnmarshalJSON reads the object by exact key.
func (d *ChannelDefaults) UnmarshalJSON(data []byte) error {
	type plain ChannelDefaults
	return decodeExact(data, (*plain)(d))
}
