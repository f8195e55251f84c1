package spacetest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// system are the holders in the broker's system account.
var system = bodies{
	"doctor":              doctorExamines,
	"membership-observer": connectionsAreSeen,
	"connection-evictor":  connectionIsKicked,
	"claims-pusher":       accountIsPushed,
}

// doctorExamines asks every server of the broker; each answers for itself.
func doctorExamines(t *testing.T, s *spacetest.Space) {
	h := s.Open(t, "doctor", nil)
	sub := follow(t, h.Conn, h.NewRespInbox(), "")
	if err := h.PublishRequest("$SYS.REQ.SERVER.PING.VARZ", sub.Subject, nil); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for len(seen) < len(s.Servers) {
		msg, err := sub.NextMsg(spacetest.Patience)
		if err != nil {
			t.Fatalf("%d of %d servers answered: %v", len(seen), len(s.Servers), err)
		}
		var varz struct {
			Server struct {
				ID string `json:"id"`
			} `json:"server"`
		}
		if err := json.Unmarshal(msg.Data, &varz); err != nil || varz.Server.ID == "" {
			t.Fatalf("answer %q: %v", msg.Data, err)
		}
		seen[varz.Server.ID] = true
	}
	info := request(t, h, "$SYS.REQ.USER.INFO", "")
	if !strings.Contains(info, "SERVER.PING.VARZ") {
		t.Errorf("user info: got %s, want its own permissions", info)
	}
	h.Admits("PUB $SYS.REQ.SERVER.PING.JSZ", "PUB $SYS.REQ.ACCOUNT."+s.Account(t, "space").PublicKey()+".CLAIMS.LOOKUP")
	h.Refuses("PUB $SYS.REQ.SERVER."+h.ConnectedServerId()+".KICK", "PUB $SYS.REQ.CLAIMS.UPDATE",
		"PUB $SYS.REQ.SERVER."+h.ConnectedServerId()+".RELOAD",
		"SUB $SYS.>")
}

func request(t *testing.T, h *spacetest.Holder, subject, data string) string {
	t.Helper()
	msg, err := h.Request(subject, []byte(data), spacetest.Patience)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	return string(msg.Data)
}

// connectionsAreSeen, of one account and no other.
func connectionsAreSeen(t *testing.T, s *spacetest.Space) {
	key := s.Account(t, "space").PublicKey()
	h := s.Open(t, "membership-observer", map[string]any{"account": key})
	events := follow(t, h.Conn, "$SYS.ACCOUNT."+key+".CONNECT", "")
	s.Servers[0].Connect(t, s.Account(t, "space").User(t, everything), nats.Name("moira"))
	mentions(t, events, "moira")
	connz := follow(t, h.Conn, h.NewRespInbox(), "")
	if err := h.PublishRequest("$SYS.REQ.ACCOUNT."+key+".CONNZ", connz.Subject, []byte(`{"limit":4096}`)); err != nil {
		t.Fatal(err)
	}
	mentions(t, connz, "moira") // every server answers for its own connections
	other := s.Servers[0].System.PublicKey()
	h.Refuses("PUB $SYS.REQ.ACCOUNT."+other+".CONNZ", "SUB $SYS.ACCOUNT."+other+".CONNECT", "PUB $SYS.REQ.SERVER.PING.CONNZ",
		"SUB $SYS.ACCOUNT.*.CONNECT")
}

// mentions waits for a message that names something.
func mentions(t *testing.T, sub *nats.Subscription, name string) {
	t.Helper()
	for {
		msg, err := sub.NextMsg(spacetest.Patience)
		if err != nil {
			t.Fatalf("%s: %v, want a message about %s", sub.Subject, err, name)
		}
		if strings.Contains(string(msg.Data), name) {
			return
		}
	}
}

