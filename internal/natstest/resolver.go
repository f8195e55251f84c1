package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// FullResolver is an option of Start: accounts are kept in a directory, which takes pushes from the system account and knows no
// other account before one is pushed.
func FullResolver(t testing.TB) func(*server.Options) {
	t.Helper()
	return func(o *server.Options) {
		token := must(o.AccountResolver.Fetch(o.SystemAccount))(t)
		dir := must(server.NewDirAccResolver(t.TempDir(), 0, time.Minute, server.NoDelete))(t)
		if err := dir.Store(o.SystemAccount, token); err != nil {
			t.Fatal(err)
		}
		o.AccountResolver = dir
	}
}

// JWT is the account's JWT as the operator signed it.
func (a *Account) JWT(t testing.TB) string {
	t.Helper()
	return must(a.operator.resolver.Fetch(a.PublicKey()))(t)
}
