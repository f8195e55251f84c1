package wire_test

import (
	"errors"
	"testing"

	"github.com/cotalctl/cotalctl/wire"
)

// FuzzParseSubject: parsing never panics, format undoes it, and the boundary surfaces only what splits, under its own sender.
func FuzzParseSubject(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.subject)
	}
	f.Add("cotal.main.chat.local.a.*.>")
	f.Add("cotal....")
	f.Fuzz(func(t *testing.T, subject string) {
		s, err := wire.ParseSubject(subject)
		if err != nil {
			if !errors.Is(err, wire.ErrNoSender) || s != (wire.Subject{}) {
				t.Fatalf("got %+v, %v", s, err)
			}
			if _, err := wire.Surfaceable(subject, ""); err == nil {
				t.Fatalf("%q: surfaced without a sender", subject)
			}
			return
		}
		if got := s.String(); got != subject {
			t.Fatalf("format, got %q, want %q", got, subject)
		}
		if s.Kind.Delivery() == "" || s.Rest() == "" {
			t.Fatalf("%q: got %+v", subject, s)
		}
		got, err := wire.Surfaceable(subject, s.Sender.Dot())
		if (err == nil) != surfaceable(s) {
			t.Fatalf("%q: surfaceable, got %v", subject, err)
		}
		if err == nil && got != s {
			t.Fatalf("%q: got %+v, want %+v", subject, got, s)
		}
		if _, err := wire.Surfaceable(subject, s.Sender.Dot()+"x"); err == nil {
			t.Fatalf("%q: surfaced under another sender", subject)
		}
	})
}

// surfaceable restates the boundary independently of its order of checks.
func surfaceable(s wire.Subject) bool {
	owners := wire.ValidOwner(s.Sender.Owner) && (s.Kind != wire.KindInst || wire.ValidOwner(s.Recipient.Owner))
	return owners && s.Validate() == nil
}

// FuzzReceive: no payload panics, and what surfaces names the subject's sender.
func FuzzReceive(f *testing.F) {
	f.Add(vectors[0].subject, []byte(multicast))
	f.Add(vectors[1].subject, []byte(unicast))
	f.Add(vectors[2].subject, []byte(`{"from":null}`))
	f.Add(vectors[0].subject, []byte("{\"from\":{\"id\":\"\xff\"}}"))
	f.Fuzz(func(t *testing.T, subject string, payload []byte) {
		d, err := wire.Receive(subject, payload)
		if err != nil {
			var r *wire.Rejection
			if !errors.As(err, &r) {
				t.Fatalf("got %v, want a rejection", err)
			}
			return
		}
		if d.Message.From.ID != d.Subject.Sender.Dot() || d.Subject.String() != subject {
			t.Fatalf("%q: surfaced %+v", subject, d)
		}
	})
}
