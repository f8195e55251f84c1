package provision

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
)

// LookupAccount returns the account JWT that a broker holds, over a connection in the system account that may publish the
// lookup; "" where it holds none.
func LookupAccount(ctx context.Context, nc *nats.Conn, account string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	msg, err := nc.RequestWithContext(ctx, fmt.Sprintf(claimsLookup, account), nil)
	if err != nil {
		return "", fmt.Errorf("look up account %s: %w", account, noResolver(err))
	}
	return string(msg.Data), nil
}
