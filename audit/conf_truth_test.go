package audit

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// fires reports whether a configuration has a finding of a code.
func fires(t *testing.T, code, text string) bool {
	t.Helper()
	r, err := Bytes(Config{Now: now()}, "server.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Code == code {
			return true
		}
	}
	return false
}

// hears subscribes on one connection, publishes on another, and reports whether the message arrives.
func hears(t *testing.T, to *nats.Conn, sub string, from *nats.Conn, pub string) bool {
	t.Helper()
	got := make(chan *nats.Msg, 16)
	s, err := to.ChanSubscribe(sub, got)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Unsubscribe() }()
	if err := to.FlushTimeout(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	if err := from.Publish(pub, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := from.FlushTimeout(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	if err := to.FlushTimeout(5 * time.Second); err != nil { // routed before this answer
		t.Fatal(err)
	}
	return len(got) > 0
}

// as logs in as a user of the tests' configurations, all of which have the password "p".
func as(name string) nats.Option { return nats.UserInfo(name, "p") }

const both = `users: [{user: open, password: p}, {user: u, password: p, %s permissions: {publish: "a.x"}}]`

// TestOpenServer (A060, A061): who is asked for nothing may do what the audit says.
func TestOpenServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text            string
		code            string
		in, a, anything bool // a connection without credentials gets in, publishes a.x, publishes anything
	}{
		{"max_payload: 1024\n", codeConfOpen, true, true, true},
		{"accounts { A {} }\n", codeConfOpen, true, true, true},
		{"authorization { users: [] }\n", codeConfOpen, true, true, true},
		{"authorization { " + fmt.Sprintf(both, "") + " }\n", "", false, false, false},
		{"authorization { " + fmt.Sprintf(both, "") + " }\nno_auth_user: u\n", codeConfNoAuth, true, true, false},
		{"authorization { " + fmt.Sprintf(both, "") + " }\nno_auth_user: open\n", codeConfNoAuth, true, true, true},
	} {
		s := confServer(t, tt.text)
		for _, code := range []string{codeConfOpen, codeConfNoAuth} {
			if got := fires(t, code, tt.text); got != (code == tt.code) {
				t.Errorf("%s: %s fires %v", tt.text, code, got)
			}
		}
		nc, err := nats.Connect(s.ClientURL(), nats.NoReconnect())
		if (err == nil) != tt.in {
			t.Errorf("%s: without credentials: %v, want in %v", tt.text, err, tt.in)
		}
		if err != nil {
			continue
		}
		nc.Close()
		none := func(*nats.Options) error { return nil }
		for subj, want := range map[string]bool{"a.x": tt.a, "other": tt.anything} {
			if got := mayDo(t, s, none, func(nc *nats.Conn) error { return nc.Publish(subj, nil) }); got != want {
				t.Errorf("%s: PUB %s without credentials, got %v, want %v", tt.text, subj, got, want)
			}
		}
	}
}

// TestSharedSecrets (A062): the token is everybody's, and holds every permission; a bcrypt hash is no password itself.
func TestSharedSecrets(t *testing.T) {
	t.Parallel()
	s := confServer(t, "authorization { token: everybody }\n")
	if !mayDo(t, s, nats.Token("everybody"), func(nc *nats.Conn) error { return nc.Publish("any.thing", nil) }) {
		t.Error("the token's holder may not publish")
	}
	if nc, err := nats.Connect(s.ClientURL(), nats.Token("another")); err == nil {
		nc.Close()
		t.Error("another token gets in")
	}
	hash := "$2a$11$1oJy/wZYNTxr9jNwMNwS3eUGhBpHT3On8CL9o7ey89mpgo88VG6ba"
	for _, tt := range []struct {
		password string
		in       bool
	}{{hash, false}, {"p", true}} {
		config := `authorization { users: [{user: u, password: "` + tt.password + `"}] }`
		nc, err := nats.Connect(confServer(t, config).ClientURL(), nats.UserInfo("u", tt.password))
		if (err == nil) != tt.in || fires(t, codeConfPassword, config) != tt.in {
			t.Errorf("what stands in the file logs in: %v, and the audit says %v; want %v", err, !tt.in, tt.in)
		}
		if err == nil {
			nc.Close()
		}
	}
}

