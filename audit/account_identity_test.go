package audit

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/matrix"
)

// TestUnstatedIdentity: without a known profile the uid comes from its tag, else from the single value that the entries carry; two
// values, or another than the tag's, are somebody else's.
func TestUnstatedIdentity(t *testing.T) {
	t.Parallel()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	entry := func(uid string) string {
		return "cotal.main.ep.one.manager.stop.self.local.dev." + uid + ".local.dev." + uid + ".n"
	}
	one, two := entry("aaaaaaaaaaaaaaaaaaaaaaaaaa"), entry("bbbbbbbbbbbbbbbbbbbbbbbbbb")
	for _, tt := range []struct {
		name string
		tags jwt.TagList
		pub  jwt.StringList
		want []string // entries of C105
	}{
		{"one value", nil, jwt.StringList{one}, nil},
		{"two values", nil, jwt.StringList{one, two}, []string{one, two}},
		{"the tag's", jwt.TagList{"uid:aaaaaaaaaaaaaaaaaaaaaaaaaa"}, jwt.StringList{one}, nil},
		{"another than the tag's", jwt.TagList{"uid:bbbbbbbbbbbbbbbbbbbbbbbbbb"}, jwt.StringList{one}, []string{one}},
		{"the tag's among two", jwt.TagList{"uid:aaaaaaaaaaaaaaaaaaaaaaaaaa"}, jwt.StringList{one, two}, []string{two}},
	} {
		uc := jwt.NewUserClaims(public(t, newKey(t, nkeys.CreateUser)))
		uc.Expires, uc.Tags, uc.Pub.Allow, uc.Sub.Deny = time.Now().Add(time.Hour).Unix(), tt.tags, tt.pub, jwt.StringList{">"}
		r, err := Bytes(Config{Contract: c, Now: now()}, "u.jwt", signed(t, uc))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Findings {
			if f.Code == "C105" {
				got = append(got, f.Entry)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: C105 (-want +got):\n%s", tt.name, diff)
		}
		if !slices.Contains(codes(r), codeUnjudged) {
			t.Errorf("%s: got %v, want the missing profile said", tt.name, codes(r))
		}
	}
}
