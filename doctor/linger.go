package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// leastLinger is how long a complete gathering goes on listening at the least.
const leastLinger = 5 * time.Millisecond

// linger takes what comes after the set is complete, for as long again as the slowest server took: whoever answers in the name of a
// server that is slower than himself completes the set before that server's own answer is there, and the second one is the evidence.
func (g *gathering) linger(ctx context.Context) {
	if g.snap.Varz.Refused != "" {
		return
	}
	wait := leastLinger
	for _, a := range g.snap.Varz.Answers {
		wait = max(wait, a.After)
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	for !g.full() {
		select {
		case m := <-g.in:
			g.take(ctx, m)
		case result := <-g.results: // of what a second answer had dialed
			g.side--
			result()
		case <-g.down:
			g.snap.Interrupted = interrupted
			return
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// contradicted reports whether somebody contradicted himself, in what he says of accounts as well.
func (g *gathering) contradicted() bool {
	v := newView(g.snap)
	v.heed(g.snap.Accounts)
	return v.contradicted()
}

func (g *gathering) full() bool {
	if g.count < maxAnswers && g.bytes < maxBytes {
		return false
	}
	g.cutOff(fmt.Sprintf("the replies do not end: %d of them, %d bytes, when they were cut off", g.count, g.bytes))
	return true
}

// dropped records answers that came faster than they could be read.
func (g *gathering) dropped(sub *nats.Subscription) {
	if n, err := sub.Dropped(); err == nil && n > 0 {
		g.cutOff("the replies came faster than they could be read, and some were dropped")
	}
}

func (g *gathering) cutOff(why string) {
	for _, r := range g.rounds {
		r.cutOff(why)
	}
}