// TestLeafNodes (A063): a limited user publishes below _R_ as a leaf node, and a user of the listener's own publishes anything.
// What else the permissions withhold is withheld from a leaf node too.
func TestLeafNodes(t *testing.T) {
	t.Parallel()
	limited := func(types string) string { return fmt.Sprintf(both, types) }
	plain := limited("allowed_connection_types: [STANDARD, WEBSOCKET],")
	for _, tt := range []struct {
		text  string
		login string
		fires string
		in    bool
		reply bool // publishes below _R_
		other bool // publishes what the user is not granted
	}{
		{"authorization { " + limited("") + " }\nleafnodes { listen: \"127.0.0.1:-1\" }\n", "u", Warning, true, true, false},
		{"authorization { " + plain + " }\nleafnodes { listen: \"127.0.0.1:-1\" }\n", "u", "", false, false, false},
		{"accounts { A { " + plain + " } }\nleafnodes { listen: \"127.0.0.1:-1\", authorization { user: l, password: p, account: A } }\n", "l", Error, true, true, true},
	} {
		if got := severitySeen(t, codeConfLeaf, tt.text); got != tt.fires {
			t.Errorf("%s: A063 is %q, want %q", tt.text, got, tt.fires)
		}
		hub := confServer(t, tt.text)
		addr := fmt.Sprintf("127.0.0.1:%d", hub.opts.LeafNode.Port)
		if answer := leafLogin(t, addr, tt.login); strings.HasPrefix(answer, "PONG") != tt.in {
			t.Errorf("%s: login of %s: got %q, want in %v", tt.text, tt.login, answer, tt.in)
		}
		open := confDial(t, hub, as("open"))
		got := make(chan *nats.Msg, 16)
		if _, err := open.ChanSubscribe(">", got); err != nil {
			t.Fatal(err)
		}
		for subj, want := range map[string]bool{"a.x": tt.in, "_R_.any": tt.reply, "other": tt.other} {
			if err := open.Flush(); err != nil {
				t.Fatal(err)
			}
			leafLogin(t, addr, tt.login, "LMSG "+subj+" 1\r\nx\r\n")
			if err := open.Flush(); err != nil {
				t.Fatal(err)
			}
			if heard := len(got) > 0; heard != want {
				t.Errorf("%s: a leaf node of %s publishes %s: got %v, want %v", tt.text, tt.login, subj, heard, want)
			}
			for len(got) > 0 {
				<-got
			}
			if subj != "a.x" && mayDo(t, hub, as("u"), func(nc *nats.Conn) error { return nc.Publish(subj, nil) }) {
				t.Errorf("directly, the user may publish %s", subj)
			}
			for len(got) > 0 {
				<-got
			}
		}
	}
}

// severitySeen is the severity of a code's first finding, or "".
func severitySeen(t *testing.T, code, text string) string {
	t.Helper()
	r, err := Bytes(Config{Now: now()}, "server.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Code == code {
			return f.Severity
		}
	}
	return ""
}

// await polls a state that a server reaches in its own time and tells nobody about.
func await(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatal("does not happen")
		}
	}
}

// leafLogin is what a hub answers to the login of a leaf node and what it sends.
func leafLogin(t *testing.T, addr, user string, sends ...string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	r := bufio.NewReader(conn)
	if _, err := r.ReadString('\n'); err != nil { // INFO
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "CONNECT {\"user\":%q,\"pass\":\"p\",\"name\":\"leaf\",\"server_id\":\"x\",\"version\":\"2.15.3\"}\r\n%sPING\r\n", user, strings.Join(sends, ""))
	for {
		line, err := r.ReadString('\n')
		if err != nil || strings.HasPrefix(line, "-ERR") || strings.HasPrefix(line, "PONG") {
			return line
		}
	}
}

