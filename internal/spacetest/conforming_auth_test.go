package spacetest_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// authPath is everything that touches the auth store, and the rail by which the auth service is asked.
var authPath = bodies{
	"auth":                 authLedger,
	"auth-barrier":         planeClaim,
	"auth-scanner":         ledgerScan,
	"records-scanner":      obligationScan,
	"auth-listener":        authListener,
	"retirement-requester": retirementRequest,
}

const (
	authStream = "KV_cotal_auth_main"
	authKV     = "$KV.cotal_auth_main."
	recStream  = "KV_cotal_records_main"
	recKV      = "$KV.cotal_records_main."
	create     = "Nats-Expected-Last-Subject-Sequence: 0" // create-only
)

// after is the header of a write that follows one it has seen.
func after(ack spacetest.PubAck) string {
	return fmt.Sprintf("Nats-Expected-Last-Subject-Sequence: %d", ack.Seq)
}

// authLedger is §13.1's issuance: a gate, a ledger row created once, a session redeemed once, and an eviction asked for.
func authLedger(t *testing.T, s *spacetest.Space) {
	id := map[string]any{"uid": "authpathauthpathauthpath01"}
	h := s.Open(t, "auth", id)
	gate := h.Store(authKV+"gate."+uid, `{"state":"open","generation":1}`, create)
	gate = h.Store(authKV+"gate."+uid, `{"state":"frozen","generation":2}`, after(gate))
	h.StoreError(authKV+"gate."+uid, `{"state":"open","generation":2}`, "Nats-Expected-Last-Subject-Sequence: 1")
	if got := string(h.Last(authStream, authKV+"gate."+uid)); got != `{"state":"frozen","generation":2}` {
		t.Errorf("gate: got %q at %d, want the frozen one", got, gate.Seq)
	}
	h.Store(authKV+"cred."+uid+".c1", `{"state":"active"}`, create)
	h.Store(authKV+"session.s1", `{"state":"issuing"}`, create)
	h.StoreError(authKV+"session.s1", `{"state":"issuing"}`, create)
	h.API("STREAM.INFO."+authStream, nil, nil)
	h.Admits("PUB "+authKV+"gate."+uid, "PUB "+authKV+"stage.x.y.z")
	h.Refuses("PUB "+authKV+"plane", "PUB "+authKV+"cred."+uid, "PUB "+recKV+"uid."+uid, "PUB $JS.API.CONSUMER.CREATE."+authStream,
		"PUB $JS.API.DIRECT.GET."+authStream, "PUB $JS.API.STREAM.PURGE."+authStream)

	// The delivery daemon evicts; the auth path asks it in the account where callers and endpoints meet.
	daemon := s.Open(t, "delivery", map[string]any{"instance": "authpathauthpathauthpath02", "epoch": "3"})
	cT := "local.auth.authpathauthpathauthpath01"
	serve(t, daemon, "cotal.main.ep.one.delivery.evict-principal.>", "delivery", "cotal.main.ep.reply.delivery.authpathauthpathauthpath02.3."+cT+".n1", `{"evicted":1}`)
	asker := s.At(t, "CHAT", "auth", id)
	if got := ask(t, asker, "cotal.main.ep.one.delivery.evict-principal."+cT+".n1", "cotal.main.ep.reply.*.*.*."+cT+".*"); got != `{"evicted":1}` {
		t.Errorf("eviction: got %q, want the daemon's answer", got)
	}
	asker.Admits("PUB cotal.main.ep.one.delivery.principal-liveness." + cT + ".n2")
	asker.Refuses("PUB cotal.main.ep.one.delivery.evict-principal.local.auth."+otherUID+".n1", "PUB cotal.main.ep.one.delivery.reload-creds."+cT+".n1",
		"PUB cotal.main.ep.one.manager.evict-principal."+cT+".n1")
}

