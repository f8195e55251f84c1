package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/wire"
)

const (
	ownerA = "u_aaaaaaaaaaaaaaaaaaaaaaaaaa"
	ownerB = "u_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	nkey   = "UAQGWOEVJKMIO4WXSYOTLARXYOZTCXFK67JASEH6AFFFYK6FOPSKQCAD"
)

var (
	alice = wire.Principal{Owner: ownerA, Actor: "alice"}
	bob   = wire.Principal{Owner: ownerB, Actor: "bob"}
)

// vectors is the table "Subject parsing" of §12, in full and in its order.
var vectors = []struct {
	subject string
	want    *wire.Subject // nil: no sender
	rest    string
	surface bool // surfaced when from.id is the subject sender
}{
	{
		subject: "cotal.main.chat." + ownerA + ".alice.team.backend",
		want:    &wire.Subject{Space: "main", Kind: wire.KindChat, Sender: alice, Channel: "team.backend"},
		rest:    "team.backend", surface: true,
	},
	{
		subject: "cotal.main.inst." + ownerB + ".bob." + ownerA + ".alice",
		want:    &wire.Subject{Space: "main", Kind: wire.KindInst, Sender: alice, Recipient: bob},
		rest:    ownerB + ".bob", surface: true,
	},
	{
		subject: "cotal.main.svc.reviewer." + ownerA + ".alice",
		want:    &wire.Subject{Space: "main", Kind: wire.KindSvc, Sender: alice, Role: "reviewer"},
		rest:    "reviewer", surface: true,
	},
	{subject: "cotal.main.ctl.manager." + ownerA + ".alice"},
	{subject: "cotal.main.chat." + ownerA + ".alice"},
	{
		subject: "cotal.main.chat." + nkey + ".team.backend",
		want:    &wire.Subject{Space: "main", Kind: wire.KindChat, Sender: wire.Principal{Owner: nkey, Actor: "team"}, Channel: "backend"},
		rest:    "backend", surface: false,
	},
}

// TestParseVectors runs §12's table: what splits, what has no sender, and what splits but must be dropped.
func TestParseVectors(t *testing.T) {
	if len(vectors) != 6 {
		t.Fatalf("got %d vectors, want the 6 of §12", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.subject, func(t *testing.T) {
			got, err := wire.ParseSubject(v.subject)
			if v.want == nil {
				if !errors.Is(err, wire.ErrNoSender) {
					t.Fatalf("got %+v, %v, want ErrNoSender", got, err)
				}
				wantReason(t, second(wire.Surfaceable(v.subject, alice.Dot())), wire.MalformedSubject)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*v.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got.Rest() != v.rest {
				t.Errorf("rest, got %q, want %q", got.Rest(), v.rest)
			}
			if got.String() != v.subject {
				t.Errorf("format, got %q, want %q", got.String(), v.subject)
			}
			_, err = wire.Surfaceable(v.subject, got.Sender.Dot())
			if v.surface != (err == nil) {
				t.Errorf("surfaceable, got %v, want %v", err, v.surface)
			}
		})
	}
}

// TestNoSender holds the shapes around the vectors: wrong prefix, wrong arity per kind, other rails, empty tokens (§3).
func TestNoSender(t *testing.T) {
	a, b := alice.Dot(), bob.Dot()
	subjects := []string{
		"", "cotal", "cotal.main", "cotal.main.chat", "Cotal.main.chat." + a + ".x", "$KV.main.chat." + a + ".x",
		"cotal.main.CHAT." + a + ".x",
		"cotal.main.inst." + a, "cotal.main.inst." + b + "." + a + ".x", "cotal.main.inst." + b + "." + ownerA,
		"cotal.main.svc." + a, "cotal.main.svc.reviewer." + a + ".x",
		"cotal.main.ep.one.manager.stop.self." + a + ".uid.n", "cotal.main.trace.x", "cotal.main.epj.e.c." + a + ".uid",
		"cotal..chat." + a + ".x", "cotal.main.chat." + a + ".", "cotal.main.chat.." + a + ".x", "cotal.main.chat." + a + ".x..y",
		"cotal.main.chat." + a + ".x.",
	}
	for _, s := range subjects {
		if got, err := wire.ParseSubject(s); !errors.Is(err, wire.ErrNoSender) {
			t.Errorf("%q: got %+v, %v, want ErrNoSender", s, got, err)
		}
	}
	// The control beside them: the same tokens in a right shape.
	if _, err := wire.ParseSubject("cotal.main.chat." + a + ".x"); err != nil {
		t.Error(err)
	}
}

// TestSplitOnly shows that parsing judges no token, and that the boundary then does (§3, §9).
func TestSplitOnly(t *testing.T) {
	tests := map[string]string{
		"open owner":        "cotal.main.chat.local.alice.x",
		"wildcard channel":  "cotal.main.chat." + alice.Dot() + ".team.*",
		"tail channel":      "cotal.main.chat." + alice.Dot() + ".>",
		"wildcard in token": "cotal.main.chat." + alice.Dot() + ".b*b",
		"control byte":      "cotal.main.chat." + alice.Dot() + ".a\x00b",
		"dash in actor":     "cotal.main.svc.reviewer." + ownerA + ".al-ice",
		"bad space":         "cotal.ma in.svc.reviewer." + alice.Dot(),
		"long space":        "cotal." + strings.Repeat("s", 33) + ".svc.reviewer." + alice.Dot(),
		"bad role":          "cotal.main.svc.rev$." + alice.Dot(),
		"recipient nkey":    "cotal.main.inst." + nkey + ".bob." + alice.Dot(),
		"recipient actor":   "cotal.main.inst." + ownerB + ".*." + alice.Dot(),
	}
	for name, subject := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := wire.ParseSubject(subject)
			if err != nil {
				t.Fatalf("split: %v", err)
			}
			wantReason(t, second(wire.Surfaceable(subject, s.Sender.Dot())), wire.MalformedSubject)
		})
	}
}

func TestReserved(t *testing.T) {
	for subject, want := range map[string]bool{
		"$JS.API.INFO": true, "$KV.b.k": true, "$SYS.REQ": true, "$O.b.M.x": true, "_INBOX.x.1": true,
		"_INBOX_U123.1": false, "cotal.main.chat.a.b.c": false, "x.$JS.y": false,
	} {
		if got := wire.Reserved(subject); got != want {
			t.Errorf("%s: got %v, want %v", subject, got, want)
		}
	}
}

func TestDeliveryKind(t *testing.T) {
	for kind, want := range map[wire.Kind]wire.DeliveryKind{
		wire.KindChat: wire.DeliveryChannel, wire.KindInst: wire.DeliveryDM, wire.KindSvc: wire.DeliveryAnycast, "ctl": "",
	} {
		if got := kind.Delivery(); got != want {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func wantReason(t *testing.T, err error, want wire.Reason) {
	t.Helper()
	var r *wire.Rejection
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a rejection %s", err, want)
	}
	if r.Reason != want {
		t.Errorf("got %v, want reason %s", err, want)
	}
}