// TestMQTTStoresForTheUser (A063): the server makes streams for an MQTT session whose user may publish nothing to JetStream.
func TestMQTTStoresForTheUser(t *testing.T) {
	t.Parallel()
	text := "server_name: m\njetstream {}\nauthorization { " + fmt.Sprintf(both, "") + " }\nmqtt { listen: \"127.0.0.1:-1\" }\n"
	if !fires(t, codeConfLeaf, text) {
		t.Error("A063 does not fire")
	}
	s := confServer(t, text)
	js, err := confDial(t, s, as("open")).JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.StreamInfo("$MQTT_sess"); err == nil {
		t.Error("there is a stream of sessions before any")
	}
	if mayDo(t, s, as("u"), func(nc *nats.Conn) error { return nc.Publish("$JS.API.STREAM.CREATE.x", nil) }) {
		t.Error("the user may create streams itself")
	}
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.opts.MQTT.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	// CONNECT of MQTT 3.1.1: user name and password, a clean session, client id "c".
	body := "\x00\x04MQTT\x04\xc2\x00\x3c" + "\x00\x01c" + "\x00\x01u" + "\x00\x01p"
	fmt.Fprintf(conn, "\x10%c%s", len(body), body)
	ack := make([]byte, 4)
	if _, err := conn.Read(ack); err != nil || ack[0] != 0x20 || ack[3] != 0 {
		t.Fatalf("CONNACK %x: %v", ack, err)
	}
	if _, err := js.StreamInfo("$MQTT_sess"); err != nil {
		t.Errorf("no stream of sessions: %v", err)
	}
}

// TestAnybodyJoinsTheCluster (A064): a server without any secret becomes a peer, unless the cluster asks for one.
func TestAnybodyJoinsTheCluster(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		auth  string
		fires bool
	}{{"", true}, {"authorization { user: r, password: p }", false}} {
		text := "server_name: a\nauthorization { " + fmt.Sprintf(both, "") + " }\ncluster { name: c, listen: \"127.0.0.1:-1\"\n" + tt.auth + " }\n"
		if got := fires(t, codeConfPeer, text); got != tt.fires {
			t.Errorf("A064 fires %v, want %v", got, tt.fires)
		}
		s := confServer(t, text)
		addr := s.ClusterAddr().String()
		join := func(login string) *confRun {
			return confServer(t, "server_name: b\ncluster { name: c, listen: \"127.0.0.1:-1\", routes: [\"nats-route://"+login+addr+"\"] }\n")
		}
		if tt.fires {
			b := join("")
			await(t, func() bool { return b.NumRoutes() > 0 && s.NumRoutes() > 0 })
			continue
		}
		if answer := routeLogin(t, addr, ""); !strings.Contains(answer, "-ERR") {
			t.Errorf("a route without a login: got %q", answer)
		}
		b := join("r:p@")
		await(t, func() bool { return b.NumRoutes() > 0 && s.NumRoutes() > 0 })
	}
}

func routeLogin(t *testing.T, addr, user string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(conn, "CONNECT {\"user\":%q,\"pass\":\"\",\"name\":\"x\",\"cluster\":\"c\",\"verbose\":false,\"pedantic\":false}\r\nPING\r\n", user)
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil || strings.HasPrefix(line, "-ERR") || strings.HasPrefix(line, "PONG") {
			return line
		}
	}
}

// TestMappedSubjects (A065): permissions are about the destination.
func TestMappedSubjects(t *testing.T) {
	t.Parallel()
	users := `users: [{user: open, password: p}, {user: dest, password: p, permissions: {publish: "a.x"}}, {user: src, password: p, permissions: {publish: other}}]`
	for _, tt := range []struct {
		mapping   string
		fires     bool
		dest, src bool // may publish the source: the holder of the destination, of the source
	}{{"mappings { other: a.x }", true, true, false}, {"", false, false, true}} {
		text := "accounts { A { " + users + "\n" + tt.mapping + " } }\n"
		if got := fires(t, codeConfMapping, text); got != tt.fires {
			t.Errorf("A065 fires %v, want %v", got, tt.fires)
		}
		s := confServer(t, text)
		for user, want := range map[string]bool{"dest": tt.dest, "src": tt.src} {
			if got := mayDo(t, s, as(user), func(nc *nats.Conn) error { return nc.Publish("other", nil) }); got != want {
				t.Errorf("mapping %q: %s publishes the source: got %v, want %v", tt.mapping, user, got, want)
			}
		}
		if got := hears(t, confDial(t, s, as("open")), "a.x", confDial(t, s, as("dest")), "other"); got != tt.dest {
			t.Errorf("mapping %q: arrives at the destination: %v, want %v", tt.mapping, got, tt.dest)
		}
	}
}

