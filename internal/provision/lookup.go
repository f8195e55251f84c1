package provision

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
)

// LookupAccount returns the account JWT that a broker holds, over a connection in the system account that may publish the
// lookup; "" where it holds none.
func LookupAccount(ctx context.Context, nc *nats.Conn, account string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, nc.Opts.Timeout)
	defer cancel()
	subject := fmt.Sprintf(claimsLookup, account)
	msg, err := nc.RequestWithContext(ctx, subject, nil)
	if err != nil {
		return "", fmt.Errorf("look up account %s: %w", account, unanswered(nc, subject, err))
	}
	return string(msg.Data), nil
}
