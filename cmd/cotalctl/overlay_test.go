package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// holder is a connection with a minted credential; refusals arrive on denied.
type holder struct {
	t      testing.TB
	nc     *nats.Conn
	js     nats.JetStreamContext
	denied chan string
}

func hold(t testing.TB, url, creds, connID string) *holder {
	t.Helper()
	h := &holder{t: t, denied: make(chan string, 16)}
	var err error
	h.nc, err = nats.Connect(url, nats.UserCredentials(creds), nats.CustomInboxPrefix("_INBOX_"+connID), nats.Timeout(patience), nats.MaxReconnects(0),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { h.denied <- err.Error() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.nc.Close)
	if h.js, err = h.nc.JetStream(nats.MaxWait(patience)); err != nil {
		t.Fatal(err)
	}
	return h
}

// may publishes and wants the stream's acknowledgement.
func (h *holder) may(subject, data string) {
	h.t.Helper()
	if _, err := h.js.Publish(subject, []byte(data)); err != nil {
		h.t.Errorf("%s: %v, want it to be stored", subject, err)
	}
}

// mayNot publishes and waits for the broker's refusal.
func (h *holder) mayNot(subject string) {
	h.t.Helper()
	if err := h.nc.Publish(subject, []byte("{}")); err != nil {
		h.t.Fatal(err)
	}
	select {
	case text := <-h.denied:
		if !strings.Contains(strings.ToLower(text), "permissions violation for publish to \""+strings.ToLower(subject)) {
			h.t.Errorf("%s: %s, want a permissions violation", subject, text)
		}
	case <-bounded(h.t).Done():
		h.t.Errorf("%s: no refusal", subject)
	}
}

// TestThirdPartyRecordWriter: with minted credentials, an instance appends a third party's record to its ingress, the kind's writer
// consumes it under its own durable and writes the row, and neither reaches another kind, whose own writer does.
func TestThirdPartyRecordWriter(t *testing.T) {
	t.Parallel()
	const (
		conn     = "aaaaaaaaaaaaaaaaaaaaaaaaaa"
		instance = "bbbbbbbbbbbbbbbbbbbbbbbbbb"
	)
	for _, topology := range []string{"single", "split"} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			dir, overlay := filepath.Join(base, "D"), filepath.Join(base, "acme")
			command(t, 0, "init", overlay, "--extends", "cotal-v0.5")
			command(t, 0, "provision", "space", "main", "--dir", dir, "--contract", overlay, "--topology", topology)
			authority := "space"
			if topology == "split" {
				authority = "authority"
			}
			mint := func(name string, args ...string) string {
				file := filepath.Join(base, name+".creds")
				command(t, 0, append([]string{"mint", "--dir", dir, "-o", file, "--set", "connId=" + conn}, args...)...)
				return file
			}
			params := filepath.Join(base, "serve.yaml")
			text := "owner: u_aaaaaaaaaaaaaaaaaaaaaaaaaa\nactor: ann\nendpoint: deploy\ninstance: " + instance + "\nepoch: \"0\"\ncommands: []\nkinds: [com.example.build]\n"
			if err := os.WriteFile(params, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			serve := mint("serve", "endpoint-serve", "--account", "space", "--params", params)
			writer := func(kind, account string) string {
				return mint(kind+"-"+account, "record-writer", "--account", account, "--set", "kind="+kind)
			}
			build := [2]string{writer("com.example.build", "space"), writer("com.example.build", authority)}
			svc := [2]string{writer("svc", "space"), writer("svc", authority)}
			visit(t, dir, func(_ *trust.Dir, url string) {
				const rail = "cotal.main.epr.deploy." + instance + ".0."
				in := hold(t, url, serve, conn)
				in.may(rail+"com_example_build.b1", `{"state":"queued"}`)
				in.may(rail+"svc.status", `{}`)
				in.mayNot(rail + "com_example_other.b1")
				in.mayNot("$KV.cotal_records_main.com_example_build.deploy.b1.status")

				if got := consumeOne(hold(t, url, build[0], conn), "com_example_build"); got != rail+"com_example_build.b1" {
					t.Errorf("writer of the kind consumed %q, want its own ingress", got)
				}
				if got := consumeOne(hold(t, url, svc[0], conn), "svc"); got != rail+"svc.status" {
					t.Errorf("writer of svc consumed %q, want its own ingress", got)
				}
				foreign := hold(t, url, build[0], conn)
				foreign.mayNot("$JS.API.CONSUMER.CREATE.EPR_main.recw_main-svc.cotal.main.epr.*.*.*.svc.>")
				foreign.mayNot("$JS.API.CONSUMER.MSG.NEXT.EPR_main.recw_main-svc")

				const row, other = "$KV.cotal_records_main.com_example_build.deploy.b1.status", "$KV.cotal_records_main.svc.deploy." + instance + ".status"
				w, s := hold(t, url, build[1], conn), hold(t, url, svc[1], conn)
				w.may(row, `{"state":"queued"}`)
				s.may(other, `{}`)
				w.mayNot(other)
				w.mayNot("$KV.cotal_records_main.goal.deploy.a.b.c.d.status")
				w.mayNot("$KV.cotal_records_main.com_example_build.deploy.b1.more.status")
				s.mayNot(row)
				if m, err := w.js.GetLastMsg("KV_cotal_records_main", row); err != nil || string(m.Data) != `{"state":"queued"}` {
					t.Errorf("the row reads %v and %v, want what its writer wrote", m, err)
				}
			})
		})
	}
}

// consumeOne makes the durable of a record writer, as the contract has it, and takes one message from it.
func consumeOne(h *holder, kind string) string {
	h.t.Helper()
	durable, filter := "recw_main-"+kind, "cotal.main.epr.*.*.*."+kind+".>"
	_, err := h.js.AddConsumer("EPR_main", &nats.ConsumerConfig{Durable: durable, Name: durable, FilterSubject: filter, AckPolicy: nats.AckExplicitPolicy})
	if err != nil {
		h.t.Fatalf("durable %s: %v", durable, err)
	}
	sub, err := h.js.PullSubscribe(filter, "", nats.Bind("EPR_main", durable))
	if err != nil {
		h.t.Fatal(err)
	}
	msgs, err := sub.Fetch(1, nats.MaxWait(patience))
	if err != nil || len(msgs) != 1 {
		h.t.Fatalf("durable %s: %d messages and %v, want one", durable, len(msgs), err)
	}
	if err := msgs[0].AckSync(); err != nil {
		h.t.Errorf("durable %s: acknowledgement: %v", durable, err)
	}
	return msgs[0].Subject
}
