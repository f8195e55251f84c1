package audit

import (
	"slices"
	"testing"

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
