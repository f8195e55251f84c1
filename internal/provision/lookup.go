package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// lookupQuiet is how long a further server is waited for once one has answered a lookup: not all of them keep account JWTs.
const lookupQuiet = 250 * time.Millisecond

// LookupAccount returns the account JWTs that servers hold, over a connection in the system account that may publish the lookup: each
// differing one once, sorted, "" for a server that holds none. It waits for as many answers as there are servers, 0 for a number that
// is not known, as long as they come.
func LookupAccount(ctx context.Context, nc *nats.Conn, account string, servers int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, nc.Opts.Timeout)
	defer cancel()
	var held []string
	n := 0
	err := answers(ctx, nc, fmt.Sprintf(claimsLookup, account), nil, func(msg *nats.Msg) (bool, error) {
		if n++; n == 1 {
			time.AfterFunc(lookupQuiet, cancel)
		}
		held = append(held, string(msg.Data))
		return n == servers, nil
	})
	if err != nil && (n == 0 || !errors.Is(err, context.Canceled)) {
		return nil, fmt.Errorf("look up account %s: %w", account, err)
	}
	slices.Sort(held)
	return slices.Compact(held), nil
}