// TestPublicExports (A066): another account publishes under any name into one that exports to all.
func TestPublicExports(t *testing.T) {
	t.Parallel()
	text := `accounts {
  A { users: [{user: a, password: p}], exports: [{service: "a.>"%s}] }
  B { users: [{user: b, password: p}], imports: [{service: {account: A, subject: "a.>"}}] }
  C { users: [{user: c, password: p}] }
}
`
	open, closed := fmt.Sprintf(text, ""), fmt.Sprintf(text, ", accounts: [C]")
	if !fires(t, codeConfExport, open) || fires(t, codeConfExport, closed) {
		t.Error("A066 fires for the wrong configuration")
	}
	s := confServer(t, open)
	if !hears(t, confDial(t, s, as("a")), "a.boss.order", confDial(t, s, as("b")), "a.boss.order") {
		t.Error("the importing account is not heard")
	}
	if hears(t, confDial(t, s, as("a")), "a.boss.order", confDial(t, s, as("c")), "a.boss.order") {
		t.Error("an account without the import is heard")
	}
	if err := (&natsserver.Options{}).ProcessConfigString(closed); err == nil {
		t.Error("the server lets an account import what is exported to another")
	}
}

// TestSystemUsers (A067): an account is the system account by its name alone, or by system_account; its users' data stays in it.
func TestSystemUsers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, system string }{
		{`accounts { "$SYS" { users: [{user: s, password: p}] }, A { users: [{user: a, password: p}] } }`, "s"},
		{`accounts { S { users: [{user: s, password: p}] }, A { users: [{user: a, password: p}] } }
system_account: S`, "s"},
		{`accounts { "$SYS" { users: [{user: s, password: p}] }, A { users: [{user: a, password: p}] } }
system: A`, "a"},
		{`accounts { S { users: [{user: s, password: p}] }, A { users: [{user: a, password: p}] } }`, ""},
		{`accounts { S { users: [{user: s, password: p}] }, A { users: [{user: a, password: p}] } }
System_Account: S`, ""},
	} {
		s := confServer(t, tt.text)
		a, conf := confRead(t, tt.text)
		for _, u := range conf.list {
			nc := confDial(t, s, as(u.name))
			_, err := nc.Request("$SYS.REQ.SERVER.PING", nil, 300*time.Millisecond)
			if got, want := a.confPrincipal(conf, u).System, u.name == tt.system; got != want || (err == nil) != want {
				t.Errorf("%s: user %s: the audit says system %v, the server answers %v, want %v", tt.text, u.name, got, err, want)
			}
		}
	}
}

// TestControlLine (A069): a login longer than max_control_line is refused.
func TestControlLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		in   bool
	}{{"max_control_line: 512\n", false}, {"", true}} {
		text := "authorization { " + fmt.Sprintf(both, "") + " }\n" + tt.text
		r, err := Bytes(Config{ControlLine: 1500}, "server.conf", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		nc, err := nats.Connect(confServer(t, text).ClientURL(), as("open"), nats.Name(strings.Repeat("n", 1200)))
		if found := len(r.of(Error)) > 0 && strings.Contains(fmt.Sprint(codes(r)), codeConfLine); found == tt.in || (err == nil) != tt.in {
			t.Errorf("%s: audit finds %v, login %v, want in %v", tt.text, found, err, tt.in)
		}
		if err == nil {
			nc.Close()
		}
	}
}
