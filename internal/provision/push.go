package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
// update and lookup. It waits no longer than the connection was allowed to take to connect. It returns once a server answers a lookup
// with that JWT; with several servers the others follow.
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
	if _, err := updated(msg.Data, claims.Subject); err != nil {
		return fmt.Errorf("push account %s: %w", claims.Subject, err)
	}
	return stored(ctx, nc, claims, accountJWT)
}

// PushEverywhere is PushAccount for an edit that counts only where it is in force everywhere: each of the named servers must take
// the JWT and then answer a lookup with it. Servers are named by id; none named is one, whichever answers.
func PushEverywhere(ctx context.Context, nc *nats.Conn, accountJWT string, servers []string) error {
	claims, err := jwt.DecodeAccountClaims(accountJWT)
	if err != nil {
		return fmt.Errorf("account JWT: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, nc.Opts.Timeout)
	defer cancel()
	missing := slices.Clone(servers)
	err = answers(ctx, nc, claimsUpdate, []byte(accountJWT), func(msg *nats.Msg) (bool, error) {
		id, err := updated(msg.Data, claims.Subject)
		missing = slices.DeleteFunc(missing, func(s string) bool { return s == id })
		return len(missing) == 0, err
	})
	if err != nil {
		return fmt.Errorf("push account %s: %w", claims.Subject, silent(err, missing))
	}
	for {
		same, want := 0, max(1, len(servers))
		err := answers(ctx, nc, fmt.Sprintf(claimsLookup, claims.Subject), nil, func(msg *nats.Msg) (bool, error) {
			if got, err := jwt.DecodeAccountClaims(string(msg.Data)); err == nil && got.IssuedAt > claims.IssuedAt {
				return false, fmt.Errorf("a server holds a newer JWT, got iat %d, want %d", got.IssuedAt, claims.IssuedAt)
			}
			if string(msg.Data) == accountJWT {
				same++
			}
			want--
			return want <= 0, nil
		})
		switch {
		case err != nil:
			return fmt.Errorf("look up account %s: %d of %d servers hold the pushed JWT: %w", claims.Subject, same, max(1, len(servers)), err)
		case same >= max(1, len(servers)):
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("look up account %s: %d of %d servers hold the pushed JWT: %w", claims.Subject, same, max(1, len(servers)), ctx.Err())
		case <-time.After(lookupRetry):
		}
	}
}

func silent(err error, missing []string) error {
	if len(missing) == 0 || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("no answer of server %s: %w", strings.Join(missing, ", "), err)
}

// answers sends a request and hands on every answer until take has enough, or fails.
func answers(ctx context.Context, nc *nats.Conn, subject string, body []byte, take func(*nats.Msg) (enough bool, err error)) error {
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection may be gone by now
	before := nc.LastError()
	if err := nc.PublishRequest(subject, inbox, body); err != nil {
		return err
	}
	if err := nc.FlushWithContext(ctx); err != nil {
		return err
	}
	if last := nc.LastError(); last != before && errors.Is(last, nats.ErrPermissionViolation) { // it stands before the answer to the flush
		return unanswered(nc, subject, last)
	}
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return unanswered(nc, subject, err)
		}
		if enough, err := take(msg); enough || err != nil {
			return err
		}
	}
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

// updated reads a server's answer to a claims update, and returns the server's id.
func updated(reply []byte, account string) (server string, err error) {
	var r struct {
		Server struct {
			ID string `json:"id"`
		} `json:"server"`
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
		return r.Server.ID, fmt.Errorf("answer: %w", err)
	}
	switch {
	case r.Error != nil:
		return r.Server.ID, fmt.Errorf("server refused, code %d: %s", r.Error.Code, r.Error.Description)
	case r.Data == nil || r.Data.Code != 200:
		return r.Server.ID, errors.New("answer, got neither code 200 nor an error, want one")
	case r.Data.Account != account:
		return r.Server.ID, fmt.Errorf("answer, got account %s, want %s", r.Data.Account, account)
	}
	return r.Server.ID, nil
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
