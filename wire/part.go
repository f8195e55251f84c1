package wire

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The core kinds of a part (§5). Any other kind is namespaced reverse-DNS (§11).
const (
	PartText     = "text"
	PartData     = "data"
	PartArtifact = "artifact"
)

// Part is one piece of a message's content (§5): text, any JSON value, a reference to bytes held elsewhere, or an extension.
// Only the field of its Kind is used.
type Part struct {
	Kind      string
	Text      string          // PartText
	Data      json.RawMessage // PartData: any JSON value
	Artifact  Artifact        // PartArtifact
	Extension json.RawMessage // another kind: the whole object, kind included
}

// Artifact refers to bytes outside the message. Name, MediaType and Size are the publisher's claims: do not allocate from
// Size, and verify fetched bytes against Digest before use (§5).
type Artifact struct {
	Name      string  `json:"name"`
	MediaType string  `json:"mediaType"`
	Digest    string  `json:"digest"` // sha256:<64 lower-case hex digits>
	Size      float64 `json:"size"`   // bytes, as claimed
}

// TextPart is a part of plain text.
func TextPart(text string) Part { return Part{Kind: PartText, Text: text} }

// Validate checks the shape that §5 requires of the part's kind. A bare kind that is not core is not conformant (§5, §11).
func (p Part) Validate() error {
	switch p.Kind {
	case PartText:
		return nil
	case PartData:
		if !json.Valid(p.Data) {
			return fmt.Errorf("data part, got no JSON value, want one")
		}
		return nil
	case PartArtifact:
		return p.Artifact.validate()
	}
	if !isExtensionKind(p.Kind) {
		return fmt.Errorf("part kind, got %q, want text, data, artifact, or a reverse-DNS name such as com.example.kind", p.Kind)
	}
	if !json.Valid(p.Extension) {
		return fmt.Errorf("part %s, got no JSON object, want one", p.Kind)
	}
	return nil
}

func (a Artifact) validate() error {
	digits, ok := strings.CutPrefix(a.Digest, "sha256:")
	if !ok || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" {
		return fmt.Errorf("artifact digest, got %q, want sha256: and 64 lower-case hex digits", a.Digest)
	}
	if a.Size < 0 {
		return fmt.Errorf("artifact size, got %v, want at least 0", a.Size)
	}
	return nil
}

// isExtensionKind reports whether kind is namespaced: at least two dotted labels (§11).
func isExtensionKind(kind string) bool {
	return strings.Contains(kind, ".") && ValidateChannel(kind) == nil
}

// MarshalJSON writes the one shape of the part's kind.
func (p Part) MarshalJSON() ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	switch p.Kind {
	case PartText:
		return json.Marshal(struct {
			Kind string `json:"kind"`
			Text string `json:"text"`
		}{p.Kind, p.Text})
	case PartData:
		return json.Marshal(struct {
			Kind string          `json:"kind"`
			Data json.RawMessage `json:"data"`
		}{p.Kind, p.Data})
	case PartArtifact:
		return json.Marshal(struct {
			Kind string `json:"kind"`
			Artifact
		}{p.Kind, p.Artifact})
	}
	return p.Extension, nil
}

// partShape is every core field; a part of another kind is kept whole.
type partShape struct {
	Kind string          `json:"kind"`
	Text string          `json:"text"`
	Data json.RawMessage `json:"data"`
}

// UnmarshalJSON reads a part. An unknown kind is kept for [Part.Validate] to judge, so that one part cannot hide a message.
func (p *Part) UnmarshalJSON(data []byte) error {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := decodeExact(data, &kind); err != nil {
		return err
	}
	*p = Part{Kind: kind.Kind}
	switch p.Kind {
	case PartText, PartData:
		var s partShape
		if err := decodeExact(data, &s); err != nil {
			return err
		}
		p.Text, p.Data = s.Text, s.Data
	case PartArtifact:
		return json.Unmarshal(data, &p.Artifact)
	default:
		p.Extension = append(json.RawMessage(nil), data...)
	}
	return nil
}
