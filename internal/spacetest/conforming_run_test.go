package spacetest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// runs are the principals of a workflow run (§14).
var runs = bodies{"run-driver": runDriver, "run-records": runRecords, "run-purger": runPurger}

// runDriver is §14.4's takeover: two drivers of one run in turn, each replaying the journal with a durable of its own before it
// appends; the first one's late append loses.
func runDriver(t *testing.T, s *spacetest.Space) {
	const subject = "cotal.main.wfj.run-1"
	head := spacetest.PubAck{}
	var first *spacetest.Holder
	var want []string
	for n, takeover := range []string{"t-1", "t-2"} {
		h := s.Open(t, "run-driver", map[string]any{"runId": "run-1", "takeoverId": takeover})
		if diff := cmp.Diff(want, replay(t, h, "run-1", takeover)); diff != "" {
			t.Errorf("replay of takeover %s (-want +got):\n%s", takeover, diff)
		}
		for i := range 2 {
			record := fmt.Sprintf(`{"v":1,"run":"run-1","n":%d}`, 2*n+i)
			head = h.Store(subject, record, after(head))
			want = append(want, record)
		}
		if first == nil {
			first = h
		}
	}
	first.StoreError(subject, `{"v":1,"run":"run-1","n":2}`, "Nats-Expected-Last-Subject-Sequence: 2")
	first.Admits("PUB "+subject, "PUB $JS.API.CONSUMER.INFO.WFJ_main.wfj_run-1_t-1")
	first.Refuses("PUB cotal.main.wfj.run-2", "PUB cotal.main.wfj.run-1.x", "PUB $JS.API.CONSUMER.CREATE.WFJ_main.wfj_run-1_t-2."+subject,
		"PUB $JS.API.CONSUMER.CREATE.WFJ_main.wfj_run-1_t-1.cotal.main.wfj.run-2", "PUB $JS.API.CONSUMER.DELETE.WFJ_main.wfj_run-1_t-2",
		"PUB $JS.API.STREAM.MSG.GET.WFJ_main", "PUB "+recKV+"run.com_acme_run.run-1.status")
}

// replay reads a run's journal from its beginning with the takeover's durable, and removes that.
func replay(t *testing.T, h *spacetest.Holder, run, takeover string) []string {
	t.Helper()
	name, filter := "wfj_"+run+"_"+takeover, "cotal.main.wfj."+run
	h.API("CONSUMER.CREATE.WFJ_main."+name+"."+filter, map[string]any{"stream_name": "WFJ_main", "action": "create", "config": map[string]any{"name": name,
		"durable_name": name, "filter_subject": filter, "ack_policy": "explicit", "deliver_policy": "all", "max_deliver": -1, "replay_policy": "instant"}}, nil)
	var info struct {
		Pending int `json:"num_pending"`
	}
	h.API("CONSUMER.INFO.WFJ_main."+name, nil, &info)
	var out []string
	for range info.Pending {
		msg := h.Next("WFJ_main", name)
		out = append(out, string(msg.Data))
		h.Ack(msg)
	}
	h.API("CONSUMER.DELETE.WFJ_main."+name, nil, nil)
	return out
}

// runRecords files a run, an answer, a notice and a migration of its own endpoint.
func runRecords(t *testing.T, s *spacetest.Space) {
	h := s.Open(t, "run-records", map[string]any{"endpoint": "com.acme.run"})
	digest := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
	for _, key := range []string{"run.com_acme_run.run-1.spec", "run.com_acme_run.run-1.status", "answer.com_acme_run.token1." + digest,
		"notice.com_acme_run.run-1." + digest + "." + digest + ".spec", "notice.com_acme_run.run-1." + digest + "." + digest + ".status",
		"migration.com_acme_run.run-1." + digest + ".spec", "migration.com_acme_run.run-1." + digest + ".status"} {
		h.Store(recKV+key, `{"v":1}`, create)
		h.StoreError(recKV+key, `{"v":2}`, create)
		if got := h.Last(recStream, recKV+key); string(got) != `{"v":1}` {
			t.Errorf("%s: got %q, want the first", key, got)
		}
		h.Admits("PUB " + recKV + key)
	}
	h.Refuses("PUB "+recKV+"run.com_acme_other.run-1.spec", "PUB "+recKV+"run.com_acme_run.run-1", "PUB "+recKV+"goal.com_acme_run."+owner+".a."+uid+".g.spec",
		"PUB cotal.main.wfj.run-1", "PUB $JS.API.CONSUMER.CREATE."+recStream)
}

