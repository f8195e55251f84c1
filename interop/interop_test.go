package interop

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
)

const inboxPrefix = "_INBOX.worker"

// credentials mints for a profile and returns the path of the .creds file.
func credentials(t *testing.T, s *space, pub, sub []string) string {
	t.Helper()
	issuer, err := mint.NewIssuer(s.signingSeed, s.account)
	if err != nil {
		t.Fatal(err)
	}
	seed := make([]byte, 32)
	if _, err := rand.Read(seed); err != nil {
		t.Fatal(err)
	}
	cred, err := issuer.Mint(mint.Request{
		Set: &compile.PermissionSet{Profile: "worker", Pub: list(pub), Sub: list(sub)},
		Profile: &contract.Profile{
			Name: "worker", Trust: contract.TrustUntrusted,
			Lifetime: contract.Lifetime{Class: contract.LifetimeStanding, Default: time.Hour},
		},
		Name: "worker", UserSeed: seed, Tags: []string{"profile:worker"}, Now: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := cred.Creds()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "worker.creds")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func list(patterns []string) compile.List {
	l := compile.List{Mode: compile.ModePatterns}
	for _, p := range patterns {
		l.Allow = append(l.Allow, compile.Entry{Pattern: p, Rows: []string{"R"}})
	}
	return l
}

// TestInterop builds the programs once for all that drives them.
func TestInterop(t *testing.T) {
	built := build(t)
	t.Run("stock command line", func(t *testing.T) { testStockCommandLine(t, built) })
	t.Run("space", func(t *testing.T) { testSpace(t, built) })
}

// testStockCommandLine drives the nats program against a nats-server process, both as released, with a minted credential: for
// each verb a subject that the credential holds and one that it does not.
func testStockCommandLine(t *testing.T, built programs) {
	s := newSpace(t)
	url := serve(t, built.server, s.config())
	cli := &commandLine{
		program: built.nats, url: url, home: t.TempDir(), inbox: inboxPrefix,
		creds: credentials(t, s, []string{"jobs.open", "svc.echo"}, []string{"news.*", inboxPrefix + ".>"}),
	}
	host := connectHost(t, s, url)
	t.Run("publish", func(t *testing.T) { testPublish(t, cli, host) })
	t.Run("request", func(t *testing.T) { testRequest(t, cli, host) })
	t.Run("subscribe", func(t *testing.T) { testSubscribe(t, cli, host) })
	t.Run("connect", func(t *testing.T) { testConnect(t, cli, s) })
}

// connectHost is a trusted user who sees and answers everything.
func connectHost(t *testing.T, s *space, url string) *nats.Conn {
	t.Helper()
	host, err := nats.Connect(url, nats.UserCredentials(credentials(t, s, []string{">"}, []string{">"})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

func testPublish(t *testing.T, cli *commandLine, host *nats.Conn) {
	jobs, err := host.SubscribeSync("jobs.*")
	if err != nil {
		t.Fatal(err)
	}
	flush(t, host)
	denied := cli.run(t, "pub", "jobs.closed", "denied") // its error handler may speak before its last line
	want := `nats: error: nats: permissions violation: Permissions Violation for Publish to "jobs.closed"`
	if denied.code != 1 || !strings.HasSuffix(strings.TrimSpace(denied.stderr), want) {
		t.Errorf("pub jobs.closed, got exit %d and %q, want 1 and %q", denied.code, denied.stderr, want)
	}
	if allowed := cli.run(t, "pub", "jobs.open", "allowed"); allowed.code != 0 || strings.Contains(allowed.stderr, "rror") {
		t.Errorf("pub jobs.open, got exit %d and %q, want 0", allowed.code, allowed.stderr)
	}
	// The allowed message was sent last, so a denied one would be here before it.
	m, err := jobs.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	if m.Subject != "jobs.open" || string(m.Data) != "allowed" {
		t.Errorf("first message, got %q on %s, want the allowed one", m.Data, m.Subject)
	}
}

func testRequest(t *testing.T, cli *commandLine, host *nats.Conn) {
	if _, err := host.Subscribe("svc.*", func(m *nats.Msg) { _ = m.Respond([]byte("answer to " + string(m.Data))) }); err != nil {
		t.Fatal(err)
	}
	flush(t, host)
	allowed := cli.run(t, "request", "svc.echo", "ping")
	if allowed.code != 0 || strings.TrimSpace(allowed.stdout) != "answer to ping" {
		t.Errorf("request svc.echo, got exit %d, %q and %q, want the answer", allowed.code, allowed.stdout, allowed.stderr)
	}
	hasty := *cli
	hasty.timeout = "500ms"                                 // no answer comes to what was refused
	denied := hasty.run(t, "request", "svc.secret", "ping") // the program ends with 0 here, so what counts is what it says
	want := `permissions violation: Permissions Violation for Publish to "svc.secret"`
	if !strings.Contains(denied.stderr, want) || strings.TrimSpace(denied.stdout) != "" {
		t.Errorf("request svc.secret, got %q and %q, want no answer and %q", denied.stdout, denied.stderr, want)
	}
}

func testSubscribe(t *testing.T, cli *commandLine, host *nats.Conn) {
	denied := cli.run(t, "sub", "news.today.late", "--count", "1")
	want := `nats: error: nats: permissions violation: Permissions Violation for Subscription to "news.today.late"`
	if denied.code != 1 || !strings.Contains(denied.stderr, want) {
		t.Errorf("sub news.today.late, got exit %d and %q, want 1 and %q", denied.code, denied.stderr, want)
	}
	ended := make(chan result, 1)
	go func() { defer close(ended); ended <- cli.run(t, "sub", "news.today", "--count", "1") }()
	for {
		select {
		case allowed := <-ended:
			if allowed.code != 0 || !strings.Contains(allowed.stdout, "extra extra") {
				t.Errorf("sub news.today, got exit %d, %q and %q, want the message", allowed.code, allowed.stdout, allowed.stderr)
			}
			return
		default: // until the program has subscribed and seen one
			if err := host.Publish("news.today", []byte("extra extra")); err != nil {
				t.Fatal(err)
			}
			flush(t, host)
		}
	}
}

// testConnect gives the program a credential of a key that the account does not list.
func testConnect(t *testing.T, cli *commandLine, s *space) {
	stranger := newSpace(t)
	stranger.account = s.account
	other := *cli
	other.creds = credentials(t, stranger, []string{"jobs.open"}, []string{inboxPrefix + ".>"})
	denied := other.run(t, "pub", "jobs.open", "hi")
	if want := "nats: error: nats: Authorization Violation"; denied.code != 1 || !strings.HasSuffix(strings.TrimSpace(denied.stderr), want) {
		t.Errorf("pub with a stranger's credential, got exit %d and %q, want 1 and %q", denied.code, denied.stderr, want)
	}
	if allowed := cli.run(t, "pub", "jobs.open", "hi"); allowed.code != 0 {
		t.Errorf("pub with the good credential, got exit %d and %q, want 0", allowed.code, allowed.stderr)
	}
}

func flush(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if err := nc.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
}
