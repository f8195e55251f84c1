package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// confRun is a server that runs a configuration. It writes the ports that it chose into its options.
type confRun struct {
	*natsserver.Server
	opts *natsserver.Options
}

func confServer(t *testing.T, text string) *confRun {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.conf")
	if err := os.WriteFile(path, []byte("listen: \"127.0.0.1:-1\"\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &natsserver.Options{}
	if err := o.ProcessConfigFile(path); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	o.NoLog, o.NoSigs, o.StoreDir = true, true, t.TempDir()
	s, err := natsserver.NewServer(o)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("server does not start")
	}
	return &confRun{s, o}
}

// confRead is what the audit makes of the text.
func confRead(t *testing.T, text string) (*auditor, *serverConf) {
	t.Helper()
	a, err := newAuditor(Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.serverConf("server.conf", "", []byte(text), true)
	if err != nil {
		t.Fatal(err)
	}
	return a, s
}

func confDial(t *testing.T, s *confRun, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.ClientURL(), append(opts, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), nats.NoReconnect())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// may asks the broker: the operation and a round trip leave no error behind.
func mayDo(t *testing.T, s *confRun, login nats.Option, op func(*nats.Conn) error) bool {
	t.Helper()
	nc := confDial(t, s, login)
	defer nc.Close()
	if err := op(nc); err != nil {
		t.Fatal(err)
	}
	if err := nc.FlushTimeout(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	return nc.LastError() == nil
}

// liveConfs are configurations of users u0, u1 and so on, or of one nkey user that stands for %NKEY%.
var liveConfs = []string{
	`authorization { users: [{user: u0, password: p, permissions: {publish: "a.*", subscribe: "b.>"}}] }`,
	`authorization { users: [{user: u0, password: p, permissions: {publish: {deny: "a.x"}, subscribe: {deny: ["b.c"]}}}] }`,
	`authorization { users: [{user: u0, password: p, permissions: {publish: {allow: ["a.>"], deny: "a.x"}, subscribe: {allow: "b.*", deny: "b.*.>"}}}] }`,
	`authorization { default_permissions: {publish: "a.x", subscribe: "b.c"}, users: [{user: u0, password: p}, {user: u1, password: p, permissions: {subscribe: "b.>"}}] }`,
	`authorization { users: [{user: u0, password: p, permissions: {sub: ["b.c q", "b.d"], pub: []}}] }`,
	`authorization { users: [{user: u0, password: p, permissions: {publish: {allow: [], deny: "a.x"}, subscribe: {allow: [], deny: "b.c"}}}] }`,
	`authorization { users: [{user: u0, password: p, permissions: {subscribe: "b.>", allow_responses: true}}] }`,
	`authorization { users: [{user: u0, password: p, permissions: {publish: "a.x", allow_responses: {max: 2, expires: "1s"}}}] }`,
	`accounts { A { default_permissions: {pub: "a.*", sub: "b.c"}, users: [{user: u0, password: p}] }, B { users: [{user: u1, password: p, permissions: {import: "a.>", export: {allow: "b.>"}}}] } }`,
	`PERMS { publish: {allow: ["a.*", "b.c"], deny: ["a.x"]} }
accounts { A { users: [{user: u0, password: p, permissions: $PERMS}] } }`,
	`authorization { users: [{nkey: %NKEY%, permissions: {publish: "a.x", subscribe: {allow: "b.>", deny: "b.c"}}}] }`,
	`authorization { users: [{user: u0, password: p, permissions: {}}, {user: u1, password: p, permissions: {publish: {deny: ">"}, subscribe: {deny: ">"}}}] }`,
	`{"authorization": {"users": [{"user": "u0", "password": "p", "permissions": {"publish": {"allow": ["*.x"]}, "subscribe": ["b.* q.*", "b.*"]}}]}}`,
	`accounts { SYS { users: [{user: u0, password: p, permissions: {publish: ["$SYS.REQ.SERVER.PING", "a.x"]}}] }, A { users: [{user: u1, password: p, permissions: {pub: "a.>"}}] } }
system_account: SYS`,
	`authorization { user: u0, password: p }`,
	`authorization { token: everybody }`,
}

// TestConfiguredPermissionsAreEnforced compares what the audit reads with what a server that runs the configuration lets the
// user do, for publishing and for subscribing with and without a queue.
func TestConfiguredPermissionsAreEnforced(t *testing.T) {
	t.Parallel()
	kp, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	pub, _ := kp.PublicKey()
	allowed, denied := 0, 0
	for i, text := range liveConfs {
		text = strings.ReplaceAll(text, "%NKEY%", pub)
		a, conf := confRead(t, text)
		s := confServer(t, text)
		for _, u := range conf.list {
			p := a.confPrincipal(conf, u)
			perms := permissionsOf(p)
			login := nats.UserInfo(u.name, "p")
			switch u.name {
			case pub:
				login = nats.Nkey(pub, kp.Sign)
			case "authorization token":
				login = nats.Token("everybody")
			}
			for _, subj := range []string{"a.x", "a.y", "a.x.y", "b.c", "b.d", "q"} {
				want := perms.CanPublish(subj).Allowed
				if got := mayDo(t, s, login, func(nc *nats.Conn) error { return nc.Publish(subj, nil) }); got != want {
					t.Errorf("configuration %d, %s: PUB %s, server says %v, audit %v\n%s", i, u.name, subj, got, want, text)
				}
				count(&allowed, &denied, want)
			}
			for _, sub := range [][2]string{{"b.c", ""}, {"b.d", ""}, {"b.*", ""}, {"b.>", ""}, {"a.x", ""}, {"b.c", "q"}, {"b.c", "r"}, {"b.d", "q.1"}} {
				want := perms.CanSubscribe(sub[0], sub[1]).Allowed
				got := mayDo(t, s, login, func(nc *nats.Conn) error {
					_, err := nc.QueueSubscribe(sub[0], sub[1], func(*nats.Msg) {})
					return err
				})
				if got != want {
					t.Errorf("configuration %d, %s: SUB %v, server says %v, audit %v\n%s", i, u.name, sub, got, want, text)
				}
				count(&allowed, &denied, want)
			}
		}
	}
	if allowed < 50 || denied < 50 || len(liveConfs) < 12 {
		t.Errorf("got %d allowed and %d denied operations of %d configurations, want many of each", allowed, denied, len(liveConfs))
	}
}

func count(allowed, denied *int, is bool) {
	if is {
		*allowed++
	} else {
		*denied++
	}
}

func permissionsOf(p *Principal) subject.Permissions {
	list := func(d Direction) subject.List {
		l := subject.List{AllowNone: !d.Open && len(d.Allow) == 0}
		for _, e := range d.Allow {
			l.Allow = append(l.Allow, e.Entry)
		}
		for _, e := range d.Deny {
			l.Deny = append(l.Deny, e.Entry)
		}
		return l
	}
	return subject.Permissions{Pub: list(p.Pub), Sub: list(p.Sub)}
}
