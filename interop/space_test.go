package interop

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// world is a provisioned space whose broker runs, with two principals and the programs that act for them.
type world struct {
	alice, bob       principal
	aliceCLI, bobCLI *commandLine
}

// testSpace is the first session of a user of the product, with stock programs at the other end: provision a space, mint, run
// the broker, talk through the nats program; then the same directory under a stock nats-server, which doctor judges.
func testSpace(t *testing.T, built programs) {
	p := newProduct(t, built)
	w := &world{alice: newPrincipal("alice"), bob: newPrincipal("bob")}
	p.plan(t, "create", "provision", "space", "main")
	p.plan(t, "none", "provision", "space", "main")
	w.aliceCLI, w.bobCLI = p.mint(t, built.nats, w.alice), p.mint(t, built.nats, w.bob)
	p.principal(t, w.alice)

	url, stop := p.broker(t)
	w.at(url)
	p.principal(t, w.bob) // on the broker that runs now
	t.Run("product broker", w.talk)
	if code := stop(); code != 0 {
		t.Fatalf("cotalctl broker run, got exit %d after SIGTERM, want 0", code)
	}

	url, end := serveUntil(t, built.server, p.configuration(t))
	w.at(url)
	p.plan(t, "none", "provision", "space", "main", "--server", url) // what the product's broker stored is all there
	t.Run("stock broker", w.talk)
	t.Run("doctor", func(t *testing.T) { testDoctor(t, p, url) })
	end()
	t.Run("doctor of a low control line", func(t *testing.T) { testDoctorLow(t, p, built.server) })
}

// principal provisions what a principal owns; the second run has nothing to do.
func (p *product) principal(t *testing.T, who principal) {
	t.Helper()
	args := slices.Concat([]string{"provision", "principal"}, who.flags())
	p.plan(t, "create", args...)
	p.plan(t, "none", args...)
}

func (w *world) at(url string) { w.aliceCLI.url, w.bobCLI.url = url, url }

// talk tries what each principal's credential allows, and beside it what it does not.
func (w *world) talk(t *testing.T) {
	t.Run("publish", w.testPublish)
	t.Run("subscribe", w.testSubscribe)
	t.Run("direct message", w.testDirectMessage)
}

// messages is what "stream info" tells of the channel stream, which every principal may ask.
func (w *world) messages(t *testing.T) int {
	t.Helper()
	r := w.aliceCLI.run(t, "stream", "info", "CHAT_main", "--json")
	var info struct {
		Config struct{ Name string }
		State  struct{ Messages int }
	}
	if err := json.Unmarshal([]byte(r.stdout), &info); err != nil || r.code != 0 || info.Config.Name != "CHAT_main" {
		t.Fatalf("stream info CHAT_main, got exit %d, %q and %q, want the stream", r.code, r.stdout, r.stderr)
	}
	return info.State.Messages
}

func (w *world) testPublish(t *testing.T) {
	before := w.messages(t)
	stored := w.aliceCLI.run(t, "pub", "--jetstream", w.alice.chat("team.backend"), "hello")
	if stored.code != 0 || !strings.Contains(stored.stderr, "Stored in Stream: CHAT_main") {
		t.Errorf("pub as alice, got exit %d and %q, want it stored in CHAT_main", stored.code, stored.stderr)
	}
	for _, subject := range []string{w.bob.chat("team.backend"), w.alice.chat("team.frontend"), "cotal.other.chat." + w.alice.owner + ".alice.team.backend"} {
		refused(t, w.aliceCLI, `Permissions Violation for Publish to "`+subject+`"`, "pub", subject, "forged")
	}
	if own := w.bobCLI.run(t, "pub", w.bob.chat("team.backend"), "hello"); own.code != 0 {
		t.Errorf("pub as bob with bob's credential, got exit %d and %q, want 0", own.code, own.stderr)
	}
	if after := w.messages(t); after != before+2 {
		t.Errorf("messages of CHAT_main, got %d, want %d: the two that were accepted", after, before+2)
	}
}

func (w *world) testSubscribe(t *testing.T) {
	const ops, backend = "cotal.main.chat.*.*.ops", "cotal.main.chat.*.*.team.backend"
	refused(t, w.bobCLI, `Permissions Violation for Subscription to "`+ops+`"`, "sub", ops, "--count", "1")
	ended := make(chan result, 1)
	go func() { ended <- w.bobCLI.run(t, "sub", backend, "--count", "1") }()
	for {
		select {
		case got := <-ended:
			if got.code != 0 || !strings.Contains(got.stdout, "extra extra") || !strings.Contains(got.stdout, w.alice.chat("team.backend")) {
				t.Errorf("sub %s, got exit %d, %q and %q, want alice's message", backend, got.code, got.stdout, got.stderr)
			}
			return
		default: // until the program has subscribed and seen one
			if said := w.aliceCLI.run(t, "pub", w.alice.chat("team.backend"), "extra extra"); said.code != 0 {
				t.Fatalf("pub as alice, got exit %d and %q, want 0", said.code, said.stderr)
			}
		}
	}
}

// testDirectMessage has bob write to alice, who reads it from her durable; then bob tries to read the next one.
func (w *world) testDirectMessage(t *testing.T) {
	send := func(text string) {
		t.Helper()
		if sent := w.bobCLI.run(t, "pub", "--jetstream", w.bob.dm(w.alice), text); sent.code != 0 || !strings.Contains(sent.stderr, "Stored in Stream: DM_main") {
			t.Errorf("pub as bob to alice, got exit %d and %q, want it stored in DM_main", sent.code, sent.stderr)
		}
	}
	read := func(text string) {
		t.Helper()
		r := w.aliceCLI.run(t, "consumer", "next", "DM_main", w.alice.durable(), "--count", "1")
		if r.code != 0 || !strings.Contains(r.stdout, text) || !strings.Contains(r.stdout, w.bob.dm(w.alice)) || !strings.Contains(r.stdout, "Acknowledged message") {
			t.Errorf("consumer next as alice, got exit %d, %q and %q, want %q, acknowledged", r.code, r.stdout, r.stderr, text)
		}
	}
	send("first")
	read("first")
	send("second")
	thief := *w.bobCLI
	thief.timeout = "500ms" // the broker's refusal is an error of its own; the request only ends by time
	refused(t, &thief, `Permissions Violation for Publish to "$JS.API.CONSUMER.MSG.NEXT.DM_main.`+w.alice.durable()+`"`, "consumer", "next", "DM_main", w.alice.durable(), "--count", "1")
	refused(t, &thief, `Permissions Violation for Publish to "$JS.API.STREAM.INFO.DM_main"`, "stream", "info", "DM_main")
	refused(t, &thief, `Permissions Violation for Publish to "`+w.alice.dm(w.bob)+`"`, "pub", w.alice.dm(w.bob), "forged")
	read("second")
}

// refused expects a call to fail with a violation that the broker reported, and to print nothing that it should not have got.
func refused(t *testing.T, cli *commandLine, violation string, args ...string) {
	t.Helper()
	r := cli.run(t, args...)
	if r.code != 1 || !strings.Contains(r.stderr, violation) || strings.TrimSpace(r.stdout) != "" {
		t.Errorf("nats %s, got exit %d, %q and %q, want 1, nothing, and %s", strings.Join(args, " "), r.code, r.stdout, r.stderr, violation)
	}
}