// runPurger removes one retired run's journal by subject and leaves its neighbour's.
func runPurger(t *testing.T, s *spacetest.Space) {
	js := s.Admin(t, "WFJ")
	for _, run := range []string{"purged", "kept"} {
		if _, err := js.Publish("cotal.main.wfj."+run, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	h := s.Open(t, "run-purger", nil)
	var done struct {
		Purged int `json:"purged"`
	}
	h.API("STREAM.PURGE.WFJ_main", map[string]any{"filter": "cotal.main.wfj.purged"}, &done)
	if done.Purged != 1 {
		t.Errorf("purged %d, want 1", done.Purged)
	}
	if _, err := js.GetLastMsg("WFJ_main", "cotal.main.wfj.kept"); err != nil {
		t.Errorf("the neighbour's journal: %v, want it there", err)
	}
	h.Admits("PUB $JS.API.STREAM.PURGE.WFJ_main")
	h.Refuses("PUB $JS.API.STREAM.PURGE.EPF_main", "PUB $JS.API.STREAM.DELETE.WFJ_main", "PUB $JS.API.STREAM.MSG.DELETE.WFJ_main", "PUB cotal.main.wfj.kept")
}

// callouts are the two holders of an auth callout (§10).
var (
	sentinels = bodies{"sentinel": sentinel}
	callouts  = bodies{"callout": callout} // they change what the account of both admits
)

// sentinel does nothing at all; what it is for, callout shows.
func sentinel(t *testing.T, s *spacetest.Space) {
	raw := s.Servers[0].Raw(t, s.Credential(t, "sentinel", nil))
	for _, op := range []string{natstest.PubOp("foo", "", ""), natstest.SubOp("foo", "", "1"), natstest.SubOp("_INBOX_x.>", "", "2"), natstest.PubOp("$JS.API.INFO", "", "")} {
		if errs := raw.Do(op)[0].Errs; len(errs) == 0 {
			t.Errorf("%q: admitted, want it refused", op)
		}
	}
	s.Open(t, "probe", map[string]any{"connId": "probe0123456789abcdefgh"}).Admits("SUB _INBOX_probe0123456789abcdefgh.>")
}

// callout answers the broker's request for a connection that a sentinel opened, and binds it into the space. A topology without an
// account for the two has no use for them: there the grants are held alone.
func callout(t *testing.T, s *spacetest.Space) {
	h := s.Open(t, "callout", nil)
	h.Admits("SUB $SYS.REQ.USER.AUTH", "PUB $SYS._INBOX.abc.def")
	h.Refuses("SUB $SYS.REQ.USER.INFO", "PUB $SYS.REQ.USER.AUTH", "PUB cotal.main.chat."+owner+".a.general", "SUB cotal.main.>", "PUB $JS.API.INFO")
	if s.Home(t, "sentinel") != s.Home(t, "CHAT") {
		bind(t, s)
	}
}

func bind(t *testing.T, s *spacetest.Space) {
	callout, sentinel := s.Credential(t, "callout", nil), s.Credential(t, "sentinel", nil)
	account := s.Account(t, s.Home(t, "callout"))
	key, err := jwt.DecodeUserClaims(callout.JWT)
	if err != nil {
		t.Fatal(err)
	}
	space := s.Account(t, s.Home(t, "CHAT"))
	answer := func(m *nats.Msg, nc *nats.Conn) error {
		req, err := jwt.DecodeAuthorizationRequestClaims(string(m.Data))
		if err != nil {
			return err
		}
		user := jwt.NewUserClaims(req.UserNkey)
		user.Name, user.Pub.Allow, user.Sub.Allow = "bound", jwt.StringList{"cotal.main.chat." + owner + ".bound.general"}, jwt.StringList{"_INBOX_bound.>"}
		res := jwt.NewAuthorizationResponseClaims(req.UserNkey)
		res.Audience = req.Server.ID
		if res.Jwt, err = user.Encode(space.Key); err != nil {
			return err
		}
		token, err := res.Encode(account.Key)
		if err != nil {
			return err
		}
		return nc.Publish(m.Reply, []byte(token))
	}
	s.Servers[0].UpdateAccount(t, account, func(c *jwt.AccountClaims) {
		c.Authorization.AuthUsers.Add(key.Subject)
		c.Authorization.AllowedAccounts.Add(space.PublicKey())
	})
	nc := s.Servers[0].Connect(t, callout)
	if _, err := nc.Subscribe("$SYS.REQ.USER.AUTH", func(m *nats.Msg) {
		if err := answer(m, nc); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := nc.FlushTimeout(spacetest.Patience); err != nil {
		t.Fatal(err)
	}
	raw := s.Servers[0].Raw(t, sentinel)
	for op, admitted := range map[string]bool{natstest.PubOp("cotal.main.chat."+owner+".bound.general", "", ""): true,
		natstest.PubOp("cotal.main.chat."+owner+".other.general", "", ""): false, natstest.SubOp("foo", "", "9"): false} {
		if errs := raw.Do(op)[0].Errs; (len(errs) == 0) != admitted {
			t.Errorf("%q: got %v, want admitted %t", op, errs, admitted)
		}
	}
}
