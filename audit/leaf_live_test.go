package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// TestLeafIsHeldToItsUser measures what A003 and ADR 0023 say of a leaf node whose user is limited: what its entries hold there, and
// what they do not. Each refusal has the granted subject beside it, and a leaf node of a user who may do everything.
func TestLeafIsHeldToItsUser(t *testing.T) {
	t.Parallel()
	s, at := practiceBroker(t)
	limited := recipe{perms: perms([]string{"up.>"}, []string{"down.>", "work.> q"}), edit: func(uc *jwt.UserClaims) { uc.AllowedConnectionTypes = nil }}
	got := map[string][2]bool{}
	for n, all := range []bool{false, true} {
		note := func(what string, ok bool) {
			pair := got[what]
			pair[n] = ok
			got[what] = pair
		}
		for _, subject := range []string{"up.x", "other.x", "$JS.API.INFO", "_R_.other.x", "_GR_.other.x", "$GR.other.x", "_INBOX.other.x"} {
			st := newStage(t, s, at, limited, all)
			st.ear.Do(natstest.SubOp(">", "", "all"))
			write, ok := st.dialLeaf()
			sent := ok && write(fmt.Sprintf("LMSG %s 2\r\nhi", subject))
			if sent {
				st.ear.Flush()
			}
			note("send "+subject, sent)
		}
		for _, sub := range []string{"down.x", "other.x", "other.*", "other.>", "down.>", "work.x q 1", "work.x r 1", "other.x q 1", "other.> q 1", "$LDS.other"} {
			st := newStage(t, s, at, limited, all)
			write, ok := st.dialLeaf()
			if ok {
				write("LS+ " + sub)
			}
			subject, _, _ := strings.Cut(sub, " ")
			subject = strings.NewReplacer("*", "x", ">", "x").Replace(subject)
			st.ear.Do(natstest.PubOp(subject, "", "for another"))
			note("hear "+sub, ok && write("PING") && strings.Contains(strings.Join(st.leafIn, ""), "for another"))
		}
	}
	if diff := cmp.Diff(leafFacts, got); diff != "" {
		t.Errorf("limited and allow-all (-want +got):\n%s", diff)
	}
}

// leafFacts is what a leaf node sends and hears with the entries pub up.>, sub down.> and "work.> q", and with none. A queue entry
// gives it nothing, not even its own queue.
var leafFacts = map[string][2]bool{
	"send up.x": {true, true}, "send _R_.other.x": {true, true},
	"send other.x": {false, true}, "send $JS.API.INFO": {false, true}, "send _INBOX.other.x": {false, true},
	"send $GR.other.x": {false, true}, "send _GR_.other.x": {false, true},

	"hear down.x": {true, true}, "hear down.>": {true, true},
	"hear other.x": {false, true}, "hear other.*": {false, true}, "hear other.>": {false, true}, "hear $LDS.other": {false, true},
	"hear work.x q 1": {false, true}, "hear work.x r 1": {false, true}, "hear other.x q 1": {false, true}, "hear other.> q 1": {false, true},
}
