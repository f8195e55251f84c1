package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/wire"
)

// multicast and unicast are the sample messages of §12, byte for byte.
const multicast = `{
  "id": "018f1d0a-0000-7000-9000-000000000001",
  "ts": 1710000000000,
  "space": "main",
  "from": {
    "id": "u_aaaaaaaaaaaaaaaaaaaaaaaaaa.alice",
    "name": "alice",
    "role": "planner"
  },
  "channel": "team.backend",
  "mentions": ["bob"],
  "parts": [{ "kind": "text", "text": "Can you review this?" }],
  "contextId": "ctx-1"
}`

const unicast = `{
  "id": "018f1d0a-0000-7000-9000-000000000002",
  "ts": 1710000001000,
  "space": "main",
  "from": {
    "id": "u_aaaaaaaaaaaaaaaaaaaaaaaaaa.alice",
    "name": "alice"
  },
  "to": "u_bbbbbbbbbbbbbbbbbbbbbbbbbb.bob",
  "parts": [{ "kind": "text", "text": "Direct note." }]
}`

// TestSampleMessages: the samples decode in full, validate, name their own subject, and survive a round trip.
func TestSampleMessages(t *testing.T) {
	for name, tt := range map[string]struct{ sample, subject string }{
		"multicast": {multicast, vectors[0].subject},
		"unicast":   {unicast, vectors[1].subject},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := wire.Receive(tt.subject, []byte(tt.sample))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Message.Validate(); err != nil {
				t.Error(err)
			}
			if s, err := d.Message.Subject(); err != nil || s.String() != tt.subject {
				t.Errorf("subject, got %q, %v, want %q", s, err, tt.subject)
			}
			out, err := json.Marshal(d.Message)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := json.Unmarshal([]byte(tt.sample), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func sample() wire.CotalMessage {
	return wire.CotalMessage{
		ID: "1", TS: 1710000000000, Space: "main", From: wire.EndpointRef{ID: alice.Dot(), Name: "alice"},
		Channel: "team.backend", Parts: []wire.Part{wire.TextPart("hi")},
	}
}

// TestValidateMessage: one fault at a time, the unbroken sample beside them (§5).
func TestValidateMessage(t *testing.T) {
	tests := []struct {
		name string
		edit func(*wire.CotalMessage)
		want string // "": valid
	}{
		{"sample", func(*wire.CotalMessage) {}, ""},
		{"to", func(m *wire.CotalMessage) { m.Channel, m.To = "", bob.Dot() }, ""},
		{"toService", func(m *wire.CotalMessage) { m.Channel, m.ToService = "", "reviewer" }, ""},
		{"no parts but a list", func(m *wire.CotalMessage) { m.Parts = []wire.Part{} }, ""},
		{"no routing", func(m *wire.CotalMessage) { m.Channel = "" }, "routing fields, got 0"},
		{"channel and to", func(m *wire.CotalMessage) { m.To = bob.Dot() }, "routing fields, got 2"},
		{"all three", func(m *wire.CotalMessage) { m.To, m.ToService = bob.Dot(), "reviewer" }, "routing fields, got 3"},
		{"wildcard channel", func(m *wire.CotalMessage) { m.Channel = "team.*" }, "concrete"},
		{"bad to", func(m *wire.CotalMessage) { m.Channel, m.To = "", bob.Dash() }, "to: principal"},
		{"bad role", func(m *wire.CotalMessage) { m.Channel, m.ToService = "", "a.b" }, "role"},
		{"no id", func(m *wire.CotalMessage) { m.ID = "" }, "id, got none"},
		{"no ts", func(m *wire.CotalMessage) { m.TS = 0 }, "ts, got 0"},
		{"no space", func(m *wire.CotalMessage) { m.Space = "" }, "space"},
		{"no from", func(m *wire.CotalMessage) { m.From = wire.EndpointRef{} }, "from.id"},
		{"nkey from", func(m *wire.CotalMessage) { m.From.ID = nkey }, "from.id"},
		{"mention in capitals", func(m *wire.CotalMessage) { m.Mentions = []string{"Bob"} }, "lower-case"},
		{"no parts", func(m *wire.CotalMessage) { m.Parts = nil }, "parts, got none"},
		{"bare part kind", func(m *wire.CotalMessage) { m.Parts[0].Kind = "image" }, `part kind, got "image"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := sample()
			tt.edit(&m)
			err := m.Validate()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestParts: each core shape and an extension round-trip; the others are refused when written (§5, §11).
func TestParts(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, text := range []string{
		`{"kind":"text","text":"a \u003c b"}`,
		`{"kind":"text","text":""}`,
		`{"kind":"data","data":{"a":[1,null]}}`,
		`{"kind":"data","data":null}`,
		`{"kind":"artifact","name":"n","mediaType":"text/plain","digest":"` + digest + `","size":3}`,
		`{"kind":"com.acme.snapshot","x":1}`,
	} {
		var p wire.Part
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if out, err := json.Marshal(p); err != nil || string(out) != text {
			t.Errorf("got %s, %v, want %s", out, err, text)
		}
	}
	for _, text := range []string{
		`{"kind":"image"}`,
		`{"KIND":"text","text":"x"}`,
		`{"kind":"data"}`,
		`{"kind":"artifact","name":"n","mediaType":"m","digest":"sha256:AA","size":3}`,
		`{"kind":"artifact","name":"n","mediaType":"m","digest":"` + digest + `","size":-1}`,
	} {
		var p wire.Part
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := p.Validate(); err == nil {
			t.Errorf("%s: valid, want an error", text)
		}
	}
}