// connectionIsKicked by its id, at the server that holds it.
func connectionIsKicked(t *testing.T, s *spacetest.Space) {
	h, victim := s.Open(t, "connection-evictor", nil), s.Open(t, "agent", person("vic", nil))
	gone := make(chan struct{}, 1)
	victim.SetDisconnectErrHandler(func(*nats.Conn, error) {
		select {
		case gone <- struct{}{}:
		default:
		}
	})
	id, err := victim.GetClientID()
	if err != nil {
		t.Fatal(err)
	}
	if got := request(t, h, "$SYS.REQ.SERVER."+victim.ConnectedServerId()+".KICK", fmt.Sprintf(`{"cid":%d}`,
		id)); strings.Contains(got, `"error"`) {
		t.Errorf("kick: %s", got)
	}
	select {
	case <-gone:
	case <-time.After(spacetest.Patience):
		t.Error("the kicked connection stayed")
	}
	h.Admits("PUB $SYS.REQ.SERVER.x.KICK")
	h.Refuses("PUB $SYS.REQ.SERVER."+h.ConnectedServerId()+".RELOAD", "PUB $SYS.REQ.SERVER.PING.CONNZ",
		"PUB $SYS.REQ.CLAIMS.UPDATE", "SUB $SYS.>")
}

// accountIsPushed into a broker that does not know it, whose resolver takes pushes. Servers that keep accounts in memory take none,
// so that the body has a broker of its own.
func accountIsPushed(t *testing.T, s *spacetest.Space) {
	s = spacetest.NewUnknown(t, s.Contract, s.Topology.Name)
	h, account := s.Open(t, "claims-pusher", nil), s.Account(t, "space")
	user := account.User(t, everything)
	if errs := s.Servers[0].Login(t, user); len(errs) == 0 {
		t.Fatal("a user of an unknown account was let in")
	}
	push := func(token string) {
		t.Helper()
		if got := request(t, h, "$SYS.REQ.CLAIMS.UPDATE", token); !strings.Contains(got, `"code":200`) {
			t.Fatalf("push: %s", got)
		}
	}
	push(account.JWT(t))
	if errs := s.Servers[0].Login(t, user); len(errs) != 0 {
		t.Errorf("login after the push: %v", errs)
	}
	for profile, reader := range map[string]*spacetest.Holder{"claims-pusher": h, "doctor": s.Open(t, "doctor", nil)} {
		if got := request(t, reader, "$SYS.REQ.ACCOUNT."+account.PublicKey()+".CLAIMS.LOOKUP", ""); got != account.JWT(t) {
			t.Errorf("%s: lookup: got %d bytes, want the JWT as pushed", profile, len(got))
		}
	}

	// The residual: the resolver compares no issuer, so that one which nobody trusts takes the place of the operator's. Who is loaded
	// stays as it was; who is not is let in by the operator's alone.
	push(foreign(t, account))
	if errs := s.Servers[0].Login(t, user); len(errs) != 0 {
		t.Errorf("login while a foreign JWT is stored: %v", errs)
	}
	stranger := s.Servers[0].NewAccount(t, "stranger")
	push(foreign(t, stranger))
	if errs := s.Servers[0].Login(t, stranger.User(t, everything)); len(errs) == 0 {
		t.Error("a user of an account that the operator did not sign was let in")
	}
	push(stranger.JWT(t))
	if errs := s.Servers[0].Login(t, stranger.User(t, everything)); len(errs) != 0 {
		t.Errorf("control: login once the operator's is pushed: %v", errs)
	}
	h.Admits("PUB $SYS.REQ.CLAIMS.UPDATE")
	h.Refuses("PUB $SYS.REQ.CLAIMS.DELETE", "PUB $SYS.REQ.CLAIMS.LIST", "PUB $SYS.REQ.ACCOUNT."+account.PublicKey()+".CLAIMS.UPDATE",
		"PUB $SYS.REQ.SERVER.PING.VARZ", "PUB $SYS.REQ.SERVER."+h.ConnectedServerId()+".KICK")
}

// foreign is an account's JWT that another operator signed.
func foreign(t *testing.T, a *natstest.Account) string {
	t.Helper()
	operator, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.NewAccountClaims(a.PublicKey()).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	return token
}
