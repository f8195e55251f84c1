package audit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// TestAckShapes: the server binds acknowledgements under "$JS.ACK.<stream>.<consumer>" and under "$JS.ACK.<domain>.<hash>.<stream>.
// <consumer>" with its own domain, so that any domain counts, and an acknowledgement of one stream is none of another.
func TestAckShapes(t *testing.T) {
	families := verbSubjects("consumer.ack", "EPF_main")
	for entry, want := range map[subject.Pattern]bool{
		"$JS.ACK.EPF_main.eff.>":             true,
		"$JS.ACK.EPF_main.>":                 true,
		"$JS.ACK._.*.EPF_main.eff.>":         true,
		"$JS.ACK.hub.*.EPF_main.eff.>":       true,
		"$JS.ACK.hub.ABCDEFGH.EPF_main.>":    true,
		"$JS.ACK.*.*.EPF_main.eff.1.1.1.1.0": true,
		"$JS.ACK.hub.*.>":                    true,
		"$JS.ACK._.ABCDEFGH.>":               true, // no stream of that name: every stream of the account
		"$JS.ACK._.>":                        true,
		"$JS.ACK.>":                          true,
		"$JS.ACK.EPW_main.pool.>":            false,
		"$JS.ACK.EPW_main.>":                 false,
		"$JS.ACK.hub.*.EPW_main.pool.>":      false,
	} {
		p := &Principal{Pub: Direction{Allow: []Entry{{Entry: subject.Entry{Pattern: entry}}}}}
		got := slices.ContainsFunc(families, func(f subject.Pattern) bool {
			_, ok := p.reaches(&p.Pub, p.Pub.Allow[0], f)
			return ok
		})
		if got != want {
			t.Errorf("%s reaches the consumers of EPF_main: got %t, want %t", entry, got, want)
		}
	}
}

// TestManySpaces: a credential that names more spaces than it is judged in is not let pass: which are left out is its author's choice.
func TestManySpaces(t *testing.T) {
	c := testContract(t)
	edit := func(n int) func(*jwt.UserClaims) {
		return func(uc *jwt.UserClaims) {
			uc.Tags, uc.Pub.Allow = nil, nil
			for i := range n {
				uc.Pub.Allow.Add(fmt.Sprintf("app.a%d.other", i))
			}
			uc.Pub.Allow.Add("app.main.log.x")
		}
	}
	for n, want := range map[int]bool{maxSpaces + 1: true, maxSpaces - 2: false} {
		r := judged(t, c, user(t, c, "worker", worker(), edit(n)))
		if got := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == codeUnjudged && f.Severity == Error }); got != want {
			t.Errorf("%d spaces: an error %t, want %t", n, got, want)
		}
	}
}
