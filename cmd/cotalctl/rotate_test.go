package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// TestHolders: a credential of the old key is its holder's only way in unless one of the new key is for the same holder, in the
// same account, and neither is revoked.
func TestHolders(t *testing.T) {
	r := &trust.Rotation{Old: "OLD", New: "NEW"}
	cred := func(user, issuer string, iat int64, tags ...string) trust.Issued {
		return trust.Issued{User: user, Account: "A", Issuer: issuer, Tags: tags, IssuedAt: iat}
	}
	elsewhere := cred("u2", "NEW", 5, "actor:alice")
	elsewhere.Account = "B"
	old, next := cred("u1", "OLD", 1, "actor:alice"), cred("u2", "NEW", 5, "actor:alice")
	list := func(records ...trust.Issued) []trust.Issued { return records }
	for _, tt := range []struct {
		name           string
		records        []trust.Issued
		revoked        jwt.RevocationList
		replaced, left string
		fresh          int
	}{
		{name: "nobody"},
		{name: "left", records: list(old), left: "u1"},
		{name: "replaced", records: list(old, next), replaced: "u1", fresh: 1},
		{name: "tags in another order", records: list(cred("u1", "OLD", 1, "a:1", "b:2"), cred("u2", "NEW", 5, "b:2", "a:1")), replaced: "u1", fresh: 1},
		{name: "another generation", records: list(cred("u1", "OLD", 1, "actor:alice", "uid:1"), cred("u2", "NEW", 5, "actor:alice", "uid:2")),
			replaced: "u1", fresh: 1},
		{name: "another holder", records: list(old, cred("u2", "NEW", 5, "actor:bob")), left: "u1", fresh: 1},
		{name: "another profile", records: list(cred("u1", "OLD", 1, "profile:agent"), cred("u2", "NEW", 5, "profile:observer")), left: "u1", fresh: 1},
		{name: "another account", records: list(old, elsewhere), left: "u1", fresh: 1},
		{name: "a third key", records: list(cred("u1", "ELSE", 1, "actor:alice"))},
		{name: "the old one is revoked", records: list(old), revoked: jwt.RevocationList{"u1": 1}},
		{name: "revoked before it was issued", records: list(cred("u1", "OLD", 2, "actor:alice")), revoked: jwt.RevocationList{"u1": 1}, left: "u1"},
		{name: "the new one is revoked", records: list(old, next), revoked: jwt.RevocationList{"u2": 5}, left: "u1"},
		{name: "everybody is revoked", records: list(old, next), revoked: jwt.RevocationList{jwt.All: 4}, fresh: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := holders(tt.records, tt.revoked, r)
			users := func(list []trust.Issued) string {
				var out []string
				for _, i := range list {
					out = append(out, i.User)
				}
				return strings.Join(out, " ")
			}
			if d := cmp.Diff([]any{tt.replaced, tt.left, tt.fresh}, []any{users(h.replaced), users(h.left), h.fresh}); d != "" {
				t.Errorf("replaced, left, fresh (-want +got):\n%s", d)
			}
		})
	}
}

// TestIssueTime: what is minted is issued after the last revocation of everybody, and never in the future.
func TestIssueTime(t *testing.T) {
	const second = 1_800_000_000
	for _, tt := range []struct {
		name  string
		after int64
		tick  bool // the clock has gone on when it is read again
		want  int64
	}{
		{"nothing was revoked", 0, false, second},
		{"the second before", second - 1, false, second},
		{"the same second", second, true, second + 1},
		{"the same second, and a clock that stands", second, false, 0},
		{"an hour ahead", second + 3600, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reads := 0
			a := testApp(context.Background())
			a.now = func() time.Time {
				if reads++; reads > 1 && tt.tick {
					return time.Unix(second+1, 0)
				}
				return time.Unix(second, 999_000_000)
			}
			got, err := a.issueTime(tt.after)
			if (err == nil) != (tt.want != 0) || err == nil && got.Unix() != tt.want {
				t.Fatalf("got %d, %v, want %d", got.Unix(), err, tt.want)
			}
			if err != nil && codeOf(err) != exitFindings {
				t.Errorf("exit %d, want %d", codeOf(err), exitFindings)
			}
		})
	}
}
