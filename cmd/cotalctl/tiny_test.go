package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/internal/trust"
	"github.com/cotalctl/cotalctl/matrix"
)

// TestTinyContract: a contract with nothing of this protocol, two accounts and two topologies is provisioned, minted from and
// audited by the same code; across its accounts the share row carries what it names and nothing else.
func TestTinyContract(t *testing.T) {
	t.Parallel()
	tiny := filepath.Join("..", "..", "testdata", "tiny")
	for topology, accounts := range map[string][]string{"joint": {""}, "parted": {"", "store"}} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			dir := filepath.Join(tmp, "D")
			space := []string{"provision", "space", "main", "--dir", dir, "--contract", tiny, "--topology", topology, "-o", "json"}
			out, _ := command(t, 0, space...)
			if got := readPlan(t, out); len(got.Actions) != 4+2*len(accounts) {
				t.Errorf("got %d actions, want %d", len(got.Actions), 4+2*len(accounts))
			}
			out, _ = command(t, 0, space...)
			wantOnlyNone(t, out)
			file := func(profile string, more ...string) string {
				name := filepath.Join(tmp, profile+".creds")
				command(t, 0, append([]string{"mint", profile, "--dir", dir, "-o", name, "--set", "topics=news"}, more...)...)
				return name
			}
			writer, reader := file("writer", "--set", "user=alice"), file("reader", "--set", "user=bob")
			archivist := file("archivist")
			visit(t, dir, func(d *trust.Dir, url string) {
				for _, name := range accounts {
					inventoryOf(t, d, url, name)
				}
				crossing(t, url, writer, reader, archivist)
			})
			command(t, 0, "audit", writer, reader, archivist, "--dir", dir)
			auditClean(t, tiny, topology)
		})
	}
}

// inventoryOf fails where an account of the space holds nothing.
func inventoryOf(t *testing.T, d *trust.Dir, url, account string) {
	t.Helper()
	if got := inventory(t, admin(t, d, url, "main", account)); len(got) == 0 {
		t.Errorf("account %q is empty", account)
	}
}

// crossing publishes as the writer and listens beside it and across the account boundary.
func crossing(t *testing.T, url, writer, reader, archivist string) {
	t.Helper()
	w, r, a := creds(t, url, writer), creds(t, url, reader), creds(t, url, archivist)
	near, far := subscribe(t, r, "tiny.main.log.*.news"), subscribe(t, a, "tiny.main.log.*.news")
	for _, foreign := range []string{"tiny.main.log.*.sport", "tiny.main.>", "tiny.other.log.*.news", ">"} {
		sub, err := a.SubscribeSync(foreign)
		if err != nil {
			t.Fatal(err)
		}
		if !refusedBy(t, a, foreign) {
			t.Errorf("archivist subscribes %s: got %v, want a refusal", foreign, a.LastError())
		}
		_ = sub.Unsubscribe()
	}
	for _, forged := range []string{"tiny.main.log.bob.news", "tiny.main.log.alice.sport", "tiny.main.other"} {
		if err := w.Publish(forged, []byte("forged")); err != nil {
			t.Fatal(err)
		}
		if !refusedBy(t, w, forged) {
			t.Errorf("writer publishes %s: got %v, want a refusal", forged, w.LastError())
		}
	}
	if err := a.Publish("tiny.main.log.alice.news", []byte("from abroad")); err != nil {
		t.Fatal(err)
	}
	if !refusedBy(t, a, "tiny.main.log.alice.news") {
		t.Errorf("archivist publishes: got %v, want a refusal", a.LastError())
	}
	if err := w.Publish("tiny.main.log.alice.news", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	for side, sub := range map[string]*nats.Subscription{"reader": near, "archivist": far} {
		msg, err := sub.NextMsg(patience)
		if err != nil || string(msg.Data) != "hello" {
			t.Errorf("%s: got %v, %v, want the writer's message first", side, msg, err)
		}
	}
}

func auditClean(t *testing.T, dir, topology string) {
	t.Helper()
	c, err := matrix.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Contract(audit.Config{Contract: c, Topology: topology, Space: "main", Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if report.Checked.Profiles == 0 || report.Checked.Entries == 0 {
		t.Errorf("checked %+v, want profiles and entries", report.Checked)
	}
	for _, f := range report.Findings {
		if f.Severity != "note" {
			t.Errorf("%s %s %s: %s", f.Severity, f.Code, f.Subject, f.Message)
		}
	}
}
