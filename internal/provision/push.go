package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
)

const (
	claimsUpdate = "$SYS.REQ.CLAIMS.UPDATE"
	claimsLookup = "$SYS.REQ.ACCOUNT.%s.CLAIMS.LOOKUP"

	lookupRetry = 50 * time.Millisecond
)

// PushAccount gives a running broker an account JWT, over a connection in the system account that may publish the claims
// update and lookup. It waits no longer than the connection was allowed to take to connect. It returns once a server answers a lookup with that JWT; with several servers the others follow.
func PushAccount(ctx context.Context, nc *nats.Conn, accountJWT string) error {
	claims, err := jwt.DecodeAccountClaims(accountJWT)
	if err != nil {
		return fmt.Errorf("account JWT: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, nc.Opts.Timeout)
	defer cancel()
	msg, err := nc.RequestWithContext(ctx, claimsUpdate, []byte(accountJWT))
	if err != nil {
		return fmt.Errorf("push account %s: %w", claims.Subject, unanswered(nc, claimsUpdate, err))
	}
	if err := updated(msg.Data, claims.Subject); err != nil {
		return fmt.Errorf("push account %s: %w", claims.Subject, err)
	}
	return stored(ctx, nc, claims, accountJWT)
}

// unanswered says why a request had no answer: the broker reports a refused publish apart from it.
func unanswered(nc *nats.Conn, subject string, err error) error {
	last := nc.LastError()
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return errors.New("no server answers, want one with a full resolver and a connection in its system account")
	case errors.Is(last, nats.ErrPermissionViolation) && strings.Contains(last.Error(), strconv.Quote(subject)):
		return &DeniedError{Subject: subject, Cause: last}
	}
	return err
}

// updated reads the server's answer to a claims update.
func updated(reply []byte, account string) error {
	var r struct {
		Data *struct {
			Account string `json:"account"`
			Code    int    `json:"code"`
		} `json:"data"`
		Error *struct {
			Code        int    `json:"code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	switch {
	case r.Error != nil:
		return fmt.Errorf("server refused, code %d: %s", r.Error.Code, r.Error.Description)
	case r.Data == nil || r.Data.Code != 200:
		return errors.New("answer, got neither code 200 nor an error, want one")
	case r.Data.Account != account:
		return fmt.Errorf("answer, got account %s, want %s", r.Data.Account, account)
	}
	return nil
}

// stored asks until the broker answers with the JWT: an update is applied after it is acknowledged, and any server may answer.
func stored(ctx context.Context, nc *nats.Conn, claims *jwt.AccountClaims, want string) error {
	for {
		subject := fmt.Sprintf(claimsLookup, claims.Subject)
		msg, err := nc.RequestWithContext(ctx, subject, nil)
		if err != nil {
			return fmt.Errorf("look up account %s: %w", claims.Subject, unanswered(nc, subject, err))
		}
		if string(msg.Data) == want {
			return nil
		}
		if got, err := jwt.DecodeAccountClaims(string(msg.Data)); err == nil && got.IssuedAt > claims.IssuedAt {
			return fmt.Errorf("look up account %s: the broker holds a newer JWT, got iat %d, want %d", claims.Subject, got.IssuedAt, claims.IssuedAt)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("look up account %s: the broker does not hold the pushed JWT: %w", claims.Subject, ctx.Err())
		case <-time.After(lookupRetry):
		}
	}
}
