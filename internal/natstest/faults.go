package natstest

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Sign signs the account's claims with a change, as of a time, and stores them nowhere: a JWT for one server only, or one from
// the past.
func (a *Account) Sign(t testing.TB, at time.Time, edit func(*jwt.AccountClaims)) string {
	t.Helper()
	claims := must(jwt.DecodeAccountClaims(a.JWT(t)))(t)
	edit(claims)
	token := must(claims.Encode(a.operator.key))(t)
	// A resolver takes two JWTs with one id for the same, and jwt/v2 gives all of one account and second the same id.
	id := must(must(nkeys.CreateUser())(t).PublicKey())(t)
	return resign(t, token, a.operator.key, func(c map[string]any) { c["iat"], c["jti"] = at.Unix(), id })
}

// SetJWT makes this server alone take an account's JWT, be it older than the one it has. It needs FullResolver.
func (s *Server) SetJWT(t testing.TB, a *Account, token string) {
	t.Helper()
	dir, ok := s.AccountResolver().(*server.DirAccResolver)
	if !ok {
		t.Fatalf("server %s shares its accounts; hint: start it with FullResolver", s.Name())
	}
	if err := dir.SaveAcc(a.PublicKey(), token); err != nil {
		t.Fatal(err)
	}
}

// Push sends an account's JWT to the full resolvers over a connection to the system account, and returns when n servers have
// taken it.
func Push(t testing.TB, nc *nats.Conn, token string, n int) {
	t.Helper()
	sub := must(nc.SubscribeSync(nc.NewInbox()))(t)
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest("$SYS.REQ.CLAIMS.UPDATE", sub.Subject, []byte(token)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		msg, err := sub.NextMsg(ready)
		if err != nil {
			t.Fatalf("push: got %d answers, want %d: %v", i, n, err)
		}
		var reply struct {
			Data struct {
				Code int `json:"code"`
			} `json:"data"`
		}
		if err := json.Unmarshal(msg.Data, &reply); err != nil || reply.Data.Code != 200 {
			t.Fatalf("push: %s (%v)", msg.Data, err)
		}
	}
}

// Forge answers requests on a subject as another would: with each of what reply returns. A request through another server than nc's
// may be older than the word of this subscription there.
func Forge(t testing.TB, nc *nats.Conn, subject string, reply func(request *nats.Msg) [][]byte) {
	t.Helper()
	sub := must(nc.Subscribe(subject, func(m *nats.Msg) {
		for _, data := range reply(m) {
			_ = nc.Publish(m.Reply, data) // the connection may be closed by the end of the test
		}
	}))(t)
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	if err := nc.FlushTimeout(ready); err != nil {
		t.Fatal(err)
	}
}

// Edit changes the configuration file, for the next Reload or Restart.
func (p *Process) Edit(edit func(config string) string) {
	p.t.Helper()
	text := string(must(os.ReadFile(p.config))(p.t))
	if err := os.WriteFile(p.config, []byte(edit(text)), 0o600); err != nil {
		p.t.Fatal(err)
	}
}
