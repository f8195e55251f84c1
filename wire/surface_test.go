package wire_test

import (
	"testing"

	"github.com/cotalctl/cotalctl/wire"
)

// TestSurfaceable: every refusal of §5 beside the delivery that passes.
func TestSurfaceable(t *testing.T) {
	subject := vectors[0].subject
	if s, err := wire.Surfaceable(subject, alice.Dot()); err != nil || s.Sender != alice {
		t.Fatalf("control: got %+v, %v", s, err)
	}
	wantReason(t, second(wire.Surfaceable(subject, bob.Dot())), wire.SenderMismatch)
	wantReason(t, second(wire.Surfaceable(subject, "")), wire.SenderMismatch)
	wantReason(t, second(wire.Surfaceable(subject, alice.Dash())), wire.SenderMismatch)
	wantReason(t, second(wire.Surfaceable("cotal.main.chat."+alice.Dot(), alice.Dot())), wire.MalformedSubject)
	wantReason(t, second(wire.Surfaceable(vectors[5].subject, nkey+".team")), wire.MalformedSubject)
}

// TestOpenMode: the literal owner surfaces in open development mode only, and opens nothing else (§2).
func TestOpenMode(t *testing.T) {
	open := wire.Boundary{Open: true}
	local := "cotal.main.chat.local.alice.general"
	if _, err := open.Surfaceable(local, "local.alice"); err != nil {
		t.Errorf("open mode: %v", err)
	}
	wantReason(t, second(wire.Surfaceable(local, "local.alice")), wire.MalformedSubject)
	wantReason(t, second(open.Surfaceable(vectors[5].subject, nkey+".team")), wire.MalformedSubject)
	wantReason(t, second(open.Surfaceable(local, "local.bob")), wire.SenderMismatch)
}

// TestReceive: the order subject, JSON, sender; the kind from the subject whatever the payload says (§4, §5, §12).
func TestReceive(t *testing.T) {
	from := `{"id":"` + alice.Dot() + `","name":"alice"}`
	tests := []struct {
		name, subject, payload string
		want                   wire.Reason // "": delivered
	}{
		{"sample", vectors[0].subject, multicast, ""},
		{"unknown fields", vectors[0].subject, `{"from":` + from + `,"hello":{"a":1}}`, ""},
		{"extension part", vectors[0].subject, `{"from":` + from + `,"parts":[{"kind":"com.acme.x","y":1},{"kind":"new"}]}`, ""},
		{"bad subject and bad payload", "cotal.main.ctl.x", `{`, wire.MalformedSubject},
		{"not JSON", vectors[0].subject, `{`, wire.MalformedJSON},
		{"two values", vectors[0].subject, multicast + "{}", wire.MalformedJSON},
		{"not an object", vectors[0].subject, `[]`, wire.MalformedJSON},
		{"not UTF-8", vectors[0].subject, "{\"from\":" + from + ",\"id\":\"\xff\"}", wire.MalformedJSON},
		{"a field of another type", vectors[0].subject, `{"from":` + from + `,"space":7}`, wire.MalformedJSON},
		{"empty payload", vectors[0].subject, ``, wire.MalformedJSON},
		{"no from", vectors[0].subject, `{"id":"1"}`, wire.SenderMismatch},
		{"null from", vectors[0].subject, `{"from":null}`, wire.SenderMismatch},
		{"null", vectors[0].subject, `null`, wire.SenderMismatch},
		{"from of another", vectors[0].subject, `{"from":{"id":"` + bob.Dot() + `"}}`, wire.SenderMismatch},
		{"From in capitals", vectors[0].subject, `{"From":` + from + `}`, wire.SenderMismatch},
		{"id in capitals", vectors[0].subject, `{"from":{"ID":"` + alice.Dot() + `"}}`, wire.SenderMismatch},
		{"last duplicate wins", vectors[0].subject, `{"from":` + from + `,"from":{"id":"` + bob.Dot() + `"}}`, wire.SenderMismatch},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := wire.Receive(tt.subject, []byte(tt.payload))
			if tt.want != "" {
				wantReason(t, err, tt.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d.Kind != wire.DeliveryChannel {
				t.Errorf("kind, got %s, want %s", d.Kind, wire.DeliveryChannel)
			}
		})
	}
}

// TestKindFromSubject: a payload that claims a direct message is still what its subject says (§4).
func TestKindFromSubject(t *testing.T) {
	d, err := wire.Receive(vectors[2].subject, []byte(unicast))
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != wire.DeliveryAnycast {
		t.Errorf("got %s, want %s", d.Kind, wire.DeliveryAnycast)
	}
}
