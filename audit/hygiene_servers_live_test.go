package audit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// hears waits until the holder hears a message that is, or fails at the deadline of a raw connection.
func (h *holder) hears(is func(natstest.Msg) bool) {
	h.t.Helper()
	for {
		for _, m := range h.raw.Await().Msgs {
			if is(m) {
				return
			}
		}
	}
}

// TestServiceAnswersAreHeardAndForged: a service of one account answers another account on a subject of its own account, which who may
// subscribe _R_.> there hears, and who may publish it answers first.
func TestServiceAnswersAreHeardAndForged(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	b.s.UpdateAccount(t, b.s.Account, func(c *jwt.AccountClaims) {
		c.Exports.Add(&jwt.Export{Name: "svc", Subject: "svc.>", Type: jwt.Service})
	})
	other := b.s.NewAccount(t, "OTHER", func(c *jwt.AccountClaims) {
		c.Imports.Add(&jwt.Import{Name: "svc", Account: b.s.Account.PublicKey(), Subject: "svc.>", Type: jwt.Service})
	})
	asker := b.s.Connect(t, other.User(t, jwt.Permissions{}))
	answers := func(subject string, do func(reply string)) {
		if _, err := b.nc.Subscribe(subject, func(m *nats.Msg) { do(m.Reply) }); err != nil || b.nc.Flush() != nil {
			t.Fatal(err)
		}
	}
	spy, own := b.hearer("_R_.>"), b.hearer("svc.status")
	spy.fires(codeServers, true)
	own.fires(codeServers, false)
	own.deaf("_R_.>")
	answers("svc.honest", func(reply string) { _ = b.nc.Publish(reply, []byte("to the asker alone")) })
	if m, err := asker.RequestWithContext(t.Context(), "svc.honest", nil); err != nil || string(m.Data) != "to the asker alone" {
		t.Fatalf("positive control: got %v, %v", m, err)
	}
	spy.hears(func(m natstest.Msg) bool { return m.Data == "to the asker alone" })

	forger, honest := b.holder("_R_.>"), b.holder("svc.other")
	forger.fires(codeServers, true)
	honest.fires(codeServers, false)
	learned := make(chan string, 1)
	answers("svc.silent", func(reply string) { learned <- reply })
	got := make(chan string, 1)
	go func() {
		m, err := asker.RequestWithContext(t.Context(), "svc.silent", nil)
		if err != nil {
			got <- err.Error()
			return
		}
		got <- string(m.Data)
	}()
	reply := <-learned
	honest.refused(reply)
	forger.raw.Do(natstest.PubOp(reply, "", "forged"))
	if text := <-got; text != "forged" {
		t.Errorf("got %q, want the forged answer", text)
	}
}

// TestServerSubjectsAreRefused: what A034 does not say of a publish grant the broker refuses itself.
func TestServerSubjectsAreRefused(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	for _, subject := range []string{"_GR_.a.b.c", "$GR.a.b", "$NRG.AE.x"} {
		h := b.holder(subject)
		h.fires(codeServers, false)
		h.refused(subject)
	}
	if errs := b.holder("a.b").raw.Do(natstest.PubOp("a.b", "", ""))[0].Errs; len(errs) > 0 {
		t.Errorf("positive control: %v", errs)
	}
}