// serve answers the next request on a rail with one fixed reply.
func serve(t *testing.T, h *spacetest.Holder, rail, queue, reply, answer string) {
	t.Helper()
	if _, err := h.QueueSubscribe(rail, queue, func(*nats.Msg) {
		if err := h.Publish(reply, []byte(answer)); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	flush(t, h)
}

// ask publishes a request and returns the first answer on the caller's own rail.
func ask(t *testing.T, h *spacetest.Holder, request, rail string) string {
	t.Helper()
	sub, err := h.SubscribeSync(rail)
	if err != nil {
		t.Fatal(err)
	}
	flush(t, h)
	if err := h.Publish(request, nil); err != nil {
		t.Fatal(err)
	}
	msg, err := sub.NextMsg(spacetest.Patience)
	if err != nil {
		t.Fatalf("no answer to %s: %v", request, err)
	}
	return string(msg.Data)
}

func flush(t *testing.T, h *spacetest.Holder) {
	t.Helper()
	if err := h.FlushTimeout(spacetest.Patience); err != nil {
		t.Fatal(err)
	}
}

// planeClaim is §13.13: a create, then revision-CAS, of one exact row.
func planeClaim(t *testing.T, s *spacetest.Space) {
	h := s.Open(t, "auth-barrier", nil)
	held := h.Store(authKV+"plane", `{"v":1,"generation":1,"state":"held"}`, create)
	h.StoreError(authKV+"plane", `{"v":1,"generation":1,"state":"held"}`, create)
	h.Store(authKV+"plane", `{"v":1,"generation":1,"state":"released"}`, after(held))
	h.Admits("PUB " + authKV + "plane")
	h.Refuses("PUB "+authKV+"plane.x", "PUB "+authKV+"gate."+uid, "PUB "+recKV+"plane", "PUB $JS.API.STREAM.MSG.GET."+authStream)
}

// scan enumerates with the one consumer that a sealed scanner is pinned to, and returns the subjects.
func scan(t *testing.T, h *spacetest.Holder, stream, name, filter string) []string {
	t.Helper()
	var info struct {
		Pending int `json:"num_pending"`
		Config  struct {
			Durable string `json:"durable_name"`
			Deliver string `json:"deliver_subject"`
		} `json:"config"`
	}
	h.API("CONSUMER.CREATE."+stream+"."+name+"."+filter, map[string]any{"stream_name": stream, "action": "create", "config": map[string]any{"name": name,
		"filter_subject": filter, "ack_policy": "none", "deliver_policy": "last_per_subject", "mem_storage": true, "inactive_threshold": 60e9,
		"num_replicas": 1, "max_deliver": -1, "replay_policy": "instant"}}, nil)
	h.API("CONSUMER.INFO."+stream+"."+name, nil, &info)
	if info.Config.Durable != "" || info.Config.Deliver != "" {
		t.Errorf("%s: got %+v, want a pull consumer that ends by itself", name, info.Config)
	}
	var out []string
	for range info.Pending {
		out = append(out, h.Next(stream, name).Subject)
	}
	h.API("CONSUMER.DELETE."+stream+"."+name, nil, nil)
	return out
}

func contains(t *testing.T, got []string, want ...string) {
	t.Helper()
	at := map[string]bool{}
	for _, g := range got {
		at[g] = true
	}
	for _, w := range want {
		if !at[w] {
			t.Errorf("enumerated %d subjects, want %s among them", len(got), w)
		}
	}
}

// ledgerScan is §13.9 Auth-ledger enumeration.
func ledgerScan(t *testing.T, s *spacetest.Space) {
	admin := s.Admin(t, "auth")
	for _, key := range []string{"cred.scanneduid.a", "cred.scanneduid.b", "stage.scanned"} {
		if _, err := admin.Publish(authKV+key, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	h := s.Open(t, "auth-scanner", nil)
	h.API("INFO", nil, nil)
	h.API("STREAM.INFO."+authStream, nil, nil)
	contains(t, scan(t, h, authStream, "cotal-ledger-scan", authKV+">"), authKV+"cred.scanneduid.a", authKV+"cred.scanneduid.b", authKV+"stage.scanned")
	h.Refuses("PUB $JS.API.CONSUMER.CREATE."+recStream+".cotal-records-scan."+recKV+"oblig.>", "PUB $JS.API.CONSUMER.CREATE."+authStream+".other."+authKV+">",
		"PUB $JS.API.STREAM.MSG.GET."+authStream, "PUB "+authKV+"plane", "PUB $JS.ACK."+authStream+".cotal-ledger-scan.1.1.1.1.0")
	h.Admits("PUB $JS.API.CONSUMER.INFO." + authStream + ".cotal-ledger-scan")
}

// obligationScan is §13.9 Obligation enumeration: the oblig subtree and nothing else.
func obligationScan(t *testing.T, s *spacetest.Space) {
	admin := s.Admin(t, "records")
	row := recKV + "oblig." + uid + ".com_acme_scan." + owner + ".scan." + uid + ".r1"
	for _, subject := range []string{row, recKV + "govern.com_acme_scan"} {
		if _, err := admin.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	h := s.Open(t, "records-scanner", nil)
	h.API("INFO", nil, nil)
	h.API("STREAM.INFO."+recStream, nil, nil)
	found := scan(t, h, recStream, "cotal-records-scan", recKV+"oblig.>")
	contains(t, found, row)
	for _, subject := range found {
		if subject == recKV+"govern.com_acme_scan" {
			t.Errorf("enumerated %s, want obligations only", subject)
		}
	}
	h.Refuses("PUB $JS.API.CONSUMER.CREATE."+recStream+".cotal-records-scan."+recKV+">", "PUB $JS.API.CONSUMER.CREATE."+authStream+".cotal-ledger-scan."+authKV+">",
		"PUB $JS.API.STREAM.MSG.GET."+recStream, "PUB "+row)
	h.Admits("PUB $JS.API.CONSUMER.INFO." + recStream + ".cotal-records-scan")
}

// authListener serves the auth rail in its queue group, proves its gate row, and answers the caller.
func authListener(t *testing.T, s *spacetest.Space) {
	const iid = "authlisteneauthlisteneauth1"
	if _, err := s.Admin(t, "auth").Publish(authKV+"epgate.auth."+iid, []byte(`{"state":"open"}`)); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{"instance": iid, "epoch": "2"}
	gate := s.At(t, "auth", "auth-listener", values)
	gate.API("INFO", nil, nil)
	if got := gate.Last(authStream, authKV+"epgate.auth."+iid); string(got) != `{"state":"open"}` {
		t.Errorf("gate: got %q, want its row", got)
	}
	gate.Refuses("PUB "+authKV+"epgate.auth."+iid, "PUB $JS.API.CONSUMER.CREATE."+authStream)
	h := s.Open(t, "auth-listener", values)
	h.Admits("SUB cotal.main.ep.one.auth.> auth", "PUB cotal.main.ep.reply.auth."+iid+".2."+owner+".m."+uid+".n")
	h.Refuses("SUB cotal.main.ep.one.auth.>", "SUB cotal.main.ep.one.auth.> other", "SUB cotal.main.ep.one.manager.> auth",
		"PUB cotal.main.ep.reply.auth."+iid+".1."+owner+".m."+uid+".n", "PUB cotal.main.ep.reply.manager."+iid+".2."+owner+".m."+uid+".n")
}

// retirementRequest asks for one retirement and hears its answer; the listener gives it.
func retirementRequest(t *testing.T, s *spacetest.Space) {
	const iid = "retirementretirementretir1"
	cT := owner + ".boss." + uid
	target := owner + ".retired." + otherUID
	listener := s.Open(t, "auth-listener", map[string]any{"instance": iid, "epoch": "0"})
	request := "cotal.main.ep.one.auth.retire-lifecycle.handle." + target + "." + cT + ".n1"
	serve(t, listener, "cotal.main.ep.one.auth.>", "auth", "cotal.main.ep.reply.auth."+iid+".0."+cT+".n1", `{"accepted":true}`)
	h := s.Open(t, "retirement-requester", map[string]any{"owner": owner, "actor": "boss", "uid": uid, "tOwner": owner, "tActor": "retired", "tUid": otherUID})
	var answer struct {
		Accepted bool `json:"accepted"`
	}
	if err := json.Unmarshal([]byte(ask(t, h, request, "cotal.main.ep.reply.*.*.*."+cT+".*")), &answer); err != nil || !answer.Accepted {
		t.Errorf("answer: %+v, %v, want accepted", answer, err)
	}
	h.Admits("PUB " + request)
	h.Refuses("PUB cotal.main.ep.one.auth.retire-lifecycle.handle."+owner+".other."+otherUID+"."+cT+".n1",
		"PUB cotal.main.ep.one.auth.retire-lifecycle.handle."+owner+".retired."+uid+"."+cT+".n1",
		"PUB cotal.main.ep.one.auth.retire-lifecycle.handle."+target+"."+owner+".other."+uid+".n1", "SUB cotal.main.ep.one.auth.> auth")
}
