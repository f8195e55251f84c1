package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
)

// LookupAccount returns the account JWT that the broker's resolver holds, or "".
func (s *Server) LookupAccount(_ context.Context, account string) (string, error) {
	store, ok := s.srv.AccountResolver().(*server.DirAccResolver)
	if !ok {
		return "", errors.New("resolver is not a directory")
	}
	text, err := store.LoadAcc(account)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return text, err
}

// PushAccount gives the broker an account JWT, as a claims update over the system account would: one that is not newer than
// what it holds is ignored.
func (s *Server) PushAccount(_ context.Context, accountJWT string) error {
	claims, err := jwt.DecodeAccountClaims(accountJWT)
	if err != nil {
		return fmt.Errorf("account JWT: %w", err)
	}
	if err := s.srv.AccountResolver().Store(claims.Subject, accountJWT); err != nil {
		return fmt.Errorf("store account %s: %w", claims.Subject, err)
	}
	return nil
}