// TestRestoresAreHeard: who may subscribe below $JS.SNAPSHOT hears the stream that another restores.
func TestRestoresAreHeard(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	spy, own := b.hearer("$JS.SNAPSHOT.>"), b.hearer("backups.>")
	spy.fires(codeServers, true)
	own.fires(codeServers, false)
	own.deaf("$JS.SNAPSHOT.RESTORE.>")
	info, err := b.js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	config := info.CachedInfo().Config
	config.Name, config.Subjects = "R", []string{"r.>"}
	body, err := json.Marshal(map[string]any{"config": config, "state": map[string]int{"messages": 1, "first_seq": 1, "last_seq": 1}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.nc.RequestWithContext(t.Context(), apiRoot+"STREAM.RESTORE.R", body)
	var begun struct {
		Deliver string `json:"deliver_subject"`
	}
	if err != nil || json.Unmarshal(m.Data, &begun) != nil || !strings.HasPrefix(begun.Deliver, "$JS.SNAPSHOT.RESTORE.R.") {
		t.Fatalf("got %v, %v, want a subject to restore to", m, err)
	}
	if err := b.nc.Publish(begun.Deliver, []byte("a chunk of the stream")); err != nil {
		t.Fatal(err)
	}
	spy.hears(func(m natstest.Msg) bool { return m.Data == "a chunk of the stream" })
}

// TestMirrorsAreHeard: who may subscribe below $JS.M and $JS.S hears what streams fetch from others.
func TestMirrorsAreHeard(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t)
	origin := &jetstream.StreamSource{Name: "S"}
	for entry, config := range map[string]jetstream.StreamConfig{
		"$JS.M.>": {Name: "COPY", Mirror: origin}, "$JS.S.>": {Name: "PART", Sources: []*jetstream.StreamSource{origin}},
	} {
		spy, own := b.hearer(entry), b.hearer("copies.>")
		spy.fires(codeServers, true)
		own.fires(codeServers, false)
		own.deaf(entry)
		if _, err := b.js.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		spy.hears(func(m natstest.Msg) bool { return m.Data == "data of o.a" })
	}
}

// TestRaftIsHeard: where the raft groups of an account run in it, who may subscribe below $NRG there hears what a replicated stream stores.
func TestRaftIsHeard(t *testing.T) {
	t.Parallel()
	servers := natstest.StartCluster(t, 3)
	s := servers[0]
	for _, each := range servers {
		each.UpdateAccount(t, s.Account, func(c *jwt.AccountClaims) { c.ClusterTraffic = jwt.ClusterTrafficOwner })
	}
	b := &powerBench{t: t, s: s, nc: s.Connect(t, s.User(t, jwt.Permissions{}))}
	spy, own := b.hearer("$NRG.>"), b.hearer("o.b")
	spy.fires(codeServers, true)
	own.fires(codeServers, false)
	own.deaf("$NRG.>")
	js, err := jetstream.New(b.nc)
	if err == nil {
		_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"o.>"}, Storage: jetstream.MemoryStorage, Replicas: 3})
	}
	if err == nil {
		_, err = js.Publish(t.Context(), "o.a", []byte("stored and replicated"))
	}
	if err != nil {
		t.Fatal(err)
	}
	spy.hears(func(m natstest.Msg) bool {
		return strings.HasPrefix(m.Subject, "$NRG.") && strings.Contains(m.Data, "stored and replicated")
	})
}

// TestDomains: a server maps the API of its own domain before it asks for a grant, so that one on $JS.API is what it asks for; and no domain
// has the name of another tree below $JS, so that an entry below such a tree is of no domain.
func TestDomains(t *testing.T) {
	t.Parallel()
	b := newPowerBench(t, func(o *natsserver.Options) { o.JetStreamDomain = "hub" })
	b.holder("$JS.hub.API.>").refused("$JS.hub.API.STREAM.NAMES")
	if errs := b.holder("$JS.API.STREAM.NAMES").raw.Do(natstest.PubOp("$JS.hub.API.STREAM.NAMES", "", ""))[0].Errs; len(errs) > 0 {
		t.Errorf("with a grant on the own API: %v", errs)
	}
	for name, want := range map[string]bool{"hub": true, "ACK": false, "EVENT": false, "FC": false, "SNAPSHOT": false} {
		s, err := natsserver.NewServer(&natsserver.Options{JetStream: true, JetStreamDomain: name, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, DontListen: true})
		if (err == nil) != want {
			t.Errorf("domain %s: got %v, want taken: %t", name, err, want)
		}
		if s != nil {
			s.Shutdown()
		}
		if ofDomain(subject.Pattern("$JS."+name+".>")) != want {
			t.Errorf("$JS.%s.>: want it of a domain: %t", name, want)
		}
	}
}
