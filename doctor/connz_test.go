package doctor

import (
	"testing"

	"github.com/nats-io/jwt/v2"
)

func TestReach(t *testing.T) {
	for _, tt := range []struct {
		allow, deny []string
		want        Reach
	}{
		{nil, nil, ReachUnset},
		{nil, []string{">"}, ReachLimited},
		{[]string{">"}, []string{">"}, ReachLimited},
		{nil, []string{"x"}, ReachWide},
		{[]string{"x", ">"}, nil, ReachWide},
		{[]string{"*.>"}, nil, ReachWide},
		{[]string{"$SYS.>"}, nil, ReachWide},
		{[]string{"$SYS.REQ.>"}, nil, ReachWide},
		{[]string{"*.REQ.*.>"}, nil, ReachWide},
		{[]string{"$SYS.> group"}, nil, ReachWide},
		{[]string{"$SYS.REQ.SERVER.PING.VARZ", "_INBOX_x.>"}, nil, ReachLimited},
		{[]string{"$SYS.REQ.SERVER.>"}, nil, ReachLimited},
		{[]string{"REQ.>"}, nil, ReachLimited},
		{[]string{"$SYS.REQ"}, nil, ReachLimited},
	} {
		if got := reachOf(jwt.Permission{Allow: tt.allow, Deny: tt.deny}); got != tt.want {
			t.Errorf("allow %q, deny %q: got %s, want %s", tt.allow, tt.deny, got, tt.want)
		}
	}
}

// Another server's subjects are no mapping of the server's own.
func TestOfDomain(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"$JS.hub.API.STREAM.>", "$JS.API.STREAM.>", true},
		{"$JS.hub.API.$KV.>", "$KV.>", true},
		{"$JS.hub.API.>", "$JS.API.>", true},
		{"$JS.hub.API.STREAM.>", "$JS.API.CONSUMER.>", false},
		{"$JS.hub.API.x", "x", false},
		{"$JS.a.b.API.>", "$JS.API.>", false},
		{"x", "$JS.API.>", false},
	} {
		if got := ofDomain(tt.from, tt.to); got != tt.want {
			t.Errorf("%s to %s: got %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
}
